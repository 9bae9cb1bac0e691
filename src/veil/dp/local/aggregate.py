"""Aggregates of local reports: sums of a size fixed by the mechanism, and estimates."""

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
_ERROR = 0.05  # for all candidates together


@dataclass(frozen=True, eq=False)
class Counts:
    """Unbiased estimates of how many reports are of each candidate; they can be negative.

    Attributes
    ----------
    candidates
        m texts or codes.
    counts
        (m,) estimates.
    stderr
        (m,) standard errors, including hash collisions.
    """

    candidates: tuple[Candidate, ...]
    counts: Floats
    stderr: Floats

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which counts are above 0: one-sided, 5 % for all candidates together (Bonferroni)."""
        return self.counts > bonferroni(len(self.candidates)) * self.stderr

    def __len__(self) -> int:
        return len(self.candidates)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "Counts":
        """Return the candidates at these positions, in this order."""
        at = np.asarray(rows, dtype=np.int64)
        candidates = tuple(self.candidates[row] for row in at)
        return Counts(candidates, self.counts[at], self.stderr[at])


@dataclass(frozen=True)
class Mean:
    """An estimated mean of reported numbers, and its standard error."""

    value: float
    stderr: float


def bonferroni(tests: int) -> float:
    """Return the number of standard errors that is significant in one of `tests` tests."""
    return NormalDist().inv_cdf(1 - _ERROR / max(1, tests))


def is_several(values: object) -> bool:
    """Return whether the value is a collection; strings and scalars are not.

    >>> is_several(["a"]), is_several("a"), is_several(np.array(3))
    (True, False, False)
    """
    if isinstance(values, str | bytes):
        return False
    return values.ndim > 0 if isinstance(values, np.ndarray) else hasattr(values, "__iter__")


@contextmanager
def readable() -> Iterator[None]:
    """Raise InputError if an estimate overflows because epsilon is too close to 0."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except ArithmeticError:
        raise InputError(
            "These reports reveal too little to compute an estimate. Report with a larger epsilon."
        ) from None


class ReportBlock(Protocol):
    """Reports as an aggregate reads them."""

    @property
    def oracle(self) -> object:
        """The mechanism that made the reports."""
        ...

    @property
    def data(self) -> Array:
        """The reported values."""
        ...

    @property
    def index(self) -> Array | None:
        """Public data of each report, such as its hash function."""
        ...

    @property
    def overlap(self) -> float:
        """How many reports share their bits (see `veil.dp.local.reports.Reports`)."""
        ...

    @property
    def n(self) -> int:
        """Number of reports."""
        ...


class Reader(Protocol):
    """The mechanism of an aggregate: it encodes candidates like values."""

    @property
    def domain(self) -> Iterable[Candidate] | None:
        """All values, if they are known."""
        ...

    def check(self, values: object) -> Array:
        """Return values as an array."""
        ...


class Aggregate(ABC):
    """Sums reports of one mechanism, block by block; the order does not matter."""

    def __init__(self, oracle: Reader) -> None:
        self.oracle = oracle
        self.n = 0
        self._shared = 0.0

    @property
    def overlap(self) -> float:
        """Factor by which variances grow because reports of a person share their bits."""
        return self._shared / self.n if self.n else 1.0

    def add(self, reports: ReportBlock) -> None:
        """Add reports of the same mechanism."""
        if getattr(reports, "oracle", None) != self.oracle:
            raise InputError("All reports must come from the same mechanism with the same"
                             " parameters.")  # fmt: skip
        self._add(reports.data, index_of(reports))
        self.n += reports.n
        self._shared += reports.n * reports.overlap

    @readable()
    def estimate(self, candidates: Iterable[Candidate] | None = None) -> Counts:
        """Estimate how many reports are of each candidate; None for all codes."""
        if not self.n:
            raise InputError("At least one report is required.")
        listed = list_candidates(self.oracle.domain if candidates is None else candidates)
        counts, variances = self._counts(self.oracle.check(listed))
        stderr: Floats = np.sqrt(np.maximum(variances, 0.0) * self.overlap)
        return Counts(tuple(listed), counts, stderr)

    def mean(self) -> Mean:
        """Estimate the mean of the reported numbers."""
        raise InputError(
            "These reports are of texts or codes, which have counts and no mean. Call estimate."
        )

    @abstractmethod
    def _add(self, data: Array, index: Array) -> None:
        """Add the arrays of a block of reports."""

    @abstractmethod
    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        """Return estimates and their variances for encoded candidates."""


def index_of(reports: ReportBlock) -> Array:
    """Return the public data of the reports, or an array without columns."""
    return np.empty((reports.n, 0), dtype=np.int8) if reports.index is None else reports.index


def list_candidates(candidates: Iterable[Candidate] | None) -> list[Candidate]:
    """Return candidates as a list; raise unless there is at least one and all differ."""
    if candidates is None:
        raise InputError(
            "Candidates are required. Only codes, up to 1,048,576 of them, have a known list of"
            " values."
        )
    if not is_several(candidates):
        raise InputError("Candidates must be a list of texts or codes, not a single one.")
    listed = candidates.tolist() if isinstance(candidates, np.ndarray) else list(candidates)
    if not listed:
        raise InputError("At least one candidate is required.")
    try:
        repeated = len(set(listed)) < len(listed)
    except TypeError:
        raise InputError("Candidates must be texts or codes.") from None
    if repeated:
        raise InputError("Candidates must be distinct. Remove duplicates.")
    return listed


def frequency(observed: Floats, n: float, hit: float, miss: float) -> tuple[Floats, Floats]:
    """Estimate counts of bits that are 1 with probability `hit` if true, else `miss`."""
    counts = (observed - n * miss) / (hit - miss)
    present = np.clip(counts, 0.0, n)
    variances = present * hit * (1 - hit) + (n - present) * miss * (1 - miss)
    return counts, variances / (hit - miss) ** 2


class Tally(Aggregate):
    """Counts of codes, each reported with probability `hit` if true, else `miss`."""

    def __init__(self, oracle: Reader, size: int, hit: float, miss: float) -> None:
        super().__init__(oracle)
        self._hit, self._miss = hit, miss
        self._ones: Ids = np.zeros(size, dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        del index
        self._ones += np.bincount(data, minlength=len(self._ones))

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        observed = self._ones[targets].astype(np.float64)
        return frequency(observed, self.n, self._hit, self._miss)


class Columns(Tally):
    """Counts of codes in reports with one bit per code."""

    def _add(self, data: Array, index: Array) -> None:
        del index
        self._ones += column_sums(data, len(self._ones))
