"""Lattice searches: what they find is what an enumeration finds, and the published values."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.golden import ADULT, golden, needs_golden
from tests.tables.mechanisms.brute import Case, cases, enumerated, minimal

from veil import tables
from veil.core.errors import InputError
from veil.tables.mechanisms import cube
from veil.tables.mechanisms.lattice import FALLBACK, LatticeMethod, LatticeResult, allowed
from veil.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
METHODS = ("ola", "incognito", "exhaustive")
CASES = golden("lattice").get("cases", [])
QUICK = (0, 1, 2, 4, 9)


@cache
def adult(qi: tuple[str, ...]) -> Table:
    secret = () if "occupation" in qi else ("occupation",)
    files = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in (*qi, *secret)}
    return tables.load(ADULT / "adult.csv", qi=qi, confidential=secret, hierarchies=files, sep=";")


def spec_of(name: str, case: dict[str, Any]) -> str:
    keys = ("k", "suppression", "minimise", "l", "c", "diversity", "t", "distance")
    text = ", ".join(f"{key}={case[key]!r}" for key in keys if key in case)
    return f"{name}({text})"


def search(name: str, table: Table, **asked: object) -> LatticeResult:
    text = ", ".join(f"{key}={value!r}" for key, value in asked.items())
    method = tables.mechanism(f"{name}({text})")
    assert isinstance(method, LatticeMethod)
    return method.search(table)


@needs_golden
@pytest.mark.parametrize(
    ("name", "number"), [*(("ola", number) for number in (*QUICK, 3)), ("incognito", 5)]
)
def test_adult_is_generalised_as_published(name: str, number: int) -> None:
    case = CASES[number]
    table = adult(tuple(case["qi"]))
    release = tables.protect(table, spec_of(name, case))
    assert release.levels == case["node"]
    assert release.suppressed == case["suppressed"]
    assert release.rows is not None
    assert release.groups is not None
    assert len(release) == len(table) - case["suppressed"]
    assert len(np.unique(release.groups)) == case["classes"]
    assert tables.quality(table, release).discernibility == case["dm"]
    if case["k"] > 1:
        measured = tables.anonymity(release)
        assert measured.k >= case["k"] == release.guarantee.k
        assert measured.classes == case["classes"]


@needs_golden
@pytest.mark.parametrize("number", [6, 7, 8, 10])
def test_no_neighbour_of_a_published_node_is_better(number: int) -> None:
    case = CASES[number]
    table = adult(tuple(case["qi"]))
    # All 4,320 nodes take seconds; with the levels far below taken off there are few.
    below = {name: max(0, level - 1) for name, level in case["node"].items()}
    method = tables.mechanism(spec_of("exhaustive", case))
    assert isinstance(method, LatticeMethod)
    result = method.search(trimmed(table, below))
    node = dict(zip(result.columns, result.best, strict=True))
    assert {name: level + below[name] for name, level in node.items()} == case["node"]
    assert (result.loss, result.suppressed) == (case["dm"], case["suppressed"])


def trimmed(table: Table, levels: dict[str, int]) -> Table:
    """Take the lowest levels of hierarchies off."""
    columns, rows = {}, {}
    for name, level in levels.items():
        hierarchy = table.hierarchies[name]
        column = table.column(name)
        labels = hierarchy.labels[level]
        at = hierarchy.codes[level][hierarchy.at(column)]
        columns[name] = [labels[code] for code in at[column.codes]]
        rows[name] = {
            labels[hierarchy.codes[level][leaf]]: [
                hierarchy.labels[h][hierarchy.codes[h][leaf]]
                for h in range(level, hierarchy.height + 1)
            ]
            for leaf in range(len(hierarchy.leaves))
        }
    return tables.load(
        {**columns, "occupation": table["occupation"]},
        qi=list(levels),
        confidential=["occupation"],
        hierarchies={
            **{name: list(row.values()) for name, row in rows.items()},
            "occupation": table.hierarchies["occupation"],
        },
    )


@needs_golden
def test_counts_of_satisfying_and_minimal_nodes_are_as_published() -> None:
    for number in QUICK[:3]:
        case = CASES[number]
        for name in METHODS:
            method = tables.mechanism(spec_of(name, case))
            assert isinstance(method, LatticeMethod)
            result = method.search(adult(tuple(case["qi"])))
            assert dict(zip(result.columns, result.best, strict=True)) == case["node"]
            assert (result.loss, result.suppressed) == (case["dm"], case["suppressed"])
            assert result.satisfying.size == case["nodes"]
            assert int(result.satisfying.sum()) == case["satisfying"]
            assert len(result.minimal) == case["minimal"]
            if name != "exhaustive":
                assert result.judged < result.satisfying.size / 2


@needs_golden
@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_concluded_where_satisfaction_is_not_monotone(name: str) -> None:
    case = golden("lattice")["not_monotone"]
    rows = [row[0] for row in case["rows"]], [row[1] for row in case["rows"]]
    table = tables.load(
        dict(zip(case["columns"], rows, strict=True)),
        qi=["q"],
        confidential=["s"],
        hierarchies={"q": case["hierarchy"]},
    )
    result = search(
        name, table, k=1, l=case["l"], diversity="entropy", suppression=case["suppression"]
    )
    assert np.argwhere(result.satisfying).tolist() == case["satisfying"]
    assert result.how == FALLBACK
    release = tables.protect(table, f"{name}(k=1, l=2, diversity='entropy', suppression=0.6)")
    assert release.kept["search"] == FALLBACK
    assert release.suppressed == 3
    assert release.guarantee.kind == "l-diversity"


@needs_golden
@pytest.mark.parametrize("case", golden("lattice").get("entropy_loss_bits", []))
def test_entropy_is_as_published(case: dict[str, Any]) -> None:
    table = adult(tuple(case["qi"]))
    levels = ",".join(f"{a}={b}" for a, b in zip(case["qi"], case["node"], strict=True))
    release = tables.protect(table, f"generalise(levels='{levels}')")
    bits = tables.quality(table, release).entropy_bits
    assert bits == pytest.approx(case["all_rows"], rel=1e-9)


ASKED = st.one_of(
    st.fixed_dictionaries({"k": st.integers(2, 4)}),
    st.fixed_dictionaries(
        {
            "k": st.integers(1, 3),
            "l": st.integers(1, 3),
            "diversity": st.sampled_from(["distinct", "entropy", "recursive"]),
            "c": st.sampled_from([0.5, 1.0, 2.0]),
        }
    ),
    st.fixed_dictionaries(
        {
            "k": st.integers(1, 3),
            "t": st.sampled_from([0.0, 0.1, 0.3, 0.5]),
            "distance": st.sampled_from(["equal", "hierarchical"]),
        }
    ),
)


def compared(case: Case, asked: dict[str, Any], suppression: float, minimise: str) -> None:
    """Hold all three methods against an enumeration."""
    table = case.table
    limit = allowed(suppression, len(table))
    satisfying, loss, failing = enumerated(case, limit, asked, minimise)
    for name in METHODS:
        parameters = {**asked, "suppression": suppression, "minimise": minimise}
        if not satisfying:
            with pytest.raises(InputError) as refused:
                search(name, table, **parameters)
            least = min(failing.values())
            fewest = f"At least {least:,} rows" in str(refused.value)
            assert fewest if least < len(table) else "however many" in str(refused.value)
            continue
        result = search(name, table, **parameters)
        nodes = {tuple(node) for node in np.argwhere(result.satisfying).tolist()}
        assert nodes == satisfying
        assert set(result.minimal) == minimal(satisfying)
        lowest = min(loss.values())
        level = [node for node, entry in loss.items() if entry <= lowest * (1 + 1e-9) + 1e-12]
        assert result.best == min(level, key=lambda node: (sum(node), node))
        assert result.loss == pytest.approx(lowest, rel=1e-9, abs=1e-9)
        assert result.suppressed == failing[result.best]


@settings(max_examples=100)
@given(
    cases(),
    ASKED,
    st.sampled_from([0.0, 0.1, 0.3, 0.6]),
    st.sampled_from(["dm", "precision", "entropy", "ncp"]),
)
def test_all_methods_find_what_an_enumeration_finds(
    case: Case, asked: dict[str, Any], suppression: float, minimise: str
) -> None:
    if asked["k"] <= len(case.rows) and (asked["k"] > 1 or len(asked) > 1):
        compared(case, asked, suppression, minimise)


@settings(max_examples=30)
@given(cases(gaps=False), st.sampled_from([0.0, 0.1, 0.25]), st.sampled_from([0.0, 0.3]))
def test_an_order_of_values_counts(case: Case, t: float, suppression: float) -> None:
    compared(case, {"k": 1, "t": t, "distance": "ordered"}, suppression, "dm")


@settings(max_examples=30)
@given(cases(), ASKED, st.sampled_from([0.0, 0.3]))
def test_keys_of_several_words_count_the_same(
    case: Case, asked: dict[str, Any], suppression: float
) -> None:
    if asked["k"] > len(case.rows) or (asked["k"] < 2 and len(asked) < 2):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cube, "_BITS", 4)
        patch.setattr(cube, "_ROOM", -(10**9))
        compared(case, asked, suppression, "ncp")


@settings(max_examples=40)
@given(cases(), st.integers(2, 4), st.sampled_from([0.0, 0.2, 0.5]))
def test_what_is_released_has_k(case: Case, k: int, suppression: float) -> None:
    if k > len(case.rows):
        return
    table = case.table
    release = tables.protect(table, f"ola(k={k}, suppression={suppression})")
    assert tables.anonymity(release).k >= k
    assert release.rows is not None
    for name, level in release.levels.items():
        j = int(name[1:])
        parameters = [case.label(j, case.rows[row][j], level) for row in release.rows]
        assert release.table.column(name).texts.tolist() == parameters
    assert len(release) + release.suppressed == len(table)
    assert release.suppressed <= suppression * len(table)


@pytest.mark.parametrize("name", METHODS)
def test_with_suppression_the_best_node_need_not_be_minimal(name: str) -> None:
    rows = tuple((value,) for value in "dbabdd")
    table = Case(rows, ("x",) * 6, (0,)).table
    result = search(name, table, k=2, suppression=0.3, minimise="dm")
    assert result.minimal == ((0,),)  # a row of its own is suppressed: 4 + 9 + 6
    assert (result.best, result.loss, result.suppressed) == ((1,), 18, 0)


@pytest.mark.parametrize("name", METHODS)
def test_with_suppression_a_node_above_a_good_one_may_fail(name: str) -> None:
    table = tables.load(
        {"q": ["A", "A", "B", "B", "B"], "s": ["a", "b", "a", "a", "a"]},
        qi=["q"],
        confidential=["s"],
        hierarchies={"q": [["A", "*"], ["B", "*"]]},
    )
    for extra in ("l=2, diversity='entropy'", "l=2, diversity='recursive', c=1.5", "t=0.3"):
        method = tables.mechanism(f"{name}(k=2, suppression=0.6, {extra})")
        assert isinstance(method, LatticeMethod)
        result = method.search(table)
        assert result.satisfying.tolist() == [True, extra[0] == "t"], extra
        assert result.how == FALLBACK


def test_a_share_is_taken_as_it_is_written() -> None:
    assert allowed(0.29, 100) == 29  # as a float, 0.29 * 100 is below 29
    assert allowed(0.05, 30162) == 1508
    assert allowed(0.0, 10) == 0


def test_numbers_stay_numbers_and_labels_are_texts() -> None:
    table = tables.load(
        {"age": [31, 34, 52, 57], "zip": ["11", "12", "21", "22"], "ill": ["a", "b", "a", "b"]},
        qi=["age", "zip"],
        confidential=["ill"],
        hierarchies={"age": tables.intervals(width=20, steps=1), "zip": tables.prefix()},
    )
    release = tables.protect(table, "ola(k=2)")
    assert release.levels == {"age": 1, "zip": 1}
    assert release.table["age"].tolist() == ["[20-39]", "[20-39]", "[40-59]", "[40-59]"]
    assert release.table["zip"].tolist() == ["1*", "1*", "2*", "2*"]
    assert release.groups is not None
    assert release.groups.tolist() == [0, 0, 1, 1]
    assert release.table["ill"].tolist() == ["a", "b", "a", "b"]
    assert not release.seeded
    assert math.isclose(tables.anonymity(release).average or 0, 2)
