"""Noise of clients: its law, what the grid costs, and what void rounds and caps cost."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.core.errors import InputError, ParameterError
from veil.core.rng import generator
from veil.dp.calibration import mass
from veil.ratings.accounting import gaussian_epsilon
from veil.ratings.federated import training
from veil.ratings.federated.primitives import STEPS, number_of, whole, words_of
from veil.ratings.federated.training import (
    discrete_epsilon,
    grid_loss,
    share_of_noise,
    share_variance,
    sum_of_noise,
)
from veil.ratings.recommenders.federated import Federated


def discrete(sigma2: float, reach: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    k = np.arange(-reach, reach + 1)
    actual: np.ndarray[tuple[int], np.dtype[np.float64]] = np.exp(-(k**2) / (2 * sigma2))
    return actual / mass(sigma2)


@pytest.mark.parametrize("sigma", [2.0, 5.0, 20.0])
def test_discrete_and_rounded_noise_differ_by_no_more_than_is_counted(sigma: float) -> None:
    for k in range(int(8 * sigma)):
        edges = [(k + end) / (sigma * math.sqrt(2)) for end in (-0.5, 0.5)]
        rounded = (math.erfc(edges[0]) - math.erfc(edges[1])) / 2
        exact = math.exp(-(k**2) / (2 * sigma**2)) / mass(sigma**2)
        ratio = math.log(rounded / exact)
        assert -1 / (8 * sigma**2) - 1e-9 <= ratio <= k**2 / (8 * sigma**4) + 1e-9


def test_shares_of_noise_add_up_to_the_discrete_law() -> None:
    share, whole_law = discrete(4.0, 60), discrete(12.0, 180)
    total = np.convolve(np.convolve(share, share), share)
    middle = slice(180 - 12, 180 + 13)
    assert np.abs(np.log(total[middle] / whole_law[middle])).max() < 1e-12


def test_grid_costs_next_to_nothing_and_is_counted() -> None:
    assert 0 < 60 * grid_loss(4.0) < 1e-5
    unprotected, counted = gaussian_epsilon(4.0, 60, 1e-5), discrete_epsilon(4.0, 60, 1e-5)
    assert unprotected < counted < unprotected + 1e-4
    whole_loss = 60 * grid_loss(4.0)
    inner = gaussian_epsilon(4.0, 60, 1e-5 * (1 - 1e-9) * math.exp(-whole_loss))
    assert counted - inner == pytest.approx(2 * whole_loss, rel=1e-3)
    assert grid_loss(1.0) > 15 * grid_loss(4.0)
    assert grid_loss(4.0, rare=1e6) > grid_loss(4.0)
    with pytest.raises(ParameterError, match="too small"):
        discrete_epsilon(0.01, 100_000, 1e-5)


def test_an_ordinary_setting_is_promised_what_it_costs() -> None:
    trained = Federated(factors=6, rounds=500, sample=0.03, noise=1.1, clip=2, delta=1e-5)
    for proved, unprotected in (
        (trained.guarantee, gaussian_epsilon(1.1, 500, 1e-5, 0.03)),
        (trained.against_server, gaussian_epsilon(1.1, 500, 1e-5)),
    ):
        assert proved.epsilon is not None
        assert unprotected < proved.epsilon < 1.002 * unprotected
    assert trained.guarantee.epsilon == pytest.approx(3.57, abs=0.01)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-12])
@pytest.mark.parametrize(
    ("noise", "rounds", "sample"),
    [(4.0, 60, 1.0), (1.1, 500, 1.0), (0.5, 200, 1.0), (0.05, 60, 1.0), (1.1, 500, 0.03)],
)
def test_rare_events_take_their_part_of_delta(
    noise: float, rounds: int, delta: float, sample: float
) -> None:
    text = discrete_epsilon(noise, rounds, delta, sample)

    def proves(rare: float) -> bool:
        """Tell whether (told, delta) follows with events of probability exp(-rare) left out."""
        loss = rounds * grid_loss(noise, rare=rare)
        inner = text - 2 * loss
        bound = math.log1p(math.exp(-inner - loss)) + inner + loss + math.log(rounds) - rare
        residual = (delta - math.exp(bound)) * math.exp(-loss) if bound < math.log(delta) else 0.0
        return residual > 0 and gaussian_epsilon(noise, rounds, residual, sample) <= inner * (
            1 + 1e-12
        )

    assert any(proves(float(rare)) for rare in range(50, int(1.1 * text) + 200))


def test_threshold_of_shares_has_all_the_noise() -> None:
    for threshold in (2, 7, 1000):
        assert threshold * share_variance(4.0, threshold) == (4 * STEPS) ** 2
    samples = share_of_noise(1.0, 4, 20_000, generator(1)) / STEPS
    assert abs(float(samples.std()) - 0.5) < 0.01
    total = sum_of_noise(1.0, 4, 9, 20_000, generator(2)) / STEPS
    assert abs(float(total.std()) - 1.5) < 0.03
    with pytest.raises(ParameterError, match="too small for its grid"):
        share_variance(0.01, 10**9)


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=8),
    st.sampled_from([0.5, 2.0, 1e3]),
)
@settings(max_examples=100, deadline=None)
def test_no_update_is_longer_than_its_bound(rows: list[list[float]], clip: float) -> None:
    given_rows = np.array(rows)
    steps = whole(given_rows, np.zeros(1, dtype=np.int64), clip)
    assert sum(int(entry) ** 2 for entry in steps.ravel()) <= STEPS**2
    if np.linalg.norm(given_rows) <= clip:
        assert np.abs(steps * (clip / STEPS) - given_rows).max() <= clip / STEPS * 1.01


def test_each_user_is_bounded_by_itself() -> None:
    rows = np.array([[3.0, 4.0], [0.3, 0.0], [0.0, 0.4]])
    steps = whole(rows, np.array([0, 1]), 1.0)
    norms = [math.hypot(*steps[0]), math.hypot(*steps[1:].ravel())]
    assert norms[0] == pytest.approx(STEPS, abs=2)
    assert norms[1] == pytest.approx(STEPS / 2, abs=2)


def test_numbers_that_a_sum_has_no_room_for_are_refused() -> None:
    edge = (2**63 - 1) // 4
    assert words_of(np.array([-edge, edge]), 4).view(np.int64).tolist() == [-edge, edge]
    assert number_of(words_of(np.array([-3, 5]), 4), STEPS / 2).tolist() == [-1.5, 2.5]
    for wrong in (edge + 1, -edge - 1):
        with pytest.raises(ParameterError, match="too large"):
            words_of(np.array([wrong]), 4)
    with pytest.raises(InputError, match="not finite"):
        whole(np.array([[np.inf]]), np.zeros(1, dtype=np.int64), 1.0)


def test_void_rounds_cost_what_they_tell() -> None:
    q, threshold, n = Fraction(1, 3), 3, 5

    def void(users: int) -> Fraction:
        return sum(
            (q ** sum(coins) * (1 - q) ** (users - sum(coins))
             for coins in itertools.product((0, 1), repeat=users) if sum(coins) < threshold),
            Fraction(),
        )  # fmt: skip

    text = float(void(n - 1) - void(n))
    assert training.void_delta(n, float(q), 1, threshold) == pytest.approx(text)
    assert training.void_delta(n, float(q), 7, threshold) == pytest.approx(7 * text)
    assert training.void_delta(20, 1.0, 60, 14) == 0.0
    assert training.void_delta(20, 1.0, 60, 20) == 1.0


def test_usual_threshold_leaves_void_rounds_to_rare_events() -> None:
    threshold = training.usual_threshold(5000, 0.25, 60, 1e-5)
    assert 1000 < threshold <= 1125
    assert training.void_delta(5000, 0.25, 60, threshold) <= 1e-7
    assert training.usual_threshold(50, 1.0, 60, 1e-3) == 45
    with pytest.raises(ParameterError, match="too few join"):
        training.usual_threshold(20, 0.1, 60, 1e-3)


def test_cap_on_rounds_is_counted_without_a_sample_unless_it_hardly_binds() -> None:
    free = training.reader_epsilon(4.0, 60, 1e-5, 0.25, None)
    assert free == training.reader_epsilon(4.0, 60, 1e-5, 0.25, 59)
    capped = training.reader_epsilon(4.0, 60, 1e-5, 0.25, 20)
    assert capped == training.server_epsilon(4.0, 60, 1e-5, 20) > free
    assert training.reader_epsilon(4.0, 60, 1e-5, 0.25, 1) < free
