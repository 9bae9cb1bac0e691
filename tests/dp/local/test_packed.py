"""Packed rows are what NumPy unpacks."""

import numpy as np
import pytest
from numpy.random import Generator

from veil.dp.local.packed import bits_at, column_sums, flip_bits, group_sums, write_bits


@pytest.mark.parametrize("width", [1, 8, 13, 600])
def test_bits_are_read_flipped_and_written(width: int, rng: Generator) -> None:
    bits = rng.integers(0, 2, (50, width)).astype(np.uint8)
    packed, rows = np.packbits(bits, axis=1), np.arange(50)
    places = rng.integers(0, width, 50)
    assert (bits_at(packed, places) == bits[rows, places]).all()
    flip_bits(packed, places)
    bits[rows, places] ^= 1
    assert (packed == np.packbits(bits, axis=1)).all()
    flags = rng.integers(0, 2, 50).astype(np.bool_)
    write_bits(packed, places, flags)
    bits[rows, places] = flags
    assert (packed == np.packbits(bits, axis=1)).all()


@pytest.mark.parametrize("rows", [0, 1, 254, 255, 256, 9_000])
def test_sums_hold_at_any_number_of_rows(rows: int) -> None:
    bits = np.ones((rows, 11), dtype=np.uint8)
    bits[:, 3] = 0
    packed = np.packbits(bits, axis=1)
    assert column_sums(packed, 11).tolist() == bits.sum(axis=0).tolist()


def test_sums_of_groups(rng: Generator) -> None:
    bits = rng.integers(0, 2, (1_000, 21)).astype(np.uint8)
    groups = rng.integers(0, 5, 1_000)
    groups[groups == 2] = 4  # an empty one
    found = group_sums(np.packbits(bits, axis=1), groups, 6, 21)
    for group in range(6):
        assert (found[group] == bits[groups == group].sum(axis=0)).all()
