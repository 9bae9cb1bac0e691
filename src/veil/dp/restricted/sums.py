"""Audit sums: refuse when a value would follow from the sums, by linear algebra."""

from typing import ClassVar

from numpy.random import Generator

from veil.dp.restricted.auditor import Auditor, Mask
from veil.dp.restricted.elimination import MERSENNE, Rows, secret_prime


class Sums(Auditor):
    """Refuse a sum when the sums so far and this one would determine some value.

    A value is determined by sums exactly when its unit vector is a combination of the asked 0/1
    vectors. Answers play no part: the decision is simulatable.

    References
    ----------
    Chin, Ozsoyoglu. Auditing and Inference Control in Statistical Databases. IEEE Transactions on
    Software Engineering 8(6), 1982. doi:10.1109/TSE.1982.236161
    Kenthapadi, Mishra, Nissim. Simulatable Auditing. PODS 2005. doi:10.1145/1065167.1065183

    Notes
    -----
    The combination is sought modulo primes. Modulo 2^61 - 1 alone an attacker who knows that finds
    183 queries that it answers and that determine every value, since 2^61 is 1 there (see the
    tests). A second prime of 31 bits is therefore drawn for each database, and kept: one query is
    refused if either says so. Of the 5e7 such primes at most a few hundred could hide anything in
    a thousand queries.
    """

    what: ClassVar[str] = "sum"
    caveat: ClassVar[str] = (
        "Values are taken for any real numbers: where they are known to be bounded, as 0 or 1, a"
        " sum at the end of its range still tells all values of its set."
    )

    def __init__(self, n: int, rng: Generator) -> None:
        self._kept = tuple(Rows(n, prime) for prime in (MERSENNE, secret_prime(rng)))
        self._next = self._kept

    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Look for a unit vector among the combinations."""
        del answer
        self._next = tuple(rows.added(mask) for rows in self._kept)
        return not any(rows.disclosing for rows in self._next)

    def keep(self, mask: Mask, answer: float) -> None:
        """Remember the rows of the query that was judged last."""
        del mask, answer
        self._kept = self._next
