"""The score against the published figures."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.estimate import resamples
from veil.measures.quipu import NAMED_POINTS, quipu, quipu_difference, quipu_interval

SHARE = st.floats(0, 1)


def test_the_published_scores_are_reproduced(shared: Path) -> None:
    rows = json.loads((shared / "quipu" / "figure_points.json").read_text())
    exact = [row for row in rows if row["exact"]]
    assert len(exact) > 10
    for row in exact:
        risk, utility = zip(*row["points"], strict=True)
        assert quipu(risk, utility) == pytest.approx(row["published"], abs=0.0011)


def test_the_published_scores_of_one_figure_without_the_files() -> None:
    assert quipu([0.0, 1.0], [0.00835, 0.67444]) == pytest.approx(-0.264, abs=0.0011)


def test_curves_with_a_known_area() -> None:
    nothing, all_told, best, trash = NAMED_POINTS.values()
    assert quipu(*zip(nothing, best, all_told, strict=True)) == 1
    assert quipu(*zip(nothing, trash, all_told, strict=True)) == -1
    assert quipu(*zip(nothing, all_told, strict=True)) == 0
    assert quipu([0.3], [0.9]) == 0
    assert quipu([0, 0, 0.5], [0, 1, 1]) == 0.875


@given(st.lists(st.tuples(SHARE, SHARE), min_size=1, max_size=8))
def test_turning_the_plane_turns_the_sign(points: list[tuple[float, float]]) -> None:
    risk, utility = zip(*points, strict=True)
    assert quipu(risk, utility) == pytest.approx(-quipu(utility, risk), abs=1e-12)
    assert quipu(risk, utility) == pytest.approx(-quipu(risk[::-1], utility[::-1]), abs=1e-12)


def test_the_interval_draws_the_same_queries_at_every_point(rng: Generator) -> None:
    hard = rng.random(60)
    risks = np.stack([hard * level for level in (0.0, 0.4, 0.9)])
    found = quipu_interval(risks, risks)  # utility is risk, query by query: always zero
    assert [found, found.low, found.high, found.n] == [0, 0, 0, 60]
    other = np.stack([(1 - hard) * level for level in (0.1, 0.7, 1.0)])
    spread = quipu_interval(risks, other)
    assert spread == pytest.approx(quipu(risks.mean(axis=1), other.mean(axis=1)))
    assert spread.low < spread < spread.high


def test_the_interval_is_that_of_drawing_by_hand(rng: Generator) -> None:
    risks, utilities = rng.random((2, 4, 25))
    found = quipu_interval(risks, utilities)
    scores = []
    for _ in range(3000):
        drawn = rng.integers(25, size=25)
        scores.append(quipu(risks[:, drawn].mean(axis=1), utilities[:, drawn].mean(axis=1)))
    low, high = np.quantile(scores, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def slow_score(risks: list[list[float]], utilities: list[list[float]], drawn: list[int]) -> float:
    """The sum of the paper for the means over drawn queries, number by number."""
    r = [sum(row[j] for j in drawn) / len(drawn) for row in risks]
    u = [sum(row[j] for j in drawn) / len(drawn) for row in utilities]
    total = 0.0
    for i in range(len(r) - 1):
        above = (u[i] - r[i]) + (u[i + 1] - r[i + 1])
        total += 0.5 * above * ((r[i + 1] + u[i + 1]) - (r[i] + u[i]))
    return total


def test_interval_and_difference_are_those_of_plain_loops(rng: Generator) -> None:
    one, other = rng.random((2, 4, 7)), rng.random((2, 3, 7))
    draws = [drawn.tolist() for block in resamples(7) for drawn in block]
    first = [slow_score(one[0].tolist(), one[1].tolist(), drawn) for drawn in draws]
    second = [slow_score(other[0].tolist(), other[1].tolist(), drawn) for drawn in draws]
    found = quipu_interval(*one)
    assert [found.low, found.high] == pytest.approx(np.quantile(first, [0.025, 0.975]), abs=1e-12)
    apart = quipu_difference(*one, *other)
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    assert [apart.low, apart.high] == pytest.approx(np.quantile(gaps, [0.025, 0.975]), abs=1e-12)
    assert apart == pytest.approx(found - quipu_interval(*other), abs=1e-12)


def test_many_queries_are_drawn_in_blocks_and_not_kept(
    rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from veil.core import estimate
    from veil.measures import quipu as module

    curve = rng.random((2, 3, 30))
    kept = quipu_interval(*curve)
    monkeypatch.setattr(estimate, "_INDICES_AT_ONCE", 30 * 64)
    monkeypatch.setattr(module, "_MAX_CACHED", 0)
    found = quipu_interval(*curve)
    assert (found.low, found.high) == pytest.approx((kept.low, kept.high), abs=1e-12)


def test_a_curve_does_not_differ_from_itself(rng: Generator) -> None:
    curve = rng.random((2, 5, 43))
    found = quipu_difference(*curve, *curve.copy())
    assert [float(found), found.low, found.high, found.n] == [0, 0, 0, 43]


def test_the_difference_has_a_sign_and_turns_with_the_curves(rng: Generator) -> None:
    hard = rng.random(40)
    good = [0 * hard, 0 * hard], [0.1 * hard, 0.9 * hard]
    bad = [0 * hard, 0.9 * hard, hard], [0 * hard, 0.1 * hard, 0.2 * hard]
    ahead, behind = quipu_difference(*good, *bad), quipu_difference(*bad, *good)
    assert ahead.low > 0 > behind.high
    assert (ahead, ahead.low, ahead.high) == pytest.approx((-behind, -behind.high, -behind.low))


def test_queries_are_drawn_for_both_curves_together(rng: Generator) -> None:
    """What makes a query easy for both is no uncertainty of the difference."""
    hard = rng.random(50)
    one = np.stack([0 * hard, 0 * hard]), np.stack([0 * hard, hard])
    other = np.stack([0 * hard, 0 * hard]), np.stack([0 * hard, 0.99 * hard])
    wide = quipu_interval(*one)
    found = quipu_difference(*one, *other)
    assert found.low > 0  # although both intervals are far wider than the difference
    assert found.high - found.low < 0.1 * (wide.high - wide.low)


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match="the same shape"):
        quipu([0.1, 0.2], [0.1])
    with pytest.raises(InputError, match="Every risk must be between 0 and 1"):
        quipu([1.1], [0.5])
    with pytest.raises(InputError, match="Every utility must be between"):
        quipu([0.1], [np.nan])
    with pytest.raises(InputError, match="at least one point"):
        quipu([], [])
    with pytest.raises(InputError, match="one list of numbers"):
        quipu([[0.1]], [[0.1]])
    with pytest.raises(InputError, match="one list of numbers"):
        quipu(["a"], ["b"])
    with pytest.raises(InputError, match="per point"):
        quipu_interval([0.1], [0.1])
    with pytest.raises(InputError, match="same queries. Got 2 and 3 queries"):
        quipu_difference([[0.1, 0.2]], [[0.1, 0.2]], [[0.1, 0.2, 0.3]], [[0.1, 0.2, 0.3]])
    with pytest.raises(InputError, match="Every risk must be finite"):
        quipu_interval([[np.inf]], [[0.1]])
    with pytest.raises(InputError, match="Every utility must be finite"):
        quipu_difference([[0.1]], [[0.1]], [[0.1]], [[np.nan]])


def test_a_risk_below_chance_counts_as_it_is_and_its_mean_is_cut() -> None:
    risks = np.array([[-1.0, 0.5, 0.5, 0.4], [0.2, 0.9, 1.0, 0.9]])
    utilities = np.array([[0.2, 0.2, 0.2, 0.2], [0.6, 0.6, 0.6, 0.6]])
    found = quipu_interval(risks, utilities)
    assert float(found) == pytest.approx(quipu([0.1, 0.75], [0.2, 0.6]))
    assert float(quipu_interval(risks - 1, utilities)) == pytest.approx(quipu([0, 0], [0.2, 0.6]))
