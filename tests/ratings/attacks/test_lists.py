"""New likes from public lists of related items."""

import numpy as np
import pytest
from tests.ratings.taste import people

from veil import ratings
from veil.core.errors import InputError
from veil.ratings.attacks.lists import count_rises

DATA = people(200, 80, 16)


def test_what_rose_or_entered_is_counted() -> None:
    before = np.array([[1, 2, 3], [0, 2, -1]])
    after = np.array([[2, 1, 4], [0, 2, 3]])
    assert count_rises(before, after, np.array([0]), 5).tolist() == [0, 0, 1, 0, 1]
    assert count_rises(before, after, np.array([1]), 5).tolist() == [0, 0, 0, 1, 0]
    assert count_rises(before, after, np.array([0, 1]), 5).tolist() == [0, 0, 1, 1, 1]
    assert not count_rises(after, after, np.array([0, 1]), 5).any()


def test_who_knows_more_finds_the_new_item() -> None:
    few, many = (
        ratings.attack("itemknn(k=10)", DATA, f"lists(known={n}, background=0)", rng=2)
        for n in (1, 8)
    )
    assert many.details["within ten"] > few.details["within ten"]
    assert many.baseline is not None
    assert many.success > many.baseline
    assert many.ranks is not None
    assert many.candidates is not None
    assert many.candidates[0] == DATA.m - 8
    assert (many.ranks <= many.candidates).all()


def test_what_has_no_lists_is_refused() -> None:
    with pytest.raises(InputError, match="lists of related items"):
        ratings.attack("pseudonyms", DATA, "lists", rng=0)
    with pytest.raises(InputError, match="Use itemknn"):
        ratings.attack("popularity", DATA, "lists(known=3)", rng=0)
    with pytest.raises(InputError, match="No user likes more than 90"):
        ratings.attack("itemknn(k=10)", DATA, "lists(known=90)", rng=0)
