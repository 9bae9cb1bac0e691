"""What a collector keeps of reports: sums that grow with the oracle, and what they estimate."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.dp.local.packed import Array, column_sums

Candidate = str | int
_ERROR = 0.05  # of all candidates together


@dataclass(frozen=True, eq=False)
class Counts:
    """How many reports are of each candidate: unbiased, so that it may be below 0.

    Attributes
    ----------
    candidates
        Texts or codes, m of them.
    counts
        (m,) estimates.
    stderr
        (m,) standard errors, with collisions of hash functions where there are any.
    """

    candidates: tuple[Candidate, ...]
    counts: Floats
    stderr: Floats

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which candidates are there: one-sided, 5 % for all together (Bonferroni)."""
        return self.counts > bonferroni(len(self.candidates)) * self.stderr

    def __len__(self) -> int:
        return len(self.candidates)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "Counts":
        """Return some of the candidates, in that order."""
        at = np.asarray(rows, dtype=np.int64)
        chosen = tuple(self.candidates[row] for row in at)
        return Counts(chosen, self.counts[at], self.stderr[at])


@dataclass(frozen=True)
class Mean:
    """The mean of what was reported, and its standard error."""

    value: float
    stderr: float


def bonferroni(tests: int) -> float:
    """Return how many standard errors are significant when so many things are tested."""
    return NormalDist().inv_cdf(1 - _ERROR / max(1, tests))


def is_several(values: object) -> bool:
    """Tell whether there can be several things in it: one text and one number are one thing.

    >>> is_several(["a"]), is_several("a"), is_several(np.array(3))
    (True, False, False)
    """
    if isinstance(values, str | bytes):
        return False
    return values.ndim > 0 if isinstance(values, np.ndarray) else hasattr(values, "__iter__")


@contextmanager
def readable() -> Iterator[None]:
    """Refuse to estimate where an epsilon is so near to 0 that numbers have no room for it."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except ArithmeticError:
        raise InputError(
            "The parameters of these reports are so near to telling nothing that no estimate can"
            " be computed; report with a larger epsilon."
        ) from None


class Drawn(Protocol):
    """Reports, as an aggregate reads them."""

    @property
    def oracle(self) -> object:
        """Who made them."""
        ...

    @property
    def data(self) -> Array:
        """What was reported."""
        ...

    @property
    def index(self) -> Array | None:
        """What is public beside each report."""
        ...

    @property
    def overlap(self) -> float:
        """How many reports share their bits, as `veil.dp.local.reports.Reports` has it."""
        ...

    @property
    def n(self) -> int:
        """Number of reports."""
        ...


class Reader(Protocol):
    """The oracle of an aggregate: it reads candidates as it reads values."""

    @property
    def domain(self) -> Iterable[Candidate] | None:
        """All values, if they are known."""
        ...

    def check(self, values: object) -> Array:
        """Return values as an array."""
        ...


class Aggregate(ABC):
    """Adds up reports of one oracle, block by block; the order makes no difference."""

    def __init__(self, oracle: Reader) -> None:
        self.oracle = oracle
        self.n = 0
        self._shared = 0.0

    @property
    def overlap(self) -> float:
        """By how much variances grow because reports of a person share their bits."""
        return self._shared / self.n if self.n else 1.0

    def add(self, reports: Drawn) -> None:
        """Add reports of the same oracle."""
        if getattr(reports, "oracle", None) != self.oracle:
            raise InputError("Reports that are added up must be of one oracle, with the same"
                             " parameters.")  # fmt: skip
        self._add(reports.data, index_of(reports))
        self.n += reports.n
        self._shared += reports.n * reports.overlap

    @readable()
    def estimate(self, candidates: Iterable[Candidate] | None = None) -> Counts:
        """Estimate how many reports are of each candidate; of codes, all are candidates."""
        if not self.n:
            raise InputError("There must be at least one report; there is none.")
        given = list_candidates(self.oracle.domain if candidates is None else candidates)
        counts, variances = self._counts(self.oracle.check(given))
        stderr: Floats = np.sqrt(np.maximum(variances, 0.0) * self.overlap)
        return Counts(tuple(given), counts, stderr)

    def mean(self) -> Mean:
        """Estimate the mean of what was reported."""
        raise InputError("These reports are of texts or codes, which are counted: call estimate.")

    @abstractmethod
    def _add(self, data: Array, index: Array) -> None:
        """Add arrays."""

    @abstractmethod
    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        """Return estimates and their variances for candidates, read by the oracle."""


def index_of(reports: Drawn) -> Array:
    """Return what is public beside the reports; nothing is an array without columns."""
    return np.empty((reports.n, 0), dtype=np.int8) if reports.index is None else reports.index


def list_candidates(candidates: Iterable[Candidate] | None) -> list[Candidate]:
    """Return candidates as a list, or raise: there must be some, and all different."""
    if candidates is None:
        raise InputError(
            "Candidates must be named: which values there are is known of codes alone, up to"
            " 1,048,576 of them."
        )
    if not is_several(candidates):
        raise InputError("Candidates must be a list of texts or codes, not one text or number.")
    found = candidates.tolist() if isinstance(candidates, np.ndarray) else list(candidates)
    if not found:
        raise InputError("There must be at least one candidate; there is none.")
    try:
        several = len(set(found)) < len(found)
    except TypeError:
        raise InputError("Candidates must be texts or codes.") from None
    if several:
        raise InputError("A candidate stands there twice; leave it out once.")
    return found


def frequency(ones: Floats, n: float, hit: float, miss: float) -> tuple[Floats, Floats]:
    """Estimate counts of what is seen with probability `hit` if there, and `miss` if not."""
    counts = (ones - n * miss) / (hit - miss)
    there = np.clip(counts, 0.0, n)
    variances = there * hit * (1 - hit) + (n - there) * miss * (1 - miss)
    return counts, variances / (hit - miss) ** 2


class Tally(Aggregate):
    """How often each code was reported, seen with probability `hit` if true and else `miss`."""

    def __init__(self, oracle: Reader, size: int, hit: float, miss: float) -> None:
        super().__init__(oracle)
        self._hit, self._miss = hit, miss
        self._ones: Ids = np.zeros(size, dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        del index
        self._ones += np.bincount(data, minlength=len(self._ones))

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        ones = self._ones[targets].astype(np.float64)
        return frequency(ones, self.n, self._hit, self._miss)


class Columns(Tally):
    """The same, of reports with one bit for each code."""

    def _add(self, data: Array, index: Array) -> None:
        del index
        self._ones += column_sums(data, len(self._ones))
