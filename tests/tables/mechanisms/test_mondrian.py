"""Mondrian: parts as the paper cuts them, and labels that hold all values of their part."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.golden import ADULT, needs_golden
from tests.tables.mechanisms.brute import HIERARCHIES, Case, cases, mondrian, satisfied

from veil import tables
from veil.core.errors import InputError
from veil.tables.mechanism import Release
from veil.tables.mechanisms import mondrian as partition
from veil.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
QI = ("sex", "age", "race", "marital-status", "education", "native-country")


def parts(release: Release) -> list[list[int]]:
    assert release.groups is not None
    return sorted(
        np.flatnonzero(release.groups == group).tolist() for group in np.unique(release.groups)
    )


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.integers(-3, 9), st.sampled_from([0.0, 0.5, 2.25, 7.0]), st.integers(0, 3)),
        min_size=4,
        max_size=40,
    ),
    st.integers(2, 4),
    st.booleans(),
)
def test_parts_are_those_of_the_paper(
    rows: list[tuple[int, float, int]], k: int, sort: bool
) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    letters = ["abcd"[value] for value in columns[2]]
    table = tables.load(
        {"x": columns[0], "y": columns[1], "z": letters},
        qi=["x", "y", "z"],
        hierarchies={"z": [["d", "*"], ["b", "*"], ["a", "*"], ["c", "*"]]},
    )
    place = {"d": 0.0, "b": 1.0, "a": 2.0, "c": 3.0}
    with pytest.MonkeyPatch.context() as patch:
        if sort:
            patch.setattr(partition, "_ROOM", -(10**9))
        release = tables.protect(table, f"mondrian(k={k})")
    expected = mondrian(
        [columns[0], columns[1], [place[letter] for letter in letters]],
        lambda part: len(part) >= k,
    )
    assert parts(release) == expected
    assert tables.anonymity(release).k >= k
    assert release.guarantee.k == k


@settings(max_examples=40)
@given(cases(gaps=False, most=20), st.sampled_from(["distinct", "entropy", "recursive"]))
def test_parts_satisfy_what_is_asked(case: Case, diversity: str) -> None:
    arguments: dict[str, Any] = {
        "k": 2, "l": 2, "diversity": diversity, "c": 3.0, "t": 0.5, "distance": "hierarchical",
    }  # fmt: skip
    everybody = list(range(len(case.rows)))
    spec = f"mondrian({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    if not satisfied(case, everybody, arguments, everybody):
        with pytest.raises(InputError, match="as a whole does not meet"):
            tables.protect(case.table, spec)
        return
    release = tables.protect(case.table, spec)
    orders = [[row[0] for row in HIERARCHIES[h]] for h in case.hierarchies]
    columns: list[Sequence[float]] = [
        [float(orders[j].index(str(row[j]))) for row in case.rows]
        for j in range(len(case.hierarchies))
    ]
    assert parts(release) == mondrian(
        columns, lambda part: satisfied(case, part, arguments, everybody)
    )
    figures = tables.anonymity(release, original=case.table)
    assert figures.k >= 2
    assert (figures.l or 0) >= 2
    assert (figures.t_hierarchical or 0) <= 0.5 + 1e-9


@settings(max_examples=40)
@given(cases(most=20), st.integers(2, 3))
def test_labels_hold_their_values_and_gaps_tell_nothing(case: Case, k: int) -> None:
    if k > len(case.rows):
        return
    release = tables.protect(case.table, f"mondrian(k={k})")
    assert tables.anonymity(release).k >= k
    for part in parts(release):
        for j in range(len(case.hierarchies)):
            texts = {release.table.column(f"q{j}").texts[row] for row in part}
            assert len(texts) == 1
            values = {case.rows[row][j] for row in part}
            assert texts.pop() == ancestor(case, j, values)


def ancestor(case: Case, j: int, values: set[str | None]) -> str | None:
    if None in values:
        return None if len(values) == 1 else "*"
    height = case.heights[j]
    levels = ({case.label(j, value, level) for value in values} for level in range(height + 1))
    return next(labels for labels in levels if len(labels) == 1).pop()


def test_numbers_become_intervals_and_texts_sets() -> None:
    table = tables.load(
        {
            "age": [31.0, 34.0, 52.5, 57.0, None, None, None, None],
            "town": ["Rome", "Oslo", "Bern", "Bern", "Bern", "Oslo", "Rome", "Rome"],
        },
        qi=["age", "town"],
    )
    release = tables.protect(table, "mondrian(k=3)")
    assert release.table["age"].tolist() == ["[31-57]"] * 4 + [None] * 4
    assert release.table["town"].tolist() == ["{Bern, Oslo, Rome}"] * 8
    assert release.suppressed == 0
    assert release.rows is not None
    assert release.rows.tolist() == list(range(8))
    finer = tables.protect(table, "mondrian(k=2)").table
    assert finer["age"].tolist()[:4] == ["[31-34]", "[31-34]", "[52.5-57]", "[52.5-57]"]
    assert finer["town"].tolist()[2:4] == ["Bern", "Bern"]
    coarser = tables.protect(table, "mondrian(k=5)").table  # no part can be cut
    assert coarser["age"].tolist() == ["*"] * 8


@cache
def adult() -> Table:
    files = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in (*QI, "occupation")}
    return tables.load(
        ADULT / "adult.csv", qi=QI, confidential=["occupation"], hierarchies=files, sep=";"
    )


@needs_golden
@pytest.mark.parametrize(
    ("spec", "least"),
    [
        ("mondrian(k=10)", {"k": 10}),
        ("mondrian(k=5, l=3)", {"k": 5, "l": 3}),
        ("mondrian(k=5, l=3.5, diversity='entropy')", {"entropy_l": 3.5 - 1e-9}),
    ],
)
def test_adult_satisfies_what_is_asked(spec: str, least: dict[str, float]) -> None:
    release = tables.protect(adult(), spec)
    figures = tables.anonymity(release)
    for name, value in least.items():
        assert getattr(figures, name) >= value
    quality = tables.quality(adult(), release)
    assert quality.ncp is not None
    assert quality.ncp < 0.2  # whole columns lose 0.67 of it
    assert quality.entropy_bits is not None
    assert quality.precision is None  # intervals are on no level
