"""Draws follow their laws, on every path: first bits, binary search, integers, blocks."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats

from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.dp.exact.coins import coins, exp_coins, filtered_coins, odds, odds_packed, random_words
from veil.dp.exact.samplers import (
    Bells,
    Blocks,
    Digit,
    Gaussian,
    Laplace,
    Law,
    Table,
    TwoSided,
    Weighted,
    discrete_gaussian,
    discrete_laplace,
    finite,
)

F = Fraction
LEAST = 1e-3  # of p-values, under fixed seeds


def fit(drawn: Ids, values: Ids, probs: Floats) -> float:
    """Return the p-value of draws under a law; what is rare is put together."""
    order = np.argsort(-probs)
    values, probs = values[order], probs[order]
    common = probs * len(drawn) >= 8
    seen, counts = np.unique(drawn, return_counts=True)
    found = dict(zip(seen.tolist(), counts.tolist(), strict=True))
    observed = [found.get(int(value), 0) for value in values[common]]
    expected = probs[common] * len(drawn)
    rest, left = len(drawn) - sum(observed), len(drawn) - float(expected.sum())
    if left >= 8:
        observed, expected = [*observed, rest], np.append(expected, left)
    else:
        assert rest <= left + 8 * math.sqrt(left + 1)
        observed[-1] += rest
        expected[-1] += left
    return float(stats.chisquare(observed, expected).pvalue)


def laplace_law(scale: float) -> tuple[Ids, Floats]:
    reach = math.ceil(40 * scale)
    z = np.arange(-reach, reach + 1)
    return z, math.tanh(1 / (2 * scale)) * np.exp(-np.abs(z) / scale)


def gaussian_law(sigma2: float) -> tuple[Ids, Floats]:
    reach = math.ceil(12 * math.sqrt(sigma2)) + 2
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-np.square(z) / (2 * sigma2))
    return z, weights / weights.sum()


@pytest.mark.parametrize("scale", [F(1, 3), F(2), F(10), F(47), F(49), F(700)])
def test_laplace_draws_have_the_law(scale: Fraction) -> None:
    drawn = discrete_laplace(scale, 300_000, generator(11))
    assert fit(drawn, *laplace_law(float(scale))) > LEAST


@pytest.mark.parametrize("scale", [F(10**6), F(2**40) / 3])
def test_laplace_draws_of_a_large_scale_have_the_law(scale: Fraction) -> None:
    drawn = discrete_laplace(scale, 200_000, generator(12))
    assert stats.kstest(drawn / float(scale), stats.laplace.cdf).pvalue > LEAST
    digits = np.bincount(drawn[drawn >= 0] & 255, minlength=256)  # nearly uniform down there
    assert stats.chisquare(digits).pvalue > LEAST


@pytest.mark.parametrize("sigma2", [F(1, 4), F(1), F(100), F(128**2), F(130**2)])
def test_gaussian_draws_have_the_law(sigma2: Fraction) -> None:
    drawn = discrete_gaussian(sigma2, 300_000, generator(13))
    assert fit(drawn, *gaussian_law(float(sigma2))) > LEAST


def test_gaussian_draws_of_a_large_sigma_have_the_law() -> None:
    drawn = discrete_gaussian(F(10**12), 200_000, generator(14))
    assert stats.kstest(drawn / 1e6, stats.norm.cdf).pvalue > LEAST


@pytest.mark.parametrize("depth", [17, 20])
@pytest.mark.parametrize("law", [TwoSided(F(3)), Bells(F(9), 1)])
def test_draws_that_few_bits_leave_open_have_the_law(law: Law, depth: int) -> None:
    table = Table(law, depth=depth)  # 17 bits decide little: integers must
    drawn = np.concatenate([table.draw(1_000, generator(seed)) for seed in range(40)])
    known = laplace_law(3.0) if isinstance(law, TwoSided) else gaussian_law(9.0)
    assert fit(drawn, *known) > LEAST


def test_gaussian_draws_in_blocks_have_the_law() -> None:
    """Blocks as wide as sigma: much is drawn again, and a fault there shows."""
    drawn = Gaussian(F(64), most=1).draw(200_000, generator(23))
    assert fit(drawn, *gaussian_law(64.0)) > LEAST


@pytest.mark.parametrize("margin", [2.0**-40, 0.9])
def test_single_draws_have_the_law(margin: float) -> None:
    rng, blocks = generator(24), Gaussian(F(9), most=1, margin=margin)
    drawn = np.array([blocks.draw(1, rng)[0] for _ in range(8_000)])
    assert fit(drawn, *gaussian_law(9.0)) > LEAST
    digits = Laplace(F(50))
    each = np.array([digits.draw(1, rng)[0] for _ in range(8_000)])
    assert fit(each, *laplace_law(50.0)) > LEAST


@pytest.mark.parametrize("law", [TwoSided(F(5)), Bells(F(2000), 1), Digit(F(1, 300))])
def test_a_cell_is_inside_one_step_or_left_open(law: Law) -> None:
    table, steps = Table(law), law.steps(256)
    place = {value: i for i, value in enumerate(steps.values)}
    cells, open_cells = table._make_cells(), 0
    for cell, value in enumerate(cells.tolist()):
        if value == np.iinfo(cells.dtype).min:
            open_cells += 1
            continue
        i = place[value]
        assert (cell + 1) << 240 <= steps.lo[i]
        assert i == 0 or steps.hi[i - 1] <= cell << 240
    assert open_cells <= len(steps.values) + 1


def test_what_a_filter_leaves_open_has_the_law() -> None:
    drawn = Gaussian(F(200**2), margin=0.9).draw(20_000, generator(15))
    assert stats.kstest((drawn + generator(1).random(20_000) - 0.5) / 200, "norm").pvalue > LEAST
    x = np.full(20_000, 0.5)
    heads = filtered_coins(x, lambda _: F(1, 2), generator(16), margin=0.9)
    assert stats.binomtest(int(heads.sum()), 20_000, math.exp(-0.5)).pvalue > LEAST


class Scripted:
    """A generator whose first words are all ones: a uniform number next to 1."""

    def __init__(self, ones: int) -> None:
        self._ones, self._rng = ones, generator(17)

    def integers(self, *given: Any, **more: Any) -> Any:  # noqa: ANN401 - as NumPy has it
        drawn = self._rng.integers(*given, **more)
        if self._ones > 0:
            self._ones -= 1
            drawn[:] = 2**64 - 1
        return drawn


@pytest.mark.parametrize("make", [lambda: Laplace(F(2)), lambda: Gaussian(F(4))])
def test_nothing_is_truncated(make: Callable[[], Laplace | Gaussian]) -> None:
    listed = max(make()._top._steps.values)
    rng: Any = Scripted(8)
    beyond = int(make().draw(1, rng)[0])
    assert abs(beyond) > listed


@pytest.mark.parametrize(
    "law", [TwoSided(F(1, 2)), TwoSided(F(48)), Blocks(F(1000), 256), Digit(F(1, 1000))]
)
def test_bounds_of_laplace_tables_hold_and_decide(law: TwoSided | Blocks | Digit) -> None:
    steps = law.steps(256)
    with localcontext() as context:
        context.prec = 120
        true = _exact_cdf(law, len(steps.values))
        for lo, hi, value in list(zip(steps.lo, steps.hi, true, strict=True))[:400]:
            assert lo <= value * 2**256 <= hi
            assert hi - lo < 2**64
    assert sorted(steps.lo) == list(steps.lo)


def _exact_cdf(law: TwoSided | Blocks | Digit, n: int) -> list[Decimal]:
    """Add up probabilities one by one, unlike the code, which knows what is left."""

    def power(x: Fraction) -> Decimal:
        return (-Decimal(x.numerator) / Decimal(x.denominator)).exp()

    if isinstance(law, Digit):
        weights = [power(law.exponent) ** d for d in range(256)]
        total = sum(weights)
    elif isinstance(law, TwoSided):
        q = power(1 / law.scale)
        weights = [q ** ((i + 1) // 2) for i in range(n)]
        total = (1 + q) / (1 - q)
    else:
        q = power(1 / law.scale)
        weights = [q ** (law.width * (i // 2)) * (q if i % 2 else 1) for i in range(n)]
        total = (1 + q) / (1 - q**law.width)
    sums, cdf = Decimal(0), []
    for weight in weights:
        sums += weight
        cdf.append(sums / total)
    return cdf


@pytest.mark.parametrize("law", [Bells(F(1), 1), Bells(F(128**2), 1), Bells(F(10**6), 8)])
def test_bounds_of_gaussian_tables_hold_and_decide(law: Bells) -> None:
    steps = law.steps(256)
    with localcontext() as context:
        context.prec = 120
        double = 2 * Decimal(law.sigma2.numerator) / Decimal(law.sigma2.denominator)

        def weight(i: int) -> Decimal:
            if law.width == 1:
                return (-Decimal(((i + 1) // 2) ** 2) / double).exp()
            return (-(Decimal((i // 2) * law.width + i % 2) ** 2) / double).exp()

        weights = [weight(i) for i in range(len(steps.values) + 300)]
        total, sums = sum(weights), Decimal(0)
        for i in range(len(steps.values)):
            sums += weights[i]
            assert steps.lo[i] <= sums / total * 2**256 <= steps.hi[i]
            assert steps.hi[i] - steps.lo[i] < 2**140


@pytest.mark.parametrize("p", [F(1, 2), F(1, 3), F(1, 256), F(255, 256), F(1, 10**4)])
def test_coins_have_their_probability(p: Fraction) -> None:
    heads = int(coins(p, 400_000, generator(18)).sum())
    assert stats.binomtest(heads, 400_000, float(p)).pvalue > LEAST


def test_coins_that_are_certain_are_certain() -> None:
    assert coins(F(1), 5_000, generator(1)).all()
    assert not coins(F(0), 5_000, generator(1)).any()


@pytest.mark.parametrize("x", [F(0), F(1), F(5)])
def test_odds_have_their_probability(x: Fraction) -> None:
    p = 1 / (1 + math.exp(float(x)))
    assert stats.binomtest(int(odds(x, 300_000, generator(19)).sum()), 300_000, p).pvalue > LEAST
    packed = odds_packed(x, 3_000, 100, generator(20))
    assert packed.shape == (3_000, 13)
    bits = np.unpackbits(packed, axis=1, count=100)
    assert stats.binomtest(int(bits.sum()), bits.size, p).pvalue > LEAST


def test_coins_decided_by_64_bits_and_more_have_their_probability() -> None:
    class Close(Scripted):
        def __init__(self) -> None:
            super().__init__(0)
            self.calls = 0

        def integers(self, *given: Any, **more: Any) -> Any:  # noqa: ANN401 - as NumPy has it
            self.calls += 1
            drawn = super().integers(*given, **more)
            if self.calls == 1:  # the first bits are those of 1/3
                drawn[:] = int.from_bytes(bytes([85] * 8), "little")
            if self.calls == 2:
                drawn[:] = 0x5555_5555_5555_5555
            return drawn

    rng: Any = Close()
    drawn = coins(F(1, 3), 1, rng)
    assert rng.calls >= 3  # 64 bits were equal
    assert drawn.dtype == np.bool_


def test_exponential_coins_have_their_probability() -> None:
    numerators = np.arange(300_000) % 4
    heads = exp_coins(numerators, 3, generator(21))
    for k in range(4):
        part = heads[numerators == k]
        p = math.exp(-k / 3)
        assert stats.binomtest(int(part.sum()), len(part), p).pvalue > LEAST
    assert exp_coins([0, 10**30], 1, generator(1)).tolist() == [True, False]


def test_finite_laws_have_their_weights() -> None:
    weights = [(F(1), F(0)), (F(1, 2), F(1, 3)), (F(0), F(0)), (F(3), F(2))]
    drawn = finite(weights).draw(300_000, generator(22))
    raw = np.array([float(c) * math.exp(-float(x)) for c, x in weights])
    assert not (drawn == 2).any()
    keep = np.array([0, 1, 3])
    assert fit(drawn, keep, (raw / raw.sum())[keep]) > LEAST


def test_finite_laws_of_tiny_weights_are_as_those_of_large_ones() -> None:
    small = Weighted(((F(1), F(10**6)), (F(1), F(10**6) + 1))).steps(256)
    large = Weighted(((F(1), F(0)), (F(1), F(1)))).steps(256)
    assert small == large


@pytest.mark.parametrize("weights", [[], [(0, 1)], [(1, -1)], [(-1, 0), (1, 0)]])
def test_weights_that_are_no_law_are_refused(weights: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        finite(weights)


def test_a_seed_gives_the_same_whatever_was_drawn_before() -> None:
    def some(rng: Generator) -> list[int]:
        return [int(z) for z in Laplace(F(2)).draw(50, rng)]

    first = discrete_laplace(F(77, 7), 50, generator(3)).tolist()
    discrete_laplace(F(77, 7), 100_000, generator(4))  # the table of cells is made now
    assert discrete_laplace(F(77, 7), 50, generator(3)).tolist() == first
    assert some(generator(5)) == some(generator(5)) != some(generator(6))


@pytest.mark.parametrize("scale", [F(0), F(-1), F(2**53)])
def test_a_scale_out_of_range_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="scale of the noise"):
        discrete_laplace(scale, 1, generator(1))


def test_one_draw_of_a_large_scale_takes_the_words_of_an_array() -> None:
    made = Laplace(Fraction(10**6))
    tables = [made._top, *made._digits]
    for seed in range(50):
        fresh = random_words(len(tables), generator(seed)).reshape(-1, 1)
        top, *digits = (
            int(table.few(part, generator(0))[0])
            for table, part in zip(tables, fresh, strict=True)
        )
        size = (top >> 1) * made._width + sum(digit << 8 * j for j, digit in enumerate(digits))
        assert made.draw(1, generator(seed))[0] == (-1 - size if top & 1 else size)
