"""What every measure of texts and their variants declares, what it is given, and what it gives."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.core.types import Encoder, Floats, Ids
from veil.corpus.wordnet import Thesaurus
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.vectors.embeddings import Embeddings

NEEDS = frozenset({"encoder", "thesaurus", "mechanism", "vectors"})
Pair = tuple[str, str]  # a text, a variant


@brief("originals")
@dataclass(frozen=True, eq=False)
class Comparison:
    """Texts beside their variants, and what a measure may look things up in.

    Attributes
    ----------
    originals, variants
        ``variants[i]`` are those of ``originals[i]``; the rows need not be of one length.
    encoder, thesaurus
        A model of texts, and synonyms; or None.
    mechanism, vectors
        The word mechanism that made the variants, and its word vectors; or None.
    """

    originals: tuple[str, ...]
    variants: tuple[tuple[str, ...], ...]
    encoder: Encoder | None = None
    thesaurus: Thesaurus | None = None
    mechanism: WordMechanism | None = None
    vectors: Embeddings | None = None

    @classmethod
    def of(
        cls,
        originals: Iterable[str],
        variants: Iterable[Iterable[str]],
        *,
        encoder: Encoder | None = None,
        thesaurus: Thesaurus | None = None,
        mechanism: TextMechanism | None = None,
        vectors: Embeddings | None = None,
    ) -> "Comparison":
        """Check and pack texts from lists, columns or iterators.

        A mechanism that rewrites whole queries is left out: no word of it can be followed.
        """
        texts, rows = _listed(originals, variants)
        _check(texts, rows)
        by_word = mechanism if isinstance(mechanism, WordMechanism) else None
        return cls(
            tuple(texts), tuple(tuple(row) for row in rows), encoder, thesaurus, by_word, vectors
        )

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Each text with each of its variants, every distinct pair once."""
        rows = zip(self.originals, self.variants, strict=True)
        return tuple(dict.fromkeys((text, each) for text, row in rows for each in row))

    @cached_property
    def tokens(self) -> tuple[tuple[list[str], list[str]], ...]:
        """The pairs in lower case, cut at white space."""
        return tuple((one.lower().split(), other.lower().split()) for one, other in self.pairs)

    @cached_property
    def sizes(self) -> Ids:
        """The number of variants (n,) of each text."""
        return np.array([len(row) for row in self.variants], dtype=np.int64)

    def means(self, values: Floats) -> Floats:
        """Average values (pairs,) over the variants of each text (n,); nan where it has none."""
        place = {pair: i for i, pair in enumerate(self.pairs)}
        rows = zip(self.originals, self.variants, strict=True)
        index = np.array([place[text, each] for text, row in rows for each in row], dtype=np.int64)
        owners = np.repeat(np.arange(len(self.originals)), self.sizes)
        sums = np.bincount(owners, values[index], len(self.originals))
        out = np.full(len(self.originals), np.nan)
        np.divide(sums, self.sizes, out=out, where=self.sizes > 0)
        return out


class TextMeasure(Component):
    """One number for each text, from what was released of it.

    Every parameter has a default: a study measures without being told any.

    Attributes
    ----------
    says
        What it counts, in a sentence.
    lowest, highest
        Between what its values lie; inf where there is no bound.
    equal
        Its value where every variant is the text itself; None where that depends on the text.
    needs
        What of a `Comparison` it cannot do without: some of `NEEDS`.
    """

    says: ClassVar[str]
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = 1.0
    equal: ClassVar[float | None] = 1.0
    needs: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def measure(self, given: Comparison) -> Floats:
        """Return a value for each text (n,); nan where there is nothing to measure."""


class PairMeasure(TextMeasure):
    """A measure of a text and one variant; the value of a text is the mean over its variants."""

    @abstractmethod
    def scores(self, given: Comparison) -> Floats:
        """Return a value for each of the pairs (m,)."""

    def measure(self, given: Comparison) -> Floats:
        """Return the mean over the variants of each text (n,)."""
        return given.means(self.scores(given))


def _listed(
    originals: Iterable[str], variants: Iterable[Iterable[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Make lists of columns, arrays and iterators; strings stay what they are, to be refused."""
    try:
        texts = originals if isinstance(originals, str) else list(originals)
        rows = [row if isinstance(row, str) else list(row) for row in variants]
    except TypeError:
        raise InputError(
            "Texts come in a list, and the variants of each text in a list, too."
        ) from None
    return texts, rows


def _check(originals: Sequence[str], variants: Sequence[Sequence[str]]) -> None:
    if isinstance(originals, str) or any(isinstance(row, str) for row in variants):
        raise InputError("Texts come in a list, and the variants of each text in a list, too.")
    if len(originals) != len(variants):
        raise InputError(
            f"There are {len(originals)} texts, but variants of {len(variants)}; give one row of"
            " variants for each text."
        )
    if not originals:
        raise InputError("A similarity needs at least one text.")
    for number, (text, row) in enumerate(zip(originals, variants, strict=True)):
        if not all(isinstance(each, str) for each in (text, *row)):
            raise InputError(f"Text {number + 1} or one of its variants is not a string.")
