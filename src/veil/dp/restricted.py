"""A database that answers sums, counts and maxima of any set exactly, or refuses.

This is how answers were restricted before noise: by the size of sets, by their overlap, and by
auditors, which refuse a query if its answer and the earlier ones determine a value.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, cast, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError, RefusedError
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.dp.inputs import count

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64] | NDArray[np.float64]
What = Literal["sum", "count", "max"]


class StatisticalDatabase:
    """Exact answers about sets of records, restricted as they were before noise.

    None of this is differential privacy: `veil.dp.attack` gets around size and overlap control,
    and auditing covers one statistic, exact disclosure, and no knowledge from elsewhere.

    Parameters
    ----------
    values
        (n,) one number per record.
    min_size
        Smallest size k of a set and of its complement: k <= size <= n - k. With 1 every non-empty
        set is answered, also the set of all records.
    max_overlap
        Largest number of records that two answered sets may share; None for any number.
    audit
        "sum", "max", "max-simulatable", or None. A database that audits one statistic refuses the
        other.

    Examples
    --------
    >>> pay = StatisticalDatabase([3, 5, 9], audit="sum")
    >>> pay.ask([True, True, True], "sum")
    17
    >>> pay.ask([0, 1, 2], "sum")
    17
    >>> pay.ask([True, True, False], "sum")
    Traceback (most recent call last):
    ...
    veil.core.errors.RefusedError: The query is not answered: a value could follow from it.
    """

    def __init__(
        self,
        values: object,
        min_size: int = 1,
        max_overlap: int | None = None,
        audit: str | None = None,
    ) -> None:
        self._values = numbers(values)
        self.n = len(self._values)
        self.min_size = count("min_size", min_size)
        if self.min_size > self.n:
            raise ParameterError(
                "The 'min_size' argument must be at most the number of records, or no set is large"
                " enough."
            )
        self.max_overlap = None if max_overlap is None else count("max_overlap", max_overlap, 0)
        self.audit = audit
        self._auditor = None if audit is None else _auditor(audit)(self.n, generator())
        self._answered = 0
        self._room: Mask = np.zeros((0, self.n), dtype=np.bool_)  # for sets that were asked about

    @property
    def asked(self) -> int:
        """How many queries were answered."""
        return self._answered

    @property
    def _asked(self) -> Mask:
        """The sets that were asked about; they are kept where overlaps are controlled."""
        return self._room[: self._answered]

    @property
    def caveat(self) -> str:
        """Limits of the restriction."""
        exact = "Answers are exact: nothing is differentially private."
        return exact if self._auditor is None else f"{exact} {self._auditor.caveat}"

    def ask(self, mask: object, what: str = "sum") -> int | float:
        """Return the sum, the count or the maximum of a set of records.

        Parameters
        ----------
        mask
            Which records are in the set: (n,) truth values, or the positions of its records from
            0, each once. So [0, 2] are the first and the third record of three or more; n numbers
            that are all 0 or 1 are truth values.
        what
            "sum", "count" or "max".

        Raises
        ------
        RefusedError
            If the set is too small or too large, shares too much with an earlier one, or if the
            auditor says so. A refused query changes nothing.
        """
        if what not in get_args(What):
            raise ParameterError("A database is asked for a 'sum', a 'count' or a 'max'.")
        chosen = mask_of(mask, self.n)
        self._check_size(int(chosen.sum()))
        self._check_overlap(chosen)
        answer = self._answer(chosen, cast(What, what))
        if self._auditor is not None and what != "count":  # the size of a set is no value
            _judge(self._auditor, chosen, what, answer)
        self._keep(chosen)
        return answer

    def _keep(self, chosen: Mask) -> None:
        """Remember a set where it is needed; room is doubled when there is none."""
        if self.max_overlap is not None:
            if self._answered == len(self._room):
                more = np.zeros((max(16, self._answered), self.n), dtype=np.bool_)
                self._room = np.concatenate([self._room, more])
            self._room[self._answered] = chosen
        self._answered += 1

    def _check_size(self, size: int) -> None:
        least = self.min_size
        if size < least:
            raise RefusedError(
                f"The query is not answered: its set has fewer than {least:,} records."
            )
        if least > 1 and size > self.n - least:
            raise RefusedError(
                f"The query is not answered: its set leaves fewer than {least:,} records out."
            )

    def _check_overlap(self, chosen: Mask) -> None:
        if self.max_overlap is None or not self.asked:
            return
        if int((self._asked & chosen).sum(axis=1).max()) > self.max_overlap:
            raise RefusedError(
                f"The query is not answered: its set shares more than {self.max_overlap:,} records"
                " with one that was asked before."
            )

    def _answer(self, chosen: Mask, what: What) -> int | float:
        if what == "count":
            return int(chosen.sum())
        members = self._values[chosen]
        return total(members) if what == "sum" else members.max().item()


def numbers(values: object) -> Numbers:
    """Return finite numbers (n,); whole ones and truth values stay whole."""
    given = np.asarray(values)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "biuf":
        raise InputError("The values must be numbers in one row, at least one.")
    if given.dtype.kind == "f":
        found = given.astype(np.float64)
        if not np.isfinite(found).all():
            raise InputError("The values must be finite numbers.")
        return found
    if given.dtype.kind == "u" and int(given.max()) > np.iinfo(np.int64).max:
        raise InputError("Whole values must fit into 64 bits.")
    return given.astype(np.int64)


def mask_of(chosen: object, n: int) -> Mask:
    """Return which of n records are in a set, as truth values (n,).

    A set is n truth values (or 0 and 1), or the positions of its records from 0, each once. Whole
    numbers are truth values where there are n of them and none is above 1.
    """
    given = np.asarray(sorted(chosen) if isinstance(chosen, set | frozenset) else chosen)
    if given.shape == (n,) and given.dtype.kind in "biu" and np.isin(given, (0, 1)).all():
        return given.astype(np.bool_)
    if given.shape == (0,):
        given = given.astype(np.int64)
    fine = given.ndim == 1 and given.dtype.kind in "iu"
    if fine and ((given >= 0) & (given < n)).all() and len(np.unique(given)) == len(given):
        mask: Mask = np.zeros(n, dtype=np.bool_)
        mask[given.astype(np.int64)] = True
        return mask
    raise InputError(
        f"A set must be {n:,} truth values, one for each record, or the positions of its records:"
        f" whole numbers from 0 to {n - 1:,}, each once."
    )


def total(values: Numbers) -> int | float:
    """Add up numbers: whole ones exactly, others rounded once."""
    listed: list[int | float] = values.tolist()
    return sum(listed) if values.dtype.kind == "i" else math.fsum(listed)


class Auditor(ABC):
    """Decides whether a query is answered, so that the answers together fix no value.

    Attributes
    ----------
    what
        The statistic that it can judge; others are refused.
    simulatable
        Whether it decides by earlier queries and answers only. The caller could then decide as
        well, and a denial reveals nothing. Any other auditor gets the answer, and its denials
        leak.
    caveat
        What its answers may still disclose.
    """

    what: ClassVar[str]
    simulatable: ClassVar[bool] = True
    caveat: ClassVar[str] = ""

    def __init__(self, n: int, rng: Generator) -> None:
        del n, rng

    @abstractmethod
    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Decide; `answer` is None if the auditor is simulatable."""

    @abstractmethod
    def keep(self, mask: Mask, answer: float) -> None:
        """Remember a query that is answered."""


def _judge(auditor: Auditor, chosen: Mask, what: str, answer: float) -> None:
    """Let the auditor decide; a simulatable one does not get the answer."""
    if what != auditor.what:
        raise RefusedError(
            f"The query is not answered: the auditor judges a {auditor.what}, and no {what}."
        )
    if not auditor.allows(chosen, None if auditor.simulatable else answer):
        raise RefusedError("The query is not answered: a value could follow from it.")
    auditor.keep(chosen, answer)


def _auditor(name: str) -> type[Auditor]:
    if not isinstance(name, str) or name not in AUDITS:
        raise ParameterError(f"The audit must be one of {', '.join(AUDITS)}, or None.")
    return AUDITS[name]


class Maxima:
    """Sets with their maxima.

    Each value is at most the least answer of the sets that hold it. A set is consistent when some
    member may reach its answer, and discloses a value when exactly one may.
    """

    def __init__(self, n: int) -> None:
        self.sets: Mask = np.zeros((0, n), dtype=np.bool_)
        self.answers: Floats = np.zeros(0)

    def add(self, mask: Mask, answer: float) -> None:
        """Add a set with its maximum."""
        self.sets = np.concatenate([self.sets, mask[None]])
        self.answers = np.append(self.answers, answer)

    def bounds(self) -> Floats:
        """Return what each value is at most (n,), infinity where nothing is known."""
        limits = np.where(self.sets, self.answers[:, None], np.inf)
        return np.asarray(limits.min(axis=0, initial=np.inf))

    def possible(self) -> Sequence[float]:
        """Return answers that stand for all: each past one, one in every gap, one beyond each end.

        Only their order matters, and it is that of `ranked`.
        """
        return [float(place) for place in range(2 * len(np.unique(self.answers)) + 1)]

    def ranked(self) -> "Maxima":
        """Return the same with answers replaced by odd numbers in their order: gaps are even."""
        made = Maxima(self.sets.shape[1])
        made.sets = self.sets
        places = np.unique(self.answers, return_inverse=True)[1].reshape(-1)
        made.answers = (2 * places + 1).astype(np.float64)
        return made

    def judged(self, mask: Mask, answer: float) -> tuple[bool, bool]:
        """Tell whether one more answer is consistent, and whether it would disclose a value."""
        bounds = np.where(mask, np.minimum(self.bounds(), answer), self.bounds())
        sets = np.concatenate([self.sets, mask[None]])
        answers = np.append(self.answers, answer)
        reaching = np.count_nonzero(sets & (bounds[None] == answers[:, None]), axis=1)
        return bool((reaching > 0).all()), bool((reaching == 1).any())


class Max(Auditor):
    """Refuse a maximum when its true answer would determine some value.

    Nothing follows from the answers, but a denial depends on the truth, and reveals it: if the
    maximum of a, b and c is 9, and that of a and b is refused, c is 9.

    References
    ----------
    Kenthapadi, Mishra, Nissim. Simulatable Auditing. PODS 2005.
    doi:10.1145/1065167.1065183
    """

    what: ClassVar[str] = "max"
    simulatable: ClassVar[bool] = False
    caveat: ClassVar[str] = "Denials are decided by the true answer, and disclose values."

    def __init__(self, n: int, rng: Generator) -> None:
        del rng
        self._known = Maxima(n)

    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Judge the true answer."""
        if answer is None:
            return False
        return not self._known.judged(mask, answer)[1]

    def keep(self, mask: Mask, answer: float) -> None:
        """Remember the set and its maximum."""
        self._known.add(mask, answer)


class MaxSimulatable(Auditor):
    """Refuse a maximum when some answer that is consistent would determine a value.

    Every past answer, a point in each gap between them, and one beyond each end are tried: all
    others are like one of these. Who asks can do the same.

    References
    ----------
    Kenthapadi, Mishra, Nissim. Simulatable Auditing. PODS 2005.
    doi:10.1145/1065167.1065183
    """

    what: ClassVar[str] = "max"
    caveat: ClassVar[str] = (
        "That no value is fixed is all that is kept: what a value is at most is told."
    )

    def __init__(self, n: int, rng: Generator) -> None:
        del rng
        self._known = Maxima(n)

    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Try all answers that could be."""
        del answer
        known = self._known.ranked()
        tried = (known.judged(mask, place) for place in known.possible())
        return not any(consistent and fixed for consistent, fixed in tried)

    def keep(self, mask: Mask, answer: float) -> None:
        """Remember the set and its maximum."""
        self._known.add(mask, answer)


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


AUDITS: Mapping[str, type[Auditor]] = {"max": Max, "max-simulatable": MaxSimulatable, "sum": Sums}


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
        return minus(row, modular_total(used, self.prime), self.prime)

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


def modular_total(parts: Words, prime: int) -> Words:
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
