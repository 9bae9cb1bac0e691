"""The quantities that get noise, and what the functions of a SELECT make of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from veil.dp.exact.grid import grid
from veil.dp.sql.parsing import Place

TINY = 1e-60  # what is nearer to the lower bound, or to 0 before it is squared, is there
_STEPS = 2**51  # of a value, so that a double holds them
_FINE = 2**10  # steps of a value at the least
_CELLS = 2**20  # of a column with fractions
_WIDE = 2**31  # whole numbers, each a cell of its own
_COARSE = 2**40  # noise, in steps of whole numbers, from which on steps are larger


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows there are; of a column, how many have a value."""

    place: Place | None = None

    @property
    def label(self) -> str:
        """What it is called."""
        return "rows" if self.place is None else f"values of {self.place.name}"


@dataclass(frozen=True, slots=True)
class Units:
    """How many units there are."""

    label: str = "units"


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many different values a column has."""

    place: Place

    @property
    def label(self) -> str:
        """What it is called."""
        return f"different values of {self.place.name}"


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a column, moved into its bounds.

    With a `power` it is that of what the column is above the middle of its bounds, or of the
    square of that, less the middle of what it can be: there is the least to hide.
    """

    place: Place
    power: int = 0  # 0 for the sum itself

    @property
    def label(self) -> str:
        """What it is called."""
        named = self.place.name
        if self.power == 0:
            return f"sum of {named}"
        squares = "squares of " if self.power == 2 else ""
        return f"sum of {squares}{named}, from the middle of its bounds"


@dataclass(frozen=True, slots=True)
class Rank:
    """The q-quantile of a column: at most a share q of its values is below it."""

    place: Place
    q: float

    @property
    def label(self) -> str:
        """What it is called."""
        return f"quantile {self.q:g} of {self.place.name}"


Quantity = Count | Units | Distinct | Sum | Rank


@dataclass(frozen=True, slots=True)
class Levels:
    """The whole numbers that stand for the values of a column.

    A value within its bounds becomes 0 to `top`: floor((x - low)/step + rounding), or that of the
    square of x - middle; a row then counts for that and `offset`. It never falls where the value
    rises, however doubles round, so that no row counts for more than its ends do.
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
        """Steps of a unit of the value."""
        return float(1 / self.step)

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return (self.low + self.high) / 2

    @property
    def reach(self) -> int:
        """What a row counts for at the most, in steps."""
        return max(abs(self.offset), abs(self.top + self.offset))


def levels_of(quantity: Sum, weight: int, epsilon: Fraction) -> Levels:
    """Choose the grid of a sum from its bounds, the rows of a unit and epsilon alone.

    Whole numbers have steps of 1, or of a fraction that their middle is on; others steps of at
    most 2^-20 of the noise.
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
    """Find the ends of the whole numbers, computed as the database computes them."""
    rate, middle = float(1 / step), (low + high) / 2
    if power == 2:
        top = max(_level((end - middle) * (end - middle), rate) for end in (low, high))
        return Levels(low, high, step, top, -(top // 2), square=True)
    top = _level(high - low, rate)
    start = math.floor(Fraction(low) / step + Fraction(1, 2))
    return Levels(low, high, step, top, start if power == 0 else -(top // 2))


def cells_of(place: Place) -> Levels:
    """Cut the range of a column into cells: its whole numbers, or a million."""
    low, high = _bounds(place)
    if _is_whole(place) and high - low <= _WIDE:
        return Levels(low, high, Fraction(1), int(high - low), rounding=0.0)
    step = (Fraction(high) - Fraction(low)) / _CELLS
    top = math.floor((high - low) * float(1 / step))
    return Levels(low, high, step, top, rounding=0.0)


def _level(value: float, rate: float) -> int:
    return math.floor(value * rate + 0.5)


def _bounds(place: Place) -> tuple[float, float]:
    if place.listed.bounds is None:  # checked where the query was read
        raise AssertionError
    return place.listed.bounds


def _is_whole(place: Place) -> bool:
    low, high = _bounds(place)
    return place.listed.column.whole and low.is_integer() and high.is_integer()


@dataclass(frozen=True, slots=True)
class Noisy:
    """A noisy number, the standard deviation of its noise, and the value that it stands for.

    A sum is `number` steps; `start` and `step` turn what a value is in steps into the value.
    """

    number: int | float
    std: float
    step: float = 1.0
    start: float = 0.0
    bounds: tuple[float, float] = (-math.inf, math.inf)
    middle: float = 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer, and the standard deviation of the noise in it, nearly."""

    value: int | float
    std: float


def _plain(noisy: Sequence[Noisy]) -> Cell:
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
    above = first.start + first.step * first.number / n - first.middle  # mean, from the middle
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
    "COUNT": _plain,
    "SUM": _plain,
    "QUANTILE": _plain,
    "AVG": _mean,
    "VARIANCE": lambda noisy: _variance(noisy, sample=True),
    "VAR_POP": lambda noisy: _variance(noisy, sample=False),
    "STDDEV": lambda noisy: _deviation(noisy, sample=True),
    "STDDEV_POP": lambda noisy: _deviation(noisy, sample=False),
}
