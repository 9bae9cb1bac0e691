"""Events that tell two inputs apart, and what they show."""

import math

import numpy as np
import pytest

from veil.core.rng import generator
from veil.measures.bounds import choose_event, count_hits, log_ratio, proved_log_ratio


def test_the_event_is_what_the_first_input_makes_likelier() -> None:
    one, other = np.repeat([0, 1, 2], [700, 200, 100]), np.repeat([0, 1, 2], [100, 200, 700])
    assert choose_event(one, other, 1e-6).tolist() == [0]
    assert choose_event(other, one, 1e-6).tolist() == [2]
    assert choose_event(one - 5, other - 5, 1e-6).size == 0  # below 0: not covered
    assert count_hits(np.array([0, 2]), one) == 800


def test_what_hits_show() -> None:
    assert proved_log_ratio((0, 0), 1_000, 1e-6) == 0
    assert proved_log_ratio((500, 500), 1_000, 1e-6) == 0
    clear = proved_log_ratio((500, 5), 1_000, 1e-6)
    assert 2 < clear < math.log(100)
    assert proved_log_ratio((500, 5), 1_000, 1e-6, delta=0.2) < clear
    assert proved_log_ratio((500, 5), 1_000, 1e-6, delta=0.5) == 0


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_a_bound_is_at_most_the_truth(delta: float) -> None:
    """Of a pair whose loss is ln 3, at any delta: the bound is higher with chance 1e-3."""
    for seed in range(20):
        rng = generator(seed)
        one, other = (rng.random(4_000) < p for p in (0.75, 0.25))
        lower, hits = log_ratio(one.astype(np.int64), other.astype(np.int64), 5e-4, delta)
        assert lower < math.log((0.75 - delta) / 0.25) + 1e-12
        assert hits[0] > hits[1]
