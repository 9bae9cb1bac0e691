"""Weights, whole sums and noise: bounds that hold exactly, and noise of the size it says."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats
from tests.ratings.people import town

from veil.core.errors import InputError, ParameterError
from veil.core.rng import generator
from veil.core.types import Floats
from veil.dp.calibration import gaussian_delta, mass
from veil.ratings import Ratings, of_arrays
from veil.ratings.accounting import Noise, towards_zero, weights
from veil.ratings.recommenders import _private, dpals, dpcovariance

ITEMS = 150


def one_user(kind: str, n: int, rng: Generator) -> Ratings:
    """Return one user's ratings: at random, or as far out as they can be."""
    item = np.sort(rng.permutation(ITEMS)[:n])
    far = np.where(rng.random(n) < 0.5, 1.0, 5.0)
    value = {"random": rng.uniform(1, 5, n), "worst": far, "high": np.full(n, 5.0)}[kind]
    names = [f"{entry:03}" for entry in range(ITEMS)]
    return of_arrays(["one"], names, np.zeros(n, np.int64), item, value, scale=(1, 5))


@pytest.mark.parametrize("kind", ["random", "worst", "high"])
@pytest.mark.parametrize("n", [1, 7, 99, 100, 101, 150])
def test_one_user_changes_sums_by_no_more_than_is_said(kind: str, n: int, rng: Generator) -> None:
    user = one_user(kind, n, rng)
    bound = 2 * _private.WEIGHT << (2 * _private.STEPS)
    assert squares(_private.item_totals(user)) <= bound
    if (kind, n) == ("high", 100):
        assert squares(_private.item_totals(user)) == bound, "the bound is reached"
    residual = np.asarray(user.value - 3.0) * 10  # beyond what residuals are cut to
    for scale in (1e-3, 1.0, 1e6):
        sums = dpals.sums(user, residual, scale * rng.normal(size=(1, 6)))
        assert squares(sums) <= 2 * _private.WEIGHT << (2 * dpals.STEPS)
        total = dpcovariance.gram(user, scale * residual, clip=2.0)
        assert squares(total) <= 1 << (4 * dpcovariance.STEPS)
        assert np.array_equal(total, total.T)


def test_vectors_of_users_have_length_one(rng: Generator) -> None:
    user = one_user("random", 1, rng)
    residual = np.zeros(1)
    for scale in (1e-3, 1e3):
        sums = dpals.sums(user, residual, scale * rng.normal(size=(1, 6)))[user.item[0], 6:]
        first, second = np.triu_indices(6)
        trace = sums[first == second].sum() / 2**dpals.STEPS
        assert 0.999 < trace <= 1


def test_the_gram_of_more_users_is_the_sum(rng: Generator) -> None:
    data = town(30, 10)
    residual = rng.normal(size=len(data)) * 40
    whole = dpcovariance.gram(data, residual, 30.0)
    for user in (0, 17, 29):
        others = data.user != user
        distance = whole - dpcovariance.gram(data.take(others), residual[others], 30.0)
        assert 0 < squares(distance) <= 1 << (4 * dpcovariance.STEPS)
        assert np.linalg.matrix_rank(distance) == 1


def squares(total: Floats) -> int:
    """Add up squares as whole numbers of any size."""
    assert np.array_equal(total, np.trunc(total)), "sums are whole numbers"
    return sum(int(entry) ** 2 for entry in total.ravel())


def test_weights_are_rounded_down() -> None:
    counts = np.arange(1, 2000)
    actual = weights(counts, 100, 20)
    for count, weight in zip(counts.tolist(), actual.tolist(), strict=True):
        square = Fraction(100, count) * 4**20 if count > 100 else Fraction(4**20)
        assert weight**2 <= square < (weight + 1) ** 2
    assert towards_zero(np.array([-1.7, 1.7])).tolist() == [-1.0, 1.0]


def test_noise_has_the_size_that_was_calibrated() -> None:
    noise = Noise.of(1.0, 1e-5, 4)
    assert gaussian_delta(1.0, noise.multiplier / 2) <= 1e-5 * 0.9991
    assert noise.multiplier == pytest.approx(2 * 3.7306, rel=1e-4)
    samples = noise.add(np.zeros(20_000), 1 << 40, generator(1)) / 2**20
    assert np.array_equal(samples * 2**20, np.trunc(samples * 2**20))
    assert stats.kstest(samples / noise.multiplier, stats.norm.cdf).pvalue > 1e-3


def test_noise_that_cannot_be_proved_is_refused() -> None:
    with pytest.raises(ParameterError, match="integers"):
        Noise.of(1.0, 1e-5, 1).add(np.zeros(1000), 100, generator(1))
    with pytest.raises(InputError, match="too many users"):
        Noise.of(1.0, 1e-5, 1).add(np.full(2, 2.0**53), 1 << 40, generator(1))


@pytest.mark.parametrize("sigma", [8.0, 20.0, 100.0])
def test_the_discrete_law_is_as_near_to_the_rounded_one_as_is_said(sigma: float) -> None:
    reach = math.ceil(12 * sigma)
    z = np.arange(-reach, reach + 1)
    discrete = np.exp(-(z**2) / (2 * sigma**2)) / mass(sigma**2)
    whole = stats.norm.cdf((z + 0.5) / sigma) - stats.norm.cdf((z - 0.5) / sigma)
    distance = np.abs(discrete - whole).sum() / 2
    assert 0.3 / (24 * sigma**2) < distance <= 1 / (24 * sigma**2)
