"""The contract of mechanisms for texts, of words and of queries; what a release costs."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief, count_of
from veil.core.guarantee import Guarantee
from veil.core.types import Ids, Kernel
from veil.text.select import Select, reach
from veil.text.vectors.embeddings import Embeddings, scale_note


class TextMechanism(Component):
    """Makes variants of a text; `paper` cites where it is defined, for lists and help.

    `family` groups mechanisms that work alike, in reports. `needs` says what must be at hand:
    "vectors" is given to it, anything else is a name that ``veil fetch`` knows. `foes` are the
    attackers that know how it works: without them its risk may look lower than it is.
    """

    paper: ClassVar[str] = ""
    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset()
    foes: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved for one unit (a word, or a whole query) and one variant."""


Epsilon = Annotated[
    float, Field(gt=0, description="privacy budget per word and variant", examples=[10.0])
]


class WordMechanism(TextMechanism):
    """A randomised map from words to words; what is proved is for one word and one variant.

    `select` is the choice of words it protects unless the caller says otherwise (see
    `veil.text.select`).
    """

    select: ClassVar[str] = "all"
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})

    @abstractmethod
    def bind(self, space: Embeddings) -> Kernel:
        """Prepare everything that depends on the space; raise when the guarantee cannot hold."""


@brief("queries")
@dataclass(frozen=True, slots=True)
class QueryRelease:
    """What stands in for one query.

    Attributes
    ----------
    queries
        The best first, without duplicates; none at all when nothing can be sent.
    kept
        Words of the text that are in the queries by policy, in order. `scramble` reads them off
        the queries that are sent, whatever is said here.
    protected
        Number of words of the text that were replaced or left out in at least one of the queries.
    """

    queries: tuple[str, ...]
    kept: tuple[str, ...]
    protected: int


class OpenedMechanism(Protocol):
    """A mechanism with all that it needs at hand."""

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return at most `size` queries to send instead of the text."""
        ...


@runtime_checkable
class GroupTable(Protocol):
    """A table whose groups of texts are sent whole: a release is an address, and nothing else.

    The law is exact: a query gives the group of its address for certain, and no other.
    """

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query."""
        ...

    def group(self, address: int) -> tuple[str, ...]:
        """Return the texts that are sent for all queries of an address."""
        ...


class QueryMechanism(TextMechanism):
    """A map from a whole query to other queries, which need not have its words or its length.

    It draws nothing: who has it can run it on all queries that come into question.

    `whole` says that the queries for one text are one release, whose number is not the caller's
    choice: all of them are sent or none, also one that is the text itself, and the guarantee is of
    all of them together. Such a mechanism has a `size`, and its table is an `GroupTable`.
    """

    whole: ClassVar[bool] = False
    foes: ClassVar[tuple[str, ...]] = ("rerun",)

    @property
    def size(self) -> int | None:
        """How many queries a release has, if that is fixed."""
        return None

    @abstractmethod
    def bind(self) -> OpenedMechanism:
        """Load what the mechanism works with: a dictionary, an index."""


def table_of(mechanism: QueryMechanism) -> GroupTable | None:
    """Open the table of a mechanism that sends whole groups; any other has none."""
    bound = mechanism.bind() if mechanism.whole else None
    for found in (bound, getattr(bound, "table", None)):
        if isinstance(found, GroupTable):
            return found
    return None


MAX_SIZE = 100_000  # variants of one text


def check_request(texts: object, size: object, max_chars: object) -> None:
    """Say what is wrong with the arguments that every mechanism shares."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence | np.ndarray):
        raise InputError(
            "The 'texts' argument must be a list of strings; put a single text into a list."
        )
    if not _whole(size) or not 1 <= cast(int, size) <= MAX_SIZE:
        raise ParameterError(
            f"The 'size' argument must be a whole number from 1 to {MAX_SIZE:,}. Got {size!r:.40}"
            " instead."
        )
    if not _whole(max_chars) or cast(int, max_chars) < 1:
        raise ParameterError("The 'max_chars' argument must be a whole number >= 1.")


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


LAYOUT = (
    "Two texts are compared that have the same layout: number of words, capitals, punctuation,"
    " hyphens."
)
UNKNOWN = "Nothing is bounded between a word that the vectors know and one that they do not."
POLICIES = "Nothing is bounded between kinds of words that have different policies."
CONTEXT = (
    "Which words are selected depends on the words themselves, so that another word in the place"
    " of a protected one may pass as it is: nothing is bounded between the two."
)
LISTED = (
    "Nothing is bounded between a word that is selected and one that is not, which passes as it"
    " is."
)
_PER_UNIT = ("euclidean", "mahalanobis")  # metrics that grow with the vectors


def scale_premise(guarantee: Guarantee, space: Embeddings | None) -> str:
    """Say what a bound per unit of distance is worth in a space of an unusual scale, or "".

    It depends on the space alone.
    """
    if space is None or not guarantee.metric.startswith(_PER_UNIT):
        return ""
    return scale_note(space)


def premises(
    select: Select, policies: Mapping[str, str] | None = None, scale: str = ""
) -> tuple[str, ...]:
    """Return what goes without saying in a bound on words, a sentence each, and should not.

    `scale` is what `scale_premise` says of the space. None of it depends on the text: a caveat
    that did would tell of it.
    """
    return (LAYOUT, UNKNOWN, *chosen_premises(select, policies), *filter(None, [scale]))


def chosen_premises(select: Select, policies: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return those of the `premises` that come with a choice, and do not hold always."""
    told = [POLICIES] if policies else []
    chosen = reach(select)
    if chosen != "all":
        told.append(CONTEXT if chosen == "context" else LISTED)
    return tuple(told)


def release_cost(
    guarantee: Guarantee, words: int, size: int, passed: int, told: Sequence[str] = ()
) -> Guarantee:
    """Add up the cost of `size` variants of so many protected words.

    For words that `passed` as they are no number is a cost: `Guarantee.passed` counts them
    beside the bound, and where nothing else is released nothing at all is proved. `told` are
    caveats of the bound, where there is one.
    """
    unit = f"release ({count_of(words, 'word')} x {count_of(size, 'variant')})"
    if passed and not words:
        return Guarantee(
            "none",
            unit=unit,
            caveat=f"Nothing is protected: all words ({passed}) pass as they are.",
            passed=passed,
        )
    cost = guarantee.compose(words * size, unit)
    if cost.kind != "none":
        for sentence in told:
            cost = cost.with_caveat(sentence)
    if not passed:
        return cost
    return replace(cost, passed=passed).with_caveat(
        f"{count_of(passed, 'word')} passed unchanged by policy, outside any guarantee."
    )
