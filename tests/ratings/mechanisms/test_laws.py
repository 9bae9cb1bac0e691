"""Exact laws of krr, dlaplace and bits, by enumeration and by what is drawn."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from tests.ratings.people import town

from veil.core.errors import InputError, LawError, ParameterError
from veil.core.rng import generator
from veil.core.types import Floats
from veil.ratings import Ratings, of_arrays
from veil.ratings.mechanism import Levels
from veil.ratings.mechanisms.bits import Bits
from veil.ratings.mechanisms.profiles import Pseudonyms
from veil.ratings.mechanisms.values import KRR, DLaplace, ValueMechanism

LEVELS = 5
EPSILONS = (0.25, 1.0, 3.0)


def krr_law(epsilon: float) -> Floats:
    """Return P(y | x) as it is defined, cell by cell."""
    total = math.exp(epsilon) + LEVELS - 1
    cells = [
        [math.exp(epsilon) / total if x == y else 1 / total for y in range(LEVELS)]
        for x in range(LEVELS)
    ]
    return np.array(cells)


def dlaplace_law(epsilon: float) -> Floats:
    """Return P(y | x) by adding up the noise that leads from x to y, out to where none is left."""
    alpha = math.exp(-epsilon / (LEVELS - 1))
    law = np.zeros((LEVELS, LEVELS))
    reach = math.ceil(40 / -math.log(alpha))
    for x in range(LEVELS):
        for z in range(-reach, reach + 1):
            y = min(max(x + z, 0), LEVELS - 1)
            law[x, y] += (1 - alpha) / (1 + alpha) * alpha ** abs(z)
    return law


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("of", "law"), [(KRR, krr_law), (DLaplace, dlaplace_law)])
def test_the_law_is_the_definition_and_keeps_the_bound(
    of: type[ValueMechanism],
    law: Callable[[float], Floats],
    epsilon: float,
) -> None:
    logs = of(epsilon=epsilon).log_likelihood(town())
    assert np.exp(logs) == pytest.approx(law(epsilon), abs=1e-12)
    assert np.exp(logs).sum(axis=1) == pytest.approx(np.ones(LEVELS))
    loss = (logs[:, None, :] - logs[None, :, :]).max()
    assert loss == pytest.approx(epsilon), "the budget is kept, and used"


@pytest.mark.parametrize("of", [KRR, DLaplace])
def test_draws_follow_the_law(of: type[ValueMechanism]) -> None:
    entry = of(epsilon=1.0)
    law = np.exp(entry.log_likelihood(town()))
    rng = generator(11)
    for x in range(LEVELS):
        samples = entry.draw(np.full(20_000, x), LEVELS, rng)
        observed = np.bincount(samples, minlength=LEVELS)
        assert stats.chisquare(observed, law[x] * 20_000).pvalue > 1e-3


def test_bits_flip_as_often_as_they_say() -> None:
    data = town(n=300, m=100, share=0.3)
    entry = Bits(epsilon=1.5, positive=4)
    likes = np.zeros((data.n, data.m), dtype=np.bool_)
    liked = data.value >= 4
    likes[data.user[liked], data.item[liked]] = True
    output = entry.apply(data, generator(2)).data
    out = np.zeros_like(likes)
    out[output.user, output.item] = True
    law = np.exp(entry.log_likelihood(data))
    assert law == pytest.approx(
        np.array([[0.8175744762, 0.1824255238], [0.1824255238, 0.8175744762]])
    )
    assert stats.binomtest(int((out & ~likes).sum()), int((~likes).sum()), law[0, 1]).pvalue > 1e-3
    assert stats.binomtest(int((~out & likes).sum()), int(likes.sum()), law[1, 0]).pvalue > 1e-3
    assert set(output.value.tolist()) == {4.0}


@pytest.mark.parametrize(("positive", "value"), [(None, 1.0), (0.2, 1.0), (-0.5, 0.0)])
def test_a_released_like_has_one_rating_of_the_scale_whatever_it_was(
    positive: float | None, value: float
) -> None:
    output = Bits(epsilon=3.0, positive=positive).apply(halves(), generator(3)).data
    assert set(output.value.tolist()) == {value}


def test_bits_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = town()
    monkeypatch.setattr("veil.ratings.mechanisms.bits._BLOCK", 36)
    output = Bits(epsilon=20.0).apply(data, generator(2)).data  # nothing is flipped
    liked = data.value >= 4
    assert np.array_equal(output.user, data.user[liked])
    assert np.array_equal(output.item, data.item[liked])


@pytest.mark.parametrize("of", [KRR, DLaplace])
def test_who_rated_what_stays_and_values_are_levels(of: type[ValueMechanism]) -> None:
    data = town()
    output = of(epsilon=0.5).apply(data, generator(1)).data
    assert np.array_equal(output.user, data.user)
    assert np.array_equal(output.item, data.item)
    assert set(output.value.tolist()) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert not np.array_equal(output.value, data.value)


def halves(scale: tuple[float, float] = (-1.0, 1.0)) -> Ratings:
    value = np.array([-1.0, 0.3, 0.5, 1.0])
    return of_arrays(["a", "b"], ["x", "y"], np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), value,
                     scale=scale)  # fmt: skip


def test_a_scale_without_levels_needs_a_step() -> None:
    with pytest.raises(InputError, match="Set 'step'"):
        KRR(epsilon=1.0).check(halves())
    KRR(epsilon=1.0, step=0.5).check(halves())
    assert KRR(epsilon=1.0, step=0.5).log_likelihood(halves()).shape == (5, 5)
    with pytest.raises(ParameterError, match="integer number of steps"):
        KRR(epsilon=1.0, step=0.3).check(halves())
    with pytest.raises(ParameterError, match="levels"):
        KRR(epsilon=1.0, step=1e-9).check(halves())
    levels = Levels.of(halves(), 0.5, "krr")
    assert levels.positions(np.array([-1.0, 0.3, 0.25, 0.24, 1.0])).tolist() == [0, 3, 3, 2, 4]


def test_values_have_a_cost_per_rating_and_say_what_a_user_costs() -> None:
    data = town()
    entry = KRR(epsilon=0.5)
    text = entry.cost(data)
    assert (text.kind, text.unit, text.epsilon) == ("local-dp", "rating", 0.5)
    assert "does not hide which items are rated" in text.caveat
    assert f"{data.per_user.max() * 0.5:g}" in entry.notes(data)[0]
    bits = Bits(epsilon=2.0)
    assert "m times epsilon" in bits.guarantee.caveat
    assert "24 together" in bits.notes(data)[0]
    assert "Every released rating is 4" in bits.notes(data)[1]


def test_what_has_no_law_says_so() -> None:
    with pytest.raises(LawError, match="pseudonyms"):
        Pseudonyms().log_likelihood(town())
