"""The cache is bounded in bytes, not in entries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from veil.data.memo import Memo

Array = NDArray[np.float64]


def test_oldest_entry_leaves_first_and_use_makes_young() -> None:
    memo = Memo(limit=24)
    for key in "abc":
        memo.put(key, np.zeros(1))
    assert memo.get("a", np.ndarray) is not None
    memo.put("d", np.zeros(1))
    assert [key in memo for key in "abcd"] == [True, False, True, True]


def test_entry_larger_than_the_bound_is_never_held() -> None:
    memo = Memo(limit=16)
    memo.put("a", np.zeros(1))
    memo.put("big", np.zeros(3))
    assert "big" not in memo
    assert "a" in memo
    memo.put("a", np.zeros(3))  # the old value would be wrong
    assert "a" not in memo
    assert memo.nbytes == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), max_size=40))
def test_bytes_are_counted_and_bounded(puts: list[tuple[int, int]]) -> None:
    memo = Memo(limit=64)
    held: dict[int, Array] = {}
    for key, size in puts:
        held[key] = np.zeros(size)
        memo.put(key, held[key])
        kept = [each for each in held if each in memo]
        assert memo.nbytes == sum(held[each].nbytes for each in kept) <= 64
        for each in kept:
            assert memo.get(each, np.ndarray) is held[each]
