"""Elimination modulo a prime: which sums follow from the sums that were asked."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.types import Ids

MERSENNE = 2**61 - 1
_SMALL = 2**31  # below it a product fits into 64 bits
_BLOCK = 16  # rows at a time, which stay in the cache

Words = NDArray[np.uint64]


class Rows:
    """The reduced row echelon form of 0/1 rows modulo a prime; rows are added one by one."""

    def __init__(self, n: int, prime: int) -> None:
        self.prime = prime
        self._rows: Words = np.zeros((0, n), dtype=np.uint64)
        self._pivots: Ids = np.zeros(0, dtype=np.int64)

    @property
    def rank(self) -> int:
        """How many rows do not follow from others."""
        return len(self._rows)

    def added(self, mask: NDArray[np.bool_]) -> "Rows":
        """Return the rows with one more; these stay as they are."""
        rest = self._reduced(mask.astype(np.uint64))
        there = np.flatnonzero(rest)
        if not len(there):
            return self
        made, pivot = Rows(len(rest), self.prime), int(there[0])
        own = times(rest, np.uint64(pow(int(rest[pivot]), -1, self.prime)), self.prime)
        made._rows = np.empty((self.rank + 1, len(rest)), dtype=np.uint64)
        made._rows[-1] = own
        for start in range(0, self.rank, _BLOCK):
            block = self._rows[start : start + _BLOCK]
            parts = times(block[:, [pivot]], own[None], self.prime)
            made._rows[start : start + len(block)] = minus(block, parts, self.prime)
        made._pivots = np.append(self._pivots, pivot)
        return made

    def _reduced(self, row: Words) -> Words:
        """Take away what follows from other rows: each has a 1 at its own pivot alone.

        A row of 0 and 1 has each of them once, or not at all.
        """
        used = self._rows[row[self._pivots] > 0]
        return minus(row, total(used, self.prime), self.prime)

    @property
    def disclosing(self) -> bool:
        """Whether a unit vector follows from the rows.

        It is one of them then: its entries at the pivots say how often each row is in it.
        """
        return bool((np.count_nonzero(self._rows, axis=1) == 1).any())


def times(a: Words, b: Words | np.uint64, prime: int) -> Words:
    """Multiply modulo 2^61 - 1, or a prime below 2^31.

    >>> int(times(np.array([2**60 + 5], dtype=np.uint64), np.uint64(2**59 + 3), MERSENNE)[0])
    2017612633061982225
    """
    if prime < _SMALL:
        return a * b % np.uint64(prime)
    low, high = np.uint64(2**31 - 1), np.uint64(31)
    a1, a0, b1, b0 = a >> high, a & low, b >> high, b & low
    middle = a1 * b0 + a0 * b1  # below 2^62; 2^31 of them make a product
    half = np.uint64(30)
    # 2^61 is 1: a1 b1 2^62 is twice a1 b1, and the upper part of the middle moves down by 61 - 31
    whole = np.uint64(2) * (a1 * b1) + a0 * b0  # below 2^61 + 2^62
    whole += middle >> half
    whole += (middle & np.uint64(2**30 - 1)) << high  # below 2^61: all fits into 64 bits
    return _folded(whole)


def _folded(x: Words) -> Words:
    """Return numbers of 64 bits modulo 2^61 - 1."""
    prime = np.uint64(MERSENNE)
    x = (x & prime) + (x >> np.uint64(61))  # at most the prime + 7
    least: Words = np.minimum(x, x - prime)  # what is below 0 comes out very large
    return least


def total(parts: Words, prime: int) -> Words:
    """Add rows (r, n) modulo a prime."""
    low = (parts & np.uint64(2**31 - 1)).sum(axis=0, dtype=np.uint64)
    high = (parts >> np.uint64(31)).sum(axis=0, dtype=np.uint64)  # of 30 bits each
    if prime < _SMALL:
        return np.asarray(low % np.uint64(prime))
    return _folded(_folded(low) + times(_folded(high), np.uint64(2**31), prime))


def minus(a: Words, b: Words, prime: int) -> Words:
    """Subtract modulo a prime."""
    apart = a - b  # what is below 0 comes out very large, and with the prime added it is right
    least: Words = np.minimum(apart, apart + np.uint64(prime))
    return least


def secret_prime(rng: Generator) -> int:
    """Draw a prime of 31 bits, which nobody can aim at."""
    while True:
        found = int(rng.integers(2**30, 2**31)) | 1
        if _prime(found):
            return found


def _prime(number: int) -> bool:
    """Tell whether an odd number of 31 bits is prime: Miller and Rabin, exact below 3.2e9."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        if not any(pow(power, 2**turn, number) == number - 1 for turn in range(1, twos)):
            return False
    return True
