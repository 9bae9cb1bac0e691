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
_BLOCK = 2**22  # bits that are unpacked at a time
_FULL = 255  # ones that a byte can count


def octets_of(width: int) -> int:
    """Return how many bytes a row of so many bits takes."""
    return -(-width // 8)


def flip_bits(packed: Octets, places: Ids, flags: Flags | None = None) -> None:
    """Flip one bit of each row, at its place (n,), or only where a flag is set."""
    masks = np.right_shift(128, places & 7).astype(np.uint8)
    packed[np.arange(len(packed)), places >> 3] ^= masks if flags is None else masks * flags


def write_bits(packed: Octets, places: Ids, flags: Flags) -> None:
    """Set one bit of each row, at its place (n,), to a flag (n,)."""
    flip_bits(packed, places, bits_at(packed, places) != flags)


def bits_at(packed: Octets, places: Ids) -> Flags:
    """Return one bit of each row, at its place (n,)."""
    found = packed[np.arange(len(packed)), places >> 3]
    flags: Flags = (found >> (7 - (places & 7)).astype(np.uint8)) & 1 == 1
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
    """Count the ones in each column of the rows of each group: (count, width)."""
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
_WRONG = "The reports are not those of {}: {}; ask for them again."


@dataclass(frozen=True)
class Part:
    """An array (n, *shape) of one type, whose columns are from 0 to below their `limits`.

    `spare` is how many bits at the end of a packed row say nothing, and are 0.
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
        """Raise unless an array is what it must be."""
        if array.dtype != self.dtype or array.shape != (n, *self.shape):
            raise InputError(_WRONG.format(name, f"'{what}' has another type or shape"))
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
    """Return rows of packed bits."""
    octets = octets_of(width)
    return Part(np.uint8, (octets,), spare=8 * octets - width)


def code_part(limit: int) -> Part:
    """Return whole numbers from 0 to below a limit."""
    return Part(np.int32 if limit <= 2**31 else np.int64, (), (limit,))
