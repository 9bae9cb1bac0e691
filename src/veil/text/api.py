"""Measure variants by all measures at once."""

from collections.abc import Iterable

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Encoder, Floats
from veil.corpus.wordnet import Thesaurus
from veil.text.measures import MEASURES
from veil.text.measures.measure import Comparison, TextMeasure
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings


def measure_all(
    originals: Iterable[str],
    variants: Iterable[Iterable[str]],
    *,
    encoder: Encoder | None = None,
    thesaurus: Thesaurus | None = None,
    mechanism: TextMechanism | None = None,
    vectors: Embeddings | None = None,
) -> dict[str, Floats]:
    """Return each measure (n,) by its name, the built-in ones first, then those of plugins.

    A measure that needs what is not given is left out: an encoder for the cosine, the mechanism
    and its word vectors for what is counted by word (of a mechanism that rewrites whole queries
    there is no such thing). METEOR knows synonyms if there is a thesaurus.

    >>> measure_all(["a b", "c"], [["a d", "a b"], []])["jaccard"].round(3).tolist()
    [0.667, nan]
    """
    given = Comparison.of(
        originals,
        variants,
        encoder=encoder,
        thesaurus=thesaurus,
        mechanism=mechanism,
        vectors=vectors,
    )
    chosen = {name: MEASURES.parse(name) for name in (*MEASURES.builtin, *plugin_measures())}
    return {
        name: _measured(measure, given)
        for name, measure in chosen.items()
        if all(getattr(given, need) is not None for need in measure.needs)
    }


def _measured(measure: TextMeasure, given: Comparison) -> Floats:
    values = np.asarray(measure.measure(given), dtype=np.float64)
    if values.shape != (len(given.originals),):
        raise ParameterError(
            f"The measure {measure.name} must give one value for each of the"
            f" {len(given.originals):,} texts; it gave an array of shape {values.shape}."
        )
    return values


def plugin_measures() -> tuple[str, ...]:
    """Return the names of the measures that plugins brought."""
    return tuple(name for name in MEASURES.names() if name not in MEASURES.builtin)
