"""What the functions of a SELECT make of noisy quantities; no data is needed any more."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


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
