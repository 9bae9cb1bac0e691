"""Rows of bits, packed eight to a byte as `numpy.packbits` has them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

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
