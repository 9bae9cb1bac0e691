"""Rows of packed bits, and the shapes of arrays in reports."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Ids

Octets = NDArray[np.uint8]
Flags = NDArray[np.bool_]
_BLOCK = 2**22  # bits unpacked at a time
_FULL = 255  # ones that a byte can count


def octets_of(width: int) -> int:
    """Return the number of bytes in a row of `width` bits."""
    return -(-width // 8)


def flip_bits(packed: Octets, places: Ids, flags: Flags | None = None) -> None:
    """Flip bit `places[i]` of each row i, or only where its flag is set."""
    masks = np.right_shift(128, places & 7).astype(np.uint8)
    packed[np.arange(len(packed)), places >> 3] ^= masks if flags is None else masks * flags


def write_bits(packed: Octets, places: Ids, flags: Flags) -> None:
    """Set bit `places[i]` of each row i to its flag."""
    flip_bits(packed, places, bits_at(packed, places) != flags)


def bits_at(packed: Octets, places: Ids) -> Flags:
    """Return bit `places[i]` of each row i."""
    octets = packed[np.arange(len(packed)), places >> 3]
    flags: Flags = (octets >> (7 - (places & 7)).astype(np.uint8)) & 1 == 1
    return flags


def column_sums(packed: Octets, width: int) -> Ids:
    """Count the ones in each of `width` columns."""
    total = np.zeros(width, dtype=np.int64)
    rows = max(_FULL, _BLOCK // width // _FULL * _FULL)
    for start in range(0, len(packed), rows):
        bits = np.unpackbits(packed[start : start + rows], axis=1, count=width)
        whole = len(bits) // _FULL * _FULL
        groups = bits[:whole].reshape(-1, _FULL, width)
        total += np.add.reduce(groups, axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
        total += np.add.reduce(bits[whole:], axis=0, dtype=np.uint8)
    return total


def group_sums(packed: Octets, groups: NDArray[np.integer], count: int, width: int) -> Ids:
    """Return the ones per group and column, (count, width)."""
    total = np.zeros((count, width), dtype=np.int64)
    for group, rows in _members(groups, count):
        total[group] = column_sums(packed[rows], width)
    return total


def _members(groups: NDArray[np.integer], count: int) -> Iterator[tuple[int, Ids]]:
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=count)
    ends = np.cumsum(sizes)
    for group in np.flatnonzero(sizes).tolist():
        yield group, order[ends[group] - sizes[group] : ends[group]]


Array = NDArray[Any]
_WRONG = "These are not reports of {}: {}. Request them again."


@dataclass(frozen=True)
class Part:
    """The layout of an array (n, *shape), whose columns are from 0 to below their `limits`.

    `spare` is the number of unused bits at the end of a packed row, which are 0.
    """

    dtype: type[np.integer[Any]]
    shape: tuple[int, ...] = ()
    limits: tuple[int, ...] | None = None
    spare: int = 0

    @property
    def octets(self) -> int:
        """Bytes of one report."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    def check(self, array: Array, n: int, what: str, name: str) -> None:
        """Raise InputError unless an array has this layout."""
        if array.dtype != self.dtype or array.shape != (n, *self.shape):
            raise InputError(_WRONG.format(name, f"'{what}' has the wrong type or shape"))
        if not n:
            return
        if self.limits is not None:
            limits = np.array(self.limits, dtype=np.uint64)
            high = array.max(axis=0).astype(np.uint64)
            if array.min() < 0 or (high >= limits).any():
                raise InputError(_WRONG.format(name, f"'{what}' has a number out of its range"))
        if self.spare and (array[..., -1] & ((1 << self.spare) - 1)).any():
            raise InputError(_WRONG.format(name, f"'{what}' has bits beyond its width"))


def packed_part(width: int) -> Part:
    """Return the layout of packed rows of `width` bits."""
    octets = octets_of(width)
    return Part(np.uint8, (octets,), spare=8 * octets - width)


def code_part(limit: int) -> Part:
    """Return the layout of integers from 0 to below a limit."""
    return Part(np.int32 if limit <= 2**31 else np.int64, (), (limit,))
