"""The contract of local mechanisms: randomising a value, guarantee and aggregation."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError, LawError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.dp.local.aggregate import Aggregate, ReportBlock, index_of, is_several
from veil.dp.local.hashing import text_hashes
from veil.dp.local.memoise import Memo
from veil.dp.local.packed import Array, Part

Value = str | int | float
Drawing = tuple[Array, Array | None]  # data, index

UNIT = "report"
ANY_TWO = "any two values of one report"
LIMIT = 2**20  # positions of a report
_BLOCK = 2**26  # bytes
_ROWS = 2**18


def local(epsilon: float, caveat: str = "") -> Guarantee:
    """Return the guarantee that one report is epsilon-locally differentially private."""
    return Guarantee("local-dp", epsilon, unit=UNIT, neighbours=ANY_TWO, caveat=caveat)


class Oracle(Component):
    """A local mechanism: turns one value of a person into one report.

    `takes` is the type of the values: texts, codes (integers from 0) or reals. If `memoises`, a
    key keeps some of the bits the same forever. All random bits come from `veil.dp.exact`.
    """

    family: ClassVar[str] = "Other"
    takes: ClassVar[Literal["texts", "codes", "reals"]]
    memoises: ClassVar[bool] = False
    changes: ClassVar[str] = ""  # sentence: what a change of a memoised answer reveals

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The proved guarantee of one report."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, Part | None]:
        """The layouts of the arrays `data` and `index` of reports."""

    @abstractmethod
    def check(self, values: object) -> Array:
        """Return values as an array that `draw` takes, or raise InputError."""

    @abstractmethod
    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw one report for each checked value."""

    @abstractmethod
    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Return an empty aggregate; some mechanisms need the checked candidates in advance."""

    def verify(self, data: Array, index: Array | None) -> None:
        """Raise InputError unless the arrays can be reports of this mechanism."""
        first, second = self.parts
        first.check(data, len(data), "data", self.name)
        if (second is None) != (index is None):
            raise InputError(f"These are not reports of {self.name}. Request them again.")
        if second is not None and index is not None:
            second.check(index, len(data), "index", self.name)

    @property
    def rows(self) -> int:
        """Number of reports drawn at a time; depends only on the parameters."""
        octets = sum(part.octets for part in self.parts if part is not None)
        return max(1, min(_ROWS, _BLOCK // octets))

    @property
    def domain(self) -> range | None:
        """All possible values, or None if they cannot be listed."""
        return None

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1 | true] and P[1 | false] of the bits that are counted."""
        raise LawError(f"{self.name} has no such probabilities in closed form.")

    def answers(self, values: int) -> int:
        """Return the maximum number of memoised answers of a person with so many distinct values.

        All reports of the person together cost epsilon per answer, for histories whose answers
        change at the same reports.
        """
        return values

    @property
    def published(self) -> float:
        """The epsilon that audits test."""
        return self.guarantee.epsilon

    @abstractmethod
    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return pairs of values for audits."""

    def codes(self, reports: ReportBlock, pair: tuple[Value, Value] | None = None) -> Ids:
        """Return reports as integers (n,), a sufficient statistic for telling the pair apart."""
        x = self.check(list(self.pairs()[0] if pair is None else pair))
        numbers = self._codes(reports.data, index_of(reports), x[:1], x[1:])
        return np.asarray(numbers, dtype=np.int64)

    @abstractmethod
    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        """Return integers (n,) for reports, given the two checked values, each (1, ...)."""


class TextOracle(Oracle):
    """A local mechanism for arbitrary texts, which it hashes."""

    takes: ClassVar[Literal["texts", "codes", "reals"]] = "texts"

    def check(self, values: object) -> Array:
        """Return the numbers of texts."""
        if not is_several(values):
            raise InputError("Values must be a list of strings, not a single string.")
        return text_hashes(cast("Iterable[str]", values))

    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return two words."""
        return (("yes", "no"),)


class CodeOracle(Oracle):
    """A local mechanism for codes 0..size-1."""

    takes: ClassVar[Literal["texts", "codes", "reals"]] = "codes"
    if TYPE_CHECKING:
        size: int  # parameter that every subclass declares

    @property
    def domain(self) -> range | None:
        """All codes."""
        return range(self.size) if self.size <= LIMIT else None

    def check(self, values: object) -> Array:
        """Return codes as 64-bit numbers."""
        codes = np.asarray(values)
        if codes.ndim != 1 or (codes.size and not np.issubdtype(codes.dtype, np.integer)):
            raise InputError(
                f"{self.name} takes codes: a list of integers, not booleans, strings or fractions."
            )
        if codes.size and not (int(codes.min()) >= 0 and int(codes.max()) < self.size):
            raise InputError(
                f"{self.name} takes codes from 0 to {self.size - 1:,}. A value is outside this"
                " range. Number the values from 0, or increase 'size'."
            )
        return codes.astype(np.int64)

    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return the first two codes."""
        return ((0, 1),)


def sigmoid(x: float) -> float:
    """Return 1/(1 + e^-x) without overflow; only for estimates, never for draws."""
    with np.errstate(over="ignore", under="ignore"):
        return float(1 / (1 + np.exp(-np.float64(x))))


def refuse_key(oracle: Oracle) -> None:
    """Raise ParameterError if the mechanism cannot memoise."""
    if not oracle.memoises:
        raise ParameterError(
            f"{oracle.name} cannot memoise reports. Remove the key, or use rappor, dbitflip or"
            " one_bit."
        )
