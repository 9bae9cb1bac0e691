"""Ways to look at outputs: each gives an output a number, and events are sets of numbers.

Outputs of few values are looked at as they are. Of many values, as of noise on a fine grid, no set
could be chosen by counting; they are put into cells, finer towards both ends. Outputs of several
numbers are looked at as a whole, by some of their coordinates, by their sum, and by the direction
in which their means differ.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids

Array = NDArray[Any]
View = Callable[[Array], Ids]
_COLUMNS = 8
_CELLS = 48
_TAIL = 13  # halvings of the share in the cells at both ends
_ODD = np.uint64(0x9E3779B97F4A7C15)


def views(one: Array, other: Array) -> Iterator[View]:
    """Yield ways to look at outputs (n, d), made on samples that are not used to bound."""
    yield rows
    columns = _telling(one, other)
    for column in columns:
        if one.shape[1] > 1:
            yield _values(column)
        yield _cells(_Column(column), one, other)
    if one.shape[1] > 1:
        with np.errstate(all="ignore"):
            spread = np.concatenate([one, other]).astype(np.float64).var(axis=0)
            apart = one.mean(axis=0) - other.mean(axis=0)
            slope = np.nan_to_num(apart / np.maximum(spread, 1e-300), posinf=0.0, neginf=0.0)
        for weights in (slope, np.ones(one.shape[1])):
            yield _cells(_Sum(weights), one, other)


def rows(outputs: Array) -> Ids:
    """Give equal outputs the same number; others share one by rare accident."""
    found = np.zeros(len(outputs), dtype=np.uint64)
    for column in range(outputs.shape[1]):
        found = (found ^ bits(outputs[:, column])) * _ODD
        found ^= found >> np.uint64(29)
    return (found >> np.uint64(1)).astype(np.int64)


def bits(numbers: Array) -> NDArray[np.uint64]:
    """Return the bits of numbers; those of 0 and -0 are the same."""
    if numbers.dtype.kind == "f":
        return (numbers.astype(np.float64) + 0.0).view(np.uint64)
    return numbers.astype(np.int64).view(np.uint64)


class _Column:
    """One number of each output."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __call__(self, outputs: Array) -> Floats:
        return outputs[:, self._at].astype(np.float64)


class _Sum:
    """A weighted sum of the numbers of each output."""

    def __init__(self, weights: Floats) -> None:
        self._weights = weights

    def __call__(self, outputs: Array) -> Floats:
        with np.errstate(all="ignore"):
            found: Floats = outputs.astype(np.float64) @ self._weights
        return found


def _values(column: int) -> View:
    return lambda outputs: rows(outputs[:, column : column + 1])


def _cells(figure: Callable[[Array], Floats], one: Array, other: Array) -> View:
    """Put a figure into cells that hold about the same share of the samples of both inputs."""
    pool = np.sort(np.concatenate([figure(one), figure(other)]))
    tail = 0.5 ** np.arange(_TAIL, 5, -1)
    levels = np.concatenate([tail, np.arange(1, _CELLS) / _CELLS, 1 - tail[::-1]])
    places = np.minimum((levels * len(pool)).astype(np.int64), len(pool) - 1)
    edges = np.unique(pool[places])
    return lambda outputs: np.searchsorted(edges, figure(outputs), side="right").astype(np.int64)


def _telling(one: Array, other: Array) -> list[int]:
    """Choose the first coordinate, and others whose mean or spread differs the most.

    The first is the code that a mechanism gives to the whole of an output.
    """
    if one.shape[1] <= _COLUMNS:
        return list(range(one.shape[1]))
    with np.errstate(all="ignore"):
        means = [part.mean(axis=0, dtype=np.float64) for part in (one, other)]
        spreads = [part.std(axis=0, dtype=np.float64) + 1e-9 for part in (one, other)]
        apart = np.abs(means[0] - means[1]) / np.maximum(*spreads)
        apart = np.nan_to_num(apart + np.abs(np.log(spreads[0] / spreads[1])))
    apart[0] = np.inf
    chosen: list[int] = np.argsort(-apart, kind="stable")[:_COLUMNS].tolist()
    return chosen
