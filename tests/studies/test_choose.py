"""The best configuration under a bound on the risk."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import InputError
from veil.studies.choose import Choice, choose, pareto
from veil.studies.table import Row

NAN = math.nan


def risk(value: float, score: float, high: float, attacker: str = "inference") -> Row:
    return Row(
        "icd", "", "cmp", f"cmp(epsilon={value})", "epsilon", value, 50,
        "risk", "active", attacker, score, 0.0, high, 43, 0.001,
    )  # fmt: skip


def utility(value: float, score: float, margin: float = 0.01) -> Row:
    return Row(
        "icd", "bm25", "cmp", f"cmp(epsilon={value})", "epsilon", value, 50,
        "utility", "nDCG@10", "", score, score - margin, score + margin, 43,
    )  # fmt: skip


ROWS = [
    risk(1.0, 0.00, 0.00), utility(1.0, 0.20),
    risk(5.0, 0.02, 0.04), utility(5.0, 0.50),
    risk(10.0, 0.04, 0.09), utility(10.0, 0.60),
    risk(50.0, 0.90, 0.98), utility(50.0, 0.65),
]  # fmt: skip


def best(choice: Choice) -> str:
    return choice.best.spec


def test_the_upper_end_of_the_interval_decides() -> None:
    cautious = choose(ROWS, max_risk=0.05, attacker="active")
    assert best(cautious) == "cmp(epsilon=5.0)"
    assert cautious.refused == 2
    assert not cautious.ties
    assert not cautious.overlapping
    daring = choose(ROWS, max_risk=0.05, attacker="active", cautious=False)
    assert best(daring) == "cmp(epsilon=10.0)"


@pytest.mark.parametrize("cautious", [True, False])
def test_the_worst_of_all_attacks_counts(cautious: bool) -> None:
    bayes = [risk(5.0, 0.3, 0.4, "bayes"), risk(10.0, 0.5, 0.6, "bayes")]
    for rows in (ROWS + bayes, bayes + ROWS):
        choice = choose(rows, max_risk=0.05, attacker="active", cautious=cautious)
        assert best(choice) == "cmp(epsilon=1.0)"
    at_most = choose(ROWS + bayes, max_risk=0.4, attacker="active").best
    assert at_most.risk.attacker == "bayes"
    assert set(at_most.attacks) == {"inference", "bayes"}


def test_the_higher_mean_counts_although_another_interval_reaches_further() -> None:
    rows = [utility(1.0, 0.2), risk(1.0, 0.10, 0.12, "bayes"), risk(1.0, 0.04, 0.30)]
    with pytest.raises(InputError, match="by bayes"):
        choose(rows, max_risk=0.05, attacker="active", cautious=False)


def test_the_bound_itself_is_allowed() -> None:
    assert best(choose(ROWS, max_risk=0.04, attacker="active")) == "cmp(epsilon=5.0)"
    assert best(choose(ROWS, max_risk=0.0, attacker="active")) == "cmp(epsilon=1.0)"


def test_only_the_named_measure_counts() -> None:
    lazy = [replace(row, measure="lazy", score=0.0, high=0.0) for row in ROWS if row.attacker]
    assert best(choose(ROWS + lazy, max_risk=0.05, attacker="lazy")) == "cmp(epsilon=50.0)"
    assert best(choose(ROWS + lazy, max_risk=0.05, attacker="active")) == "cmp(epsilon=5.0)"
    with pytest.raises(InputError, match="measure 'persistent'"):
        choose(ROWS, max_risk=0.05, attacker="persistent")


def test_ties_and_overlaps_are_told() -> None:
    rows = [
        risk(1.0, 0.02, 0.04), utility(1.0, 0.5, 0.05),
        risk(2.0, 0.01, 0.02), utility(2.0, 0.5, 0.05),
        risk(3.0, 0.01, 0.02), utility(3.0, 0.42, 0.04),
        risk(4.0, 0.01, 0.02), utility(4.0, 0.30, 0.04),
    ]  # fmt: skip
    choice = choose(rows, max_risk=0.05, attacker="active")
    assert best(choice) == "cmp(epsilon=2.0)"  # the lower risk of two equal utilities
    assert [one.spec for one in choice.ties] == ["cmp(epsilon=1.0)"]
    assert [one.spec for one in choice.overlapping] == ["cmp(epsilon=3.0)"]
    assert "cannot tell it from cmp(epsilon=1.0), cmp(epsilon=3.0)" in str(choice)


def test_nothing_fits_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"Nothing fits.* 0\.01; the nearest is cmp\(epsilon=5"):
        choose(ROWS[2:], max_risk=0.01, attacker="active")


@pytest.mark.parametrize("bound", [-0.1, 1.1, NAN])
def test_a_bound_is_a_share(bound: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        choose(ROWS, max_risk=bound, attacker="active")


def test_an_unknown_risk_keeps_no_bound() -> None:
    rows = [
        *ROWS[:2],
        risk(9.0, NAN, NAN),
        utility(9.0, 0.9),
        risk(8.0, 0.0, NAN),
        utility(8, 0.9),
    ]
    assert best(choose(rows, max_risk=0.05, attacker="active")) == "cmp(epsilon=1.0)"
    assert best(
        choose([*ROWS, risk(5.0, NAN, NAN, "bayes")], max_risk=0.05, attacker="active")
    ) == ("cmp(epsilon=1.0)")


def test_plain_search_is_never_advised() -> None:
    plain = [replace(row, mechanism="plain", spec="plain") for row in ROWS[:2]]
    with pytest.raises(InputError, match="No configuration"):
        choose(plain, max_risk=1.0, attacker="active")


def test_collections_do_not_mix() -> None:
    other = [replace(row, collection="robust", score=0.3) for row in ROWS]
    with pytest.raises(InputError, match="several of collection: icd, robust"):
        choose(ROWS + other, max_risk=0.5, attacker="active")
    choice = choose(ROWS + other, max_risk=0.05, attacker="active", collection="icd")
    assert best(choice) == "cmp(epsilon=5.0)"


def test_engines_do_not_mix() -> None:
    other = [replace(row, engine="dense") for row in ROWS if row.kind == "utility"]
    with pytest.raises(InputError, match="several of engine: bm25, dense"):
        choose(ROWS + other, max_risk=0.5, attacker="active")
    choice = choose(ROWS + other, max_risk=0.05, attacker="active", engine="dense")
    assert choice.best.utility.engine == "dense"


def test_the_frontier_is_what_nothing_beats(rng: Generator) -> None:
    for _ in range(50):
        points = [(float(x), float(y)) for x, y in rng.integers(0, 6, size=(12, 2)) / 5]
        wanted = {
            i
            for i, (r, u) in enumerate(points)
            if not any(r2 <= r and u2 >= u and (r2, u2) != (r, u) for r2, u2 in points)
        }
        found = pareto(points)
        assert set(found) == wanted
        assert len(found) == len(wanted)
        assert (np.diff([points[i][0] for i in found]) >= 0).all()


def test_the_frontier_leaves_out_what_is_not_known() -> None:
    assert pareto([(NAN, 1.0), (0.5, 0.5), (0.2, NAN)]) == (1,)
    assert pareto([]) == ()
