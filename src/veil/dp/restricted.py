"""A database with exact answers to sums, counts and maxima of sets, or refusals.

Answers were restricted like this before noise was used: by the size of sets, by their overlap, and
by auditors that refuse a query if its answer and the earlier ones determine a value.
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
    """Exact answers about sets of records, with classical restrictions.

    None of this is differential privacy: `veil.dp.attack` defeats size and overlap control, and
    auditing covers only one statistic and exact disclosure, without outside knowledge.

    Parameters
    ----------
    values
        One number per record (n,).
    min_size
        Smallest size k of a set and of its complement: k <= size <= n - k. With 1, every non-empty
        set is answered, including the set of all records.
    max_overlap
        Largest number of records that two answered sets may share; None for any number.
    audit
        "sum", "max", "max-simulatable", or None. An auditor of one statistic refuses the other.

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
                "The 'min_size' argument must be at most the number of records. Otherwise no set"
                " is large enough."
            )
        self.max_overlap = None if max_overlap is None else count("max_overlap", max_overlap, 0)
        self.audit = audit
        self._auditor = None if audit is None else _auditor(audit)(self.n, generator())
        self._answered = 0
        self._room: Mask = np.zeros((0, self.n), dtype=np.bool_)  # capacity for answered sets

    @property
    def asked(self) -> int:
        """Number of answered queries."""
        return self._answered

    @property
    def _answered_sets(self) -> Mask:
        """The answered sets, stored only if overlaps are controlled."""
        return self._room[: self._answered]

    @property
    def caveat(self) -> str:
        """Limits of the restriction."""
        exact = "Answers are exact: nothing is differentially private."
        return exact if self._auditor is None else f"{exact} {self._auditor.caveat}"

    def ask(self, mask: object, what: str = "sum") -> int | float:
        """Return the sum, count or maximum of a set of records.

        Parameters
        ----------
        mask
            The set: (n,) booleans, or the distinct positions of its records from 0. For example,
            [0, 2] is the first and third record. n numbers that are all 0 or 1 are read as
            booleans.
        what
            "sum", "count" or "max".

        Raises
        ------
        RefusedError
            If the set is too small, too large, or overlaps too much with an earlier one, or if the
            auditor refuses. A refused query changes nothing.
        """
        if what not in get_args(What):
            raise ParameterError("The 'what' argument must be 'sum', 'count' or 'max'.")
        members = mask_of(mask, self.n)
        self._check_size(int(members.sum()))
        self._check_overlap(members)
        answer = self._answer(members, cast(What, what))
        if self._auditor is not None and what != "count":  # the size of a set is not a secret
            _judge(self._auditor, members, what, answer)
        self._keep(members)
        return answer

    def _keep(self, mask: Mask) -> None:
        """Store a set if overlaps are controlled, doubling the capacity as needed."""
        if self.max_overlap is not None:
            if self._answered == len(self._room):
                more = np.zeros((max(16, self._answered), self.n), dtype=np.bool_)
                self._room = np.concatenate([self._room, more])
            self._room[self._answered] = mask
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

    def _check_overlap(self, mask: Mask) -> None:
        if self.max_overlap is None or not self.asked:
            return
        if int((self._answered_sets & mask).sum(axis=1).max()) > self.max_overlap:
            raise RefusedError(
                f"The query is not answered: its set shares more than {self.max_overlap:,} records"
                " with an earlier one."
            )

    def _answer(self, mask: Mask, what: What) -> int | float:
        if what == "count":
            return int(mask.sum())
        members = self._values[mask]
        return total(members) if what == "sum" else members.max().item()


def numbers(values: object) -> Numbers:
    """Return finite numbers (n,); integers and booleans become integers."""
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "biuf":
        raise InputError("The values must be a non-empty list of numbers.")
    if array.dtype.kind == "f":
        floats = array.astype(np.float64)
        if not np.isfinite(floats).all():
            raise InputError("The values must be finite numbers.")
        return floats
    if array.dtype.kind == "u" and int(array.max()) > np.iinfo(np.int64).max:
        raise InputError("Integer values must fit into 64 bits.")
    return array.astype(np.int64)


def mask_of(records: object, n: int) -> Mask:
    """Return which of n records are in a set, as booleans (n,).

    A set is n booleans (or 0 and 1), or the distinct positions of its records from 0. n integers
    that are all 0 or 1 are read as booleans.
    """
    array = np.asarray(sorted(records) if isinstance(records, set | frozenset) else records)
    if array.shape == (n,) and array.dtype.kind in "biu" and np.isin(array, (0, 1)).all():
        return array.astype(np.bool_)
    if array.shape == (0,):
        array = array.astype(np.int64)
    fine = array.ndim == 1 and array.dtype.kind in "iu"
    if fine and ((array >= 0) & (array < n)).all() and len(np.unique(array)) == len(array):
        mask: Mask = np.zeros(n, dtype=np.bool_)
        mask[array.astype(np.int64)] = True
        return mask
    raise InputError(
        f"A set must be {n:,} booleans, one per record, or the positions of its records: distinct"
        f" integers from 0 to {n - 1:,}."
    )


def total(values: Numbers) -> int | float:
    """Return the sum: exact for integers, rounded once for floats."""
    listed: list[int | float] = values.tolist()
    return sum(listed) if values.dtype.kind == "i" else math.fsum(listed)


class Auditor(ABC):
    """Decides whether to answer a query, so that all answers together determine no value.

    Attributes
    ----------
    what
        The statistic that it audits; others are refused.
    simulatable
        Whether it decides only from earlier queries and answers. The caller could then compute
        the decision, and a denial reveals nothing. Any other auditor sees the true answer, and its
        denials leak.
    caveat
        What answers may still disclose.
    """

    what: ClassVar[str]
    simulatable: ClassVar[bool] = True
    caveat: ClassVar[str] = ""

    def __init__(self, n: int, rng: Generator) -> None:
        del n, rng

    @abstractmethod
    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Return whether to answer; `answer` is None if the auditor is simulatable."""

    @abstractmethod
    def keep(self, mask: Mask, answer: float) -> None:
        """Record an answered query."""


def _judge(auditor: Auditor, mask: Mask, what: str, answer: float) -> None:
    """Raise RefusedError if the auditor refuses; a simulatable one does not get the answer."""
    if what != auditor.what:
        raise RefusedError(
            f"The query is not answered: the auditor supports '{auditor.what}', not '{what}'."
        )
    if not auditor.allows(mask, None if auditor.simulatable else answer):
        raise RefusedError("The query is not answered: a value could follow from it.")
    auditor.keep(mask, answer)


def _auditor(name: str) -> type[Auditor]:
    if not isinstance(name, str) or name not in AUDITS:
        raise ParameterError(f"The audit must be one of {', '.join(AUDITS)}, or None.")
    return AUDITS[name]


class Maxima:
    """Sets with their maxima.

    Each value is at most the smallest answer of the sets that contain it. A set is consistent if
    some member can equal its answer, and discloses a value if exactly one can.
    """

    def __init__(self, n: int) -> None:
        self.sets: Mask = np.zeros((0, n), dtype=np.bool_)
        self.answers: Floats = np.zeros(0)

    def add(self, mask: Mask, answer: float) -> None:
        """Add a set with its maximum."""
        self.sets = np.concatenate([self.sets, mask[None]])
        self.answers = np.append(self.answers, answer)

    def bounds(self) -> Floats:
        """Return an upper bound of each value (n,), infinity if unknown."""
        limits = np.where(self.sets, self.answers[:, None], np.inf)
        return np.asarray(limits.min(axis=0, initial=np.inf))

    def possible(self) -> Sequence[float]:
        """Return representatives of all answers: past ones, one per gap, one beyond each end.

        Only their order matters, which is that of `ranked`.
        """
        return [float(place) for place in range(2 * len(np.unique(self.answers)) + 1)]

    def ranked(self) -> "Maxima":
        """Return a copy whose answers are odd numbers in the same order; even numbers are gaps."""
        result = Maxima(self.sets.shape[1])
        result.sets = self.sets
        places = np.unique(self.answers, return_inverse=True)[1].reshape(-1)
        result.answers = (2 * places + 1).astype(np.float64)
        return result

    def judged(self, mask: Mask, answer: float) -> tuple[bool, bool]:
        """Return whether a new answer is consistent, and whether it would disclose a value."""
        bounds = np.where(mask, np.minimum(self.bounds(), answer), self.bounds())
        sets = np.concatenate([self.sets, mask[None]])
        answers = np.append(self.answers, answer)
        reaching = np.count_nonzero(sets & (bounds[None] == answers[:, None]), axis=1)
        return bool((reaching > 0).all()), bool((reaching == 1).any())


class Max(Auditor):
    """Refuse a maximum when its true answer would determine some value.

    No value follows from the answers, but a denial depends on the true answer and reveals it: if
    the maximum of a, b and c is 9, and that of a and b is refused, then c is 9.

    References
    ----------
    Kenthapadi, Mishra, Nissim. Simulatable Auditing. PODS 2005.
    doi:10.1145/1065167.1065183
    """

    what: ClassVar[str] = "max"
    simulatable: ClassVar[bool] = False
    caveat: ClassVar[str] = "Denials depend on the true answer, and disclose values."

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
    """Refuse a maximum when some consistent answer would determine a value.

    It tries every past answer, a point in each gap between them, and one beyond each end; any
    other answer is equivalent to one of these. The caller can compute the same.

    References
    ----------
    Kenthapadi, Mishra, Nissim. Simulatable Auditing. PODS 2005.
    doi:10.1145/1065167.1065183
    """

    what: ClassVar[str] = "max"
    caveat: ClassVar[str] = (
        "It only prevents exact disclosure: answers reveal upper bounds of values."
    )

    def __init__(self, n: int, rng: Generator) -> None:
        del rng
        self._known = Maxima(n)

    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Try all answers that could be."""
        del answer
        maxima = self._known.ranked()
        tried = (maxima.judged(mask, place) for place in maxima.possible())
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
    The combination is computed modulo primes. Modulo 2^61 - 1 only, an attacker who knows the
    prime can find 183 queries that are answered and determine every value, since 2^61 is 1 there
    (see the tests). Each database therefore also draws a secret 31-bit prime, and refuses a query
    if either prime does. Of the 5e7 such primes, at most a few hundred could miss a disclosure in
    a thousand queries.
    """

    what: ClassVar[str] = "sum"
    caveat: ClassVar[str] = (
        "Values are assumed to be arbitrary real numbers. If they are known to be bounded, such as"
        " 0 or 1, a sum at the end of its range still reveals all values of its set."
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
        """Store the rows of the query that was checked last."""
        del mask, answer
        self._kept = self._next


AUDITS: Mapping[str, type[Auditor]] = {"max": Max, "max-simulatable": MaxSimulatable, "sum": Sums}


MERSENNE = 2**61 - 1
_SMALL = 2**31  # primes below it have 64-bit products
_BLOCK = 16  # rows at a time, to fit in the cache

Words = NDArray[np.uint64]


class Rows:
    """The reduced row echelon form of 0/1 rows modulo a prime; rows are added one by one."""

    def __init__(self, n: int, prime: int) -> None:
        self.prime = prime
        self._rows: Words = np.zeros((0, n), dtype=np.uint64)
        self._pivots: Ids = np.zeros(0, dtype=np.int64)

    @property
    def rank(self) -> int:
        """Number of linearly independent rows."""
        return len(self._rows)

    def added(self, mask: NDArray[np.bool_]) -> "Rows":
        """Return the rows plus one; `self` is unchanged."""
        rest = self._reduced(mask.astype(np.uint64))
        nonzero = np.flatnonzero(rest)
        if not len(nonzero):
            return self
        result, pivot = Rows(len(rest), self.prime), int(nonzero[0])
        own = times(rest, np.uint64(pow(int(rest[pivot]), -1, self.prime)), self.prime)
        result._rows = np.empty((self.rank + 1, len(rest)), dtype=np.uint64)
        result._rows[-1] = own
        for start in range(0, self.rank, _BLOCK):
            block = self._rows[start : start + _BLOCK]
            parts = times(block[:, [pivot]], own[None], self.prime)
            result._rows[start : start + len(block)] = minus(block, parts, self.prime)
        result._pivots = np.append(self._pivots, pivot)
        return result

    def _reduced(self, row: Words) -> Words:
        """Return the row minus the rows whose pivots it contains.

        Only a row itself has a 1 at its pivot, and a 0/1 row contains each pivot at most once.
        """
        used = self._rows[row[self._pivots] > 0]
        return minus(row, modular_total(used, self.prime), self.prime)

    @property
    def disclosing(self) -> bool:
        """Whether a unit vector is a combination of the rows.

        It is then one of the rows, because its entries at the pivots are the coefficients.
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
    # as 2^61 is 1, a1 b1 2^62 is 2 a1 b1, and the upper part of the middle shifts down by 61 - 31
    whole = np.uint64(2) * (a1 * b1) + a0 * b0  # below 2^61 + 2^62
    whole += middle >> half
    whole += (middle & np.uint64(2**30 - 1)) << high  # below 2^61: all fits into 64 bits
    return _folded(whole)


def _folded(x: Words) -> Words:
    """Reduce 64-bit numbers modulo 2^61 - 1."""
    prime = np.uint64(MERSENNE)
    x = (x & prime) + (x >> np.uint64(61))  # at most the prime + 7
    least: Words = np.minimum(x, x - prime)  # negative results wrap around to large ones
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
    difference = a - b  # negative results wrap around; adding the prime corrects them
    least: Words = np.minimum(difference, difference + np.uint64(prime))
    return least


def secret_prime(rng: Generator) -> int:
    """Draw a random 31-bit prime, which an attacker cannot know."""
    while True:
        candidate = int(rng.integers(2**30, 2**31)) | 1
        if _prime(candidate):
            return candidate


def _prime(number: int) -> bool:
    """Return whether an odd 31-bit number is prime (Miller-Rabin, exact below 3.2e9)."""
    odd, shifts = number - 1, 0
    while odd % 2 == 0:
        odd, shifts = odd // 2, shifts + 1
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        if not any(pow(power, 2**turn, number) == number - 1 for turn in range(1, shifts)):
            return False
    return True
