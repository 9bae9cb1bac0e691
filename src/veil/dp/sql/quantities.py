"""The quantities that get noise, and the aggregates computed from them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from veil.dp.exact.grid import grid
from veil.dp.sql.parsing import Place

TINY = 1e-60  # closer to the lower bound, or to 0 before squaring, counts as equal
_STEPS = 2**51  # per value at most, so that a double is exact
_FINE = 2**10  # steps per value, at least
_CELLS = 2**20  # of a column that is not integer
_WIDE = 2**31  # integers with one cell each
_COARSE = 2**40  # noise, in integer steps, above which steps are larger


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows, or of values that are not NULL in a column."""

    place: Place | None = None

    @property
    def label(self) -> str:
        """The label in explanations."""
        return "rows" if self.place is None else f"values of {self.place.name}"


@dataclass(frozen=True, slots=True)
class Units:
    """The number of units."""

    label: str = "units"


@dataclass(frozen=True, slots=True)
class Distinct:
    """The number of distinct values of a column."""

    place: Place

    @property
    def label(self) -> str:
        """The label in explanations."""
        return f"distinct values of {self.place.name}"


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a column, clipped to its bounds.

    With `power` 1, the sum of differences from the middle of the bounds; with 2, of their squares,
    centred likewise. Centring keeps the sensitivity small.
    """

    place: Place
    power: int = 0  # 0 for the sum itself

    @property
    def label(self) -> str:
        """The label in explanations."""
        column = self.place.name
        if self.power == 0:
            return f"sum of {column}"
        squares = "squares of " if self.power == 2 else ""
        return f"sum of {squares}{column}, relative to the middle of its bounds"


@dataclass(frozen=True, slots=True)
class Rank:
    """The q-quantile of a column: at most a share q of its values is smaller."""

    place: Place
    q: float

    @property
    def label(self) -> str:
        """The label in explanations."""
        return f"quantile {self.q:g} of {self.place.name}"


Quantity = Count | Units | Distinct | Sum | Rank


@dataclass(frozen=True, slots=True)
class Levels:
    """The integers that encode the values of a column.

    A value within its bounds becomes an integer from 0 to `top`: floor((x - low)/step + rounding),
    or the same for the square of x - middle; a row then adds that plus `offset`. The encoding is
    monotone however doubles round, so no row adds more than the bounds themselves would.
    """

    low: float
    high: float
    step: Fraction
    top: int
    offset: int = 0
    square: bool = False
    rounding: float = 0.5

    @property
    def rate(self) -> float:
        """Steps per unit of the value."""
        return float(1 / self.step)

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return (self.low + self.high) / 2

    @property
    def reach(self) -> int:
        """Largest contribution of a row, in steps."""
        return max(abs(self.offset), abs(self.top + self.offset))


def levels_of(quantity: Sum, weight: int, epsilon: Fraction) -> Levels:
    """Return the grid of a sum, which depends only on bounds, rows per unit and epsilon.

    Integers have steps of 1, or of a fraction that contains their middle; other numbers have steps
    of at most 2^-20 of the noise.
    """
    low, high = _bounds(quantity.place)
    width, half = Fraction(high) - Fraction(low), (Fraction(high) - Fraction(low)) / 2
    wide = half**2 if quantity.power == 2 else width
    amount = (max(abs(Fraction(low)), abs(Fraction(high))), half, half**2 / 2)[quantity.power]
    scale = weight * amount / epsilon
    fraction = Fraction(1, (1, 2, 4)[quantity.power])
    if _is_whole(quantity.place) and scale <= _COARSE * fraction:
        step = fraction
    else:
        step = min(grid(scale), grid(wide, bits=_FINE.bit_length() - 1))
    step = max(step, 2 * grid(wide, bits=_STEPS.bit_length() - 1))
    return _fitted(low, high, step, quantity.power)


def _fitted(low: float, high: float, step: Fraction, power: int) -> Levels:
    """Return the levels, with limits computed exactly as the database computes values."""
    rate, middle = float(1 / step), (low + high) / 2
    if power == 2:
        top = max(_level((end - middle) * (end - middle), rate) for end in (low, high))
        return Levels(low, high, step, top, -(top // 2), square=True)
    top = _level(high - low, rate)
    start = math.floor(Fraction(low) / step + Fraction(1, 2))
    return Levels(low, high, step, top, start if power == 0 else -(top // 2))


def cells_of(place: Place) -> Levels:
    """Split the range of a column into cells: its integers, or about a million."""
    low, high = _bounds(place)
    if _is_whole(place) and high - low <= _WIDE:
        return Levels(low, high, Fraction(1), int(high - low), rounding=0.0)
    step = (Fraction(high) - Fraction(low)) / _CELLS
    top = math.floor((high - low) * float(1 / step))
    return Levels(low, high, step, top, rounding=0.0)


def _level(value: float, rate: float) -> int:
    return math.floor(value * rate + 0.5)


def _bounds(place: Place) -> tuple[float, float]:
    if place.listed.bounds is None:  # checked when the query was parsed
        raise AssertionError
    return place.listed.bounds


def _is_whole(place: Place) -> bool:
    low, high = _bounds(place)
    return place.listed.column.whole and low.is_integer() and high.is_integer()


@dataclass(frozen=True, slots=True)
class Noisy:
    """A noisy number, the standard deviation of its noise, and its scale.

    A sum is `number` steps; `start` and `step` convert steps into values.
    """

    number: int | float
    std: float
    step: float = 1.0
    start: float = 0.0
    bounds: tuple[float, float] = (-math.inf, math.inf)
    middle: float = 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer, and the approximate standard deviation of its noise."""

    value: int | float
    std: float


def _unchanged(noisy: Sequence[Noisy]) -> Cell:
    return Cell(noisy[0].number, noisy[0].std)


def _mean(noisy: Sequence[Noisy]) -> Cell:
    count, total = noisy
    n = max(1, count.number)
    share = total.number / n
    std = total.step * math.hypot(total.std, share * count.std) / n
    low, high = total.bounds
    return Cell(min(high, max(low, total.start + total.step * share)), std)


def _variance(noisy: Sequence[Noisy], *, sample: bool) -> Cell:
    count, first, second = noisy
    n = max(2 if sample else 1, count.number)
    above = (
        first.start + first.step * first.number / n - first.middle
    )  # mean, relative to the middle
    squares = second.start + second.step * second.number / n
    low, high = second.bounds
    factor = n / (n - 1) if sample else 1.0
    value = min(high, max(low, squares - above * above)) * factor
    spread = math.hypot(
        second.step * second.std,
        2 * above * first.step * first.std,
        (squares - 2 * above * above) * count.std,
    )
    return Cell(value, spread * factor / n)


def _deviation(noisy: Sequence[Noisy], *, sample: bool) -> Cell:
    squared = _variance(noisy, sample=sample)
    root = math.sqrt(squared.value)
    return Cell(root, squared.std / (2 * root) if root else math.nan)


MAKERS: dict[str, Callable[[Sequence[Noisy]], Cell]] = {
    "COUNT": _unchanged,
    "SUM": _unchanged,
    "QUANTILE": _unchanged,
    "AVG": _mean,
    "VARIANCE": lambda noisy: _variance(noisy, sample=True),
    "VAR_POP": lambda noisy: _variance(noisy, sample=False),
    "STDDEV": lambda noisy: _deviation(noisy, sample=True),
    "STDDEV_POP": lambda noisy: _deviation(noisy, sample=False),
}
