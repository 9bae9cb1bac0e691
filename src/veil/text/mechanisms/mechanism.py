"""The contract of mechanisms for words and for whole queries, and the cost of a release."""

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
    """Makes variants of a text. `paper` cites its definition, for lists and help.

    `family` groups similar mechanisms in reports. `needs` lists the resources it requires:
    "vectors" are passed to it, any other name is one that ``veil fetch`` knows. `foes` are the
    attacks that know how it works: without them its risk may look lower than it is. `choices`
    lists by parameter the texts that a request over the web may give; it may set numbers and
    choices of a list, and no other texts, which could name something to open.
    """

    paper: ClassVar[str] = ""
    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset()
    foes: ClassVar[tuple[str, ...]] = ()
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @classmethod
    def not_ready(cls, parameters: Mapping[str, object]) -> str:
        """Say what must be built before a request can use it with these parameters, or ""."""
        del parameters
        return ""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Guarantee for one unit (a word, or a whole query) and one variant."""


Epsilon = Annotated[
    float, Field(gt=0, description="privacy budget per word and variant", examples=[10.0])
]


class WordMechanism(TextMechanism):
    """A randomised map from words to words. Its guarantee is for one word and one variant.

    `select` is the default selection of words to protect (see `veil.text.select`).
    """

    select: ClassVar[str] = "all"
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})

    @abstractmethod
    def bind(self, space: Embeddings) -> Kernel:
        """Return the kernel for these embeddings; raise an error if the guarantee cannot hold."""


@brief("queries")
@dataclass(frozen=True, slots=True)
class QueryRelease:
    """The queries to send instead of one text.

    Attributes
    ----------
    queries
        Distinct queries, best first. Empty if nothing can be sent.
    kept
        Words of the text that are in the queries by policy, in order. `scramble` does not rely on
        this: it determines them from the queries that are sent.
    protected
        Number of words of the text that were replaced or left out in at least one of the queries.
    """

    queries: tuple[str, ...]
    kept: tuple[str, ...]
    protected: int


class OpenedMechanism(Protocol):
    """A mechanism with its resources loaded."""

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return at most `size` queries to send instead of the text."""
        ...


@runtime_checkable
class GroupTable(Protocol):
    """A table whose groups of texts are sent whole: a release reveals an address, nothing else.

    The output distribution is exact: a query always gives the group of its address.
    """

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query."""
        ...

    def group(self, address: int) -> tuple[str, ...]:
        """Return the texts that are sent for every query of an address."""
        ...


class QueryMechanism(TextMechanism):
    """A map from a whole query to other queries, which may differ in words and length.

    It is not random: an attacker who has the mechanism can run it on all candidate queries.

    With `whole`, the queries for one text are one release of a fixed number of queries. All or
    none of them are sent, even one that equals the text, and the guarantee is for all of them
    together. Such a mechanism has a `size`, and its table is a `GroupTable`.
    """

    whole: ClassVar[bool] = False
    foes: ClassVar[tuple[str, ...]] = ("rerun",)

    @property
    def size(self) -> int | None:
        """Number of queries in a release, or None if it is not fixed."""
        return None

    @abstractmethod
    def bind(self) -> OpenedMechanism:
        """Load the resources of the mechanism, such as a dictionary or an index."""


def table_of(mechanism: QueryMechanism) -> GroupTable | None:
    """Open the table of a mechanism that sends whole groups. Return None for any other."""
    opened = mechanism.bind() if mechanism.whole else None
    for table in (opened, getattr(opened, "table", None)):
        if isinstance(table, GroupTable):
            return table
    return None


MAX_SIZE = 100_000  # variants per text


def check_request(texts: object, size: object, max_chars: object) -> None:
    """Raise an error if an argument that all mechanisms share is invalid."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence | np.ndarray):
        raise InputError(
            "The 'texts' argument must be a list of strings. Put a single text into a list."
        )
    if not _is_integer(size) or not 1 <= cast(int, size) <= MAX_SIZE:
        raise ParameterError(
            f"The 'size' argument must be a whole number from 1 to {MAX_SIZE:,}. Got {size!r:.40}"
            " instead."
        )
    if not _is_integer(max_chars) or cast(int, max_chars) < 1:
        raise ParameterError("The 'max_chars' argument must be a whole number >= 1.")


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


LAYOUT = (
    "The bound compares two texts with the same layout: number of words, capitals, punctuation,"
    " hyphens."
)
UNKNOWN = "There is no bound between a word that the vectors know and one that they do not."
POLICIES = "There is no bound between kinds of words that have different policies."
CONTEXT = (
    "Which words are selected depends on the words themselves, so another word in the place of a"
    " protected one may pass unchanged: there is no bound between the two."
)
LISTED = (
    "There is no bound between a word that is selected and one that is not, which passes"
    " unchanged."
)
_PER_UNIT = ("euclidean", "mahalanobis")  # metrics that scale with the vectors


def scale_premise(guarantee: Guarantee, space: Embeddings | None) -> str:
    """Return a note on a bound per unit of distance if the embeddings' scale is unusual, or "".

    It depends only on the embeddings.
    """
    if space is None or not guarantee.metric.startswith(_PER_UNIT):
        return ""
    return scale_note(space)


def premises(
    select: Select, policies: Mapping[str, str] | None = None, scale: str = ""
) -> tuple[str, ...]:
    """Return the premises of a bound on words, one sentence each.

    `scale` is the note of `scale_premise`. The premises must not depend on the text, because a
    caveat that did would reveal something about it.
    """
    return (LAYOUT, UNKNOWN, *chosen_premises(select, policies), *filter(None, [scale]))


def chosen_premises(select: Select, policies: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return only the premises that depend on the caller's choice of words and policies."""
    caveats = [POLICIES] if policies else []
    scope = reach(select)
    if scope != "all":
        caveats.append(CONTEXT if scope == "context" else LISTED)
    return tuple(caveats)


def release_cost(
    guarantee: Guarantee, words: int, size: int, passed: int, caveats: Sequence[str] = ()
) -> Guarantee:
    """Return the cost of `size` variants of this many protected words.

    Words that `passed` unchanged have no finite cost. `Guarantee.passed` counts them next to the
    bound, and if no word is protected, nothing is proved. `caveats` are added to a bound.
    """
    unit = f"release ({count_of(words, 'word')} x {count_of(size, 'variant')})"
    if passed and not words:
        return Guarantee(
            "none",
            unit=unit,
            caveat=f"Nothing is protected: all words ({passed}) pass unchanged.",
            passed=passed,
        )
    cost = guarantee.compose(words * size, unit)
    if cost.kind != "none":
        for sentence in caveats:
            cost = cost.with_caveat(sentence)
    if not passed:
        return cost
    return replace(cost, passed=passed).with_caveat(
        f"{count_of(passed, 'word')} passed unchanged by policy, outside any guarantee."
    )
