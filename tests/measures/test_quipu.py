"""The score against the published figures."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from veil.core.errors import InputError
from veil.measures.quipu import NAMED_POINTS, quipu, quipu_interval

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


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match="the same points"):
        quipu([0.1, 0.2], [0.1])
    with pytest.raises(InputError, match="Every risk must lie between 0 and 1"):
        quipu([1.1], [0.5])
    with pytest.raises(InputError, match="Every utility must lie"):
        quipu([0.1], [np.nan])
    with pytest.raises(InputError, match="at least one point"):
        quipu([], [])
    with pytest.raises(InputError, match="one row of numbers"):
        quipu([[0.1]], [[0.1]])
    with pytest.raises(InputError, match="one row of numbers"):
        quipu(["a"], ["b"])
    with pytest.raises(InputError, match="per point"):
        quipu_interval([0.1], [0.1])
