"""What every oracle declares: how it randomises a value, what is proved, and how it is read."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError, LawError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.dp.local.aggregate import Aggregate, Drawn, index_of, is_several
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
    """Return that one report is epsilon-locally differentially private."""
    return Guarantee("local-dp", epsilon, unit=UNIT, neighbours=ANY_TWO, caveat=caveat)


class Oracle(Component):
    """Turns one value of a person into one report.

    `takes` says what values are: texts, codes (whole numbers from 0) or reals. `memoises` says
    that with a key some of the bits stay the same forever. All bits come from `veil.dp.exact`.
    """

    family: ClassVar[str] = "Other"
    takes: ClassVar[Literal["texts", "codes", "reals"]]
    memoises: ClassVar[bool] = False
    changes: ClassVar[str] = ""  # what is seen when a memoised answer changes, as a sentence

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved of one report."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, Part | None]:
        """What the arrays `data` and `index` of reports look like."""

    @abstractmethod
    def check(self, values: object) -> Array:
        """Return values as an array that `draw` takes, or raise InputError."""

    @abstractmethod
    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw one report for each checked value."""

    @abstractmethod
    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Return what adds up reports; some need the candidates beforehand, checked."""

    def verify(self, data: Array, index: Array | None) -> None:
        """Raise unless arrays can be reports of this oracle."""
        first, second = self.parts
        first.check(data, len(data), "data", self.name)
        if (second is None) != (index is None):
            raise InputError(f"The reports are not those of {self.name}; ask for them again.")
        if second is not None and index is not None:
            second.check(index, len(data), "index", self.name)

    @property
    def rows(self) -> int:
        """How many reports are drawn at a time: a matter of parameters alone."""
        octets = sum(part.octets for part in self.parts if part is not None)
        return max(1, min(_ROWS, _BLOCK // octets))

    @property
    def domain(self) -> range | None:
        """All values that a report can be of, if that is known and they can be listed."""
        return None

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1 | there] and P[1 | not there] of what is counted."""
        raise LawError(f"{self.name} has no two probabilities in closed form.")

    def answers(self, values: int) -> int:
        """Return how many memoised answers a person with so many different values has at most.

        All reports of the person together cost epsilon for each of them, if the histories that
        are compared change their answers at the same reports.
        """
        return values

    @property
    def published(self) -> float:
        """The epsilon that an audit holds against it."""
        return self.guarantee.epsilon

    @abstractmethod
    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return values that an audit tells apart."""

    def codes(self, reports: Drawn, pair: tuple[Value, Value] | None = None) -> Ids:
        """Return reports as whole numbers (n,) that tell all there is to tell between a pair."""
        x = self.check(list(self.pairs()[0] if pair is None else pair))
        found = self._codes(reports.data, index_of(reports), x[:1], x[1:])
        return np.asarray(found, dtype=np.int64)

    @abstractmethod
    def _codes(self, data: Array, index: Array, one: Array, other: Array) -> Array:
        """Return whole numbers (n,) for reports, given the two checked values, each (1, ...)."""


class TextOracle(Oracle):
    """An oracle for texts of any kind, which it hashes."""

    takes: ClassVar[Literal["texts", "codes", "reals"]] = "texts"

    def check(self, values: object) -> Array:
        """Return the numbers of texts."""
        if not is_several(values):
            raise InputError("Values must be a list of texts, not one text.")
        return text_hashes(cast("Iterable[str]", values))

    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return two words."""
        return (("yes", "no"),)


class CodeOracle(Oracle):
    """An oracle for codes 0..size-1."""

    takes: ClassVar[Literal["texts", "codes", "reals"]] = "codes"
    if TYPE_CHECKING:
        size: int  # a parameter, which each oracle declares

    @property
    def domain(self) -> range | None:
        """All codes."""
        return range(self.size) if self.size <= LIMIT else None

    def check(self, values: object) -> Array:
        """Return codes as 64-bit numbers."""
        given = np.asarray(values)
        if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
            raise InputError(
                f"{self.name} takes codes: a list of whole numbers, and no truth values, texts or"
                " numbers with a fraction."
            )
        if given.size and not (int(given.min()) >= 0 and int(given.max()) < self.size):
            raise InputError(
                f"{self.name} takes codes from 0 to {self.size - 1:,}; a value is out of them."
                " Number the values from 0, or give a larger size."
            )
        return given.astype(np.int64)

    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return the first two codes."""
        return ((0, 1),)


def sigmoid(x: float) -> float:
    """Return 1/(1 + e^-x) without overflow; for figures, never for draws."""
    with np.errstate(over="ignore", under="ignore"):
        return float(1 / (1 + np.exp(-np.float64(x))))


def refuse_key(oracle: Oracle) -> None:
    """Raise where bits are to stay and the oracle draws all of them anew."""
    if not oracle.memoises:
        raise ParameterError(
            f"{oracle.name} draws every report anew and memoises nothing; leave the key out, or"
            " take rappor, dbitflip or one_bit."
        )
