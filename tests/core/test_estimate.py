"""Means and their intervals."""

import copy
import json
import pickle

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.estimate import RESAMPLES, Estimate, bootstrap, resamples


def test_it_is_a_number_that_remembers_its_interval() -> None:
    made = bootstrap([0.0, 1.0, 1.0, 0.0])
    assert made == 0.5
    assert made.low <= made <= made.high
    assert made.n == 4
    assert json.dumps(made) == "0.5"
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):  # noqa: S301
        assert isinstance(again, Estimate)
        assert (again, again.low, again.high, again.n) == (made, made.low, made.high, made.n)


def test_the_interval_covers_the_truth_as_often_as_it_says(rng: Generator) -> None:
    covered = 0
    for _ in range(200):
        found = bootstrap(rng.random(100))
        covered += found.low <= 0.5 <= found.high
    assert 178 <= covered <= 199


def test_the_width_is_that_of_the_theory(rng: Generator) -> None:
    values = rng.normal(size=2000)
    found = bootstrap(values)
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 2000**0.5, rel=0.1)


def test_values_of_one_text_are_drawn_together(rng: Generator) -> None:
    texts = rng.random(40)
    repeated, owners = np.repeat(texts, 25), np.repeat(np.arange(40), 25)
    alone, grouped, blind = bootstrap(texts), bootstrap(repeated, owners), bootstrap(repeated)
    assert (grouped.low, grouped.high) == pytest.approx((alone.low, alone.high))
    assert grouped.n == 40
    assert blind.high - blind.low < 0.4 * (alone.high - alone.low)
    uneven = bootstrap([1.0, 1.0, 1.0, 0.0], ["a", "a", "a", "b"])
    assert uneven == 0.75


def test_resamples_are_the_same_every_time_whatever_the_block() -> None:
    blocks = list(resamples(5000))
    assert len(blocks) > 1
    assert sum(map(len, blocks)) == RESAMPLES
    assert np.array_equal(blocks[0], next(resamples(5000)))


@pytest.mark.parametrize(
    "bad", [[], [np.nan], [np.inf, 1], [[1.0]], 3.0, ["a"], [None], [[1], [2, 3]]]
)
def test_bad_input_is_told_in_one_sentence(bad: object) -> None:
    with pytest.raises(InputError, match="at least one finite number"):
        bootstrap(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="2 values needs one group. Got 3"):
        bootstrap([1.0, 2.0], [1, 2, 3])
