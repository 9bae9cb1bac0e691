"""The contract of measures that compare texts with their variants."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
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
    """Texts with their variants, and the resources that a measure may use.

    Attributes
    ----------
    originals, variants
        ``variants[i]`` are the variants of ``originals[i]``; rows may differ in length.
    encoder, thesaurus
        A text encoder and a source of synonyms, or None.
    mechanism, vectors
        The word mechanism of the variants and its word vectors, or None.
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

        A mechanism that rewrites whole queries is dropped: its words cannot be tracked.
        """
        texts, rows = _to_lists(originals, variants)
        _check(texts, rows)
        word_mechanism = mechanism if isinstance(mechanism, WordMechanism) else None
        packed = tuple(tuple(row) for row in rows)
        return cls(tuple(texts), packed, encoder, thesaurus, word_mechanism, vectors)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The distinct pairs of a text and one of its variants."""
        rows = zip(self.originals, self.variants, strict=True)
        return tuple(dict.fromkeys((text, variant) for text, row in rows for variant in row))

    @cached_property
    def tokens(self) -> tuple[tuple[list[str], list[str]], ...]:
        """The pairs as lists of words in lower case, split at white space."""
        return tuple((a.lower().split(), b.lower().split()) for a, b in self.pairs)

    @cached_property
    def sizes(self) -> Ids:
        """The number of variants (n,) of each text."""
        return np.array([len(row) for row in self.variants], dtype=np.int64)

    def means(self, values: Floats) -> Floats:
        """Return the mean (n,) of the values (pairs,) of each text, nan if it has no variants."""
        codes = {pair: i for i, pair in enumerate(self.pairs)}
        rows = zip(self.originals, self.variants, strict=True)
        index = np.array([codes[text, item] for text, row in rows for item in row], dtype=np.int64)
        owners = np.repeat(np.arange(len(self.originals)), self.sizes)
        sums = np.bincount(owners, values[index], len(self.originals))
        out = np.full(len(self.originals), np.nan)
        np.divide(sums, self.sizes, out=out, where=self.sizes > 0)
        return out


class TextMeasure(Component):
    """A measure that gives each text one number, computed from its variants.

    Every parameter must have a default, because studies use measures without parameters.

    Attributes
    ----------
    says
        What the measure counts, in one sentence.
    lowest, highest
        Bounds of its values; inf if there is none.
    equal
        Its value if every variant equals the text, or None if that depends on the text.
    needs
        The resources of a `Comparison` that it requires, a subset of `NEEDS`.
    """

    says: ClassVar[str]
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = 1.0
    equal: ClassVar[float | None] = 1.0
    needs: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def measure(self, comparison: Comparison) -> Floats:
        """Return a value (n,) for each text, nan if there is nothing to measure."""


class PairMeasure(TextMeasure):
    """A measure of a text and one variant. The value of a text is the mean over its variants."""

    @abstractmethod
    def scores(self, comparison: Comparison) -> Floats:
        """Return a value (m,) for each pair."""

    def measure(self, comparison: Comparison) -> Floats:
        """Return the mean (n,) over the variants of each text."""
        return comparison.means(self.scores(comparison))


_SHAPE = "Texts must be a list, and so must the variants of each text."


def _to_lists(
    originals: Iterable[str], variants: Iterable[Iterable[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return columns, arrays and iterators as lists; strings are left for `_check` to refuse."""
    try:
        texts = originals if isinstance(originals, str) else list(originals)
        rows = [row if isinstance(row, str) else list(row) for row in variants]
    except TypeError:
        raise InputError(_SHAPE) from None
    return texts, rows


def _check(originals: Sequence[str], variants: Sequence[Sequence[str]]) -> None:
    if isinstance(originals, str) or any(isinstance(row, str) for row in variants):
        raise InputError(_SHAPE)
    if len(originals) != len(variants):
        raise InputError(
            "Each text needs one list of variants. Got"
            f" {len(originals)} texts and {len(variants)} lists."
        )
    if not originals:
        raise InputError("A similarity needs at least one text.")
    for number, (text, row) in enumerate(zip(originals, variants, strict=True)):
        if not all(isinstance(value, str) for value in (text, *row)):
            raise InputError(f"Text {number + 1} or one of its variants is not a string.")


def measure_all(
    originals: Iterable[str],
    variants: Iterable[Iterable[str]],
    *,
    encoder: Encoder | None = None,
    thesaurus: Thesaurus | None = None,
    mechanism: TextMechanism | None = None,
    vectors: Embeddings | None = None,
) -> dict[str, Floats]:
    """Return the values (n,) of each measure by name, first of the built-in ones, then of plugins.

    A measure is left out if a resource that it needs is missing. The cosine needs an encoder, and
    the measures of words need a word mechanism and its word vectors. METEOR uses synonyms if there
    is a thesaurus.

    >>> measure_all(["a b", "c"], [["a d", "a b"], []])["jaccard"].round(3).tolist()
    [0.667, nan]
    """
    from veil.text.measures import MEASURES

    comparison = Comparison.of(
        originals,
        variants,
        encoder=encoder,
        thesaurus=thesaurus,
        mechanism=mechanism,
        vectors=vectors,
    )
    measures = {name: MEASURES.parse(name) for name in (*MEASURES.builtin, *plugin_measures())}
    return {
        name: _measure(measure, comparison)
        for name, measure in measures.items()
        if all(getattr(comparison, need) is not None for need in measure.needs)
    }


def _measure(measure: TextMeasure, comparison: Comparison) -> Floats:
    values = np.asarray(measure.measure(comparison), dtype=np.float64)
    if values.shape != (len(comparison.originals),):
        raise ParameterError(
            f"The measure {measure.name} must return one value for each of the"
            f" {len(comparison.originals):,} texts. Got an array of shape {values.shape} instead."
        )
    return values


def plugin_measures() -> tuple[str, ...]:
    """Return the names of the measures of plugins."""
    from veil.text.measures import MEASURES

    return tuple(name for name in MEASURES.names() if name not in MEASURES.builtin)
