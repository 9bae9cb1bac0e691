"""METEOR: words that two texts share, by their form, their stem or their meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from veil.core.types import Floats
from veil.corpus.wordnet import Thesaurus
from veil.text.measures.measure import Comparison, PairMeasure


class METEOR(PairMeasure):
    """METEOR of a variant, the original being the reference, as NLTK computes it.

    alpha 0.9, beta 3, gamma 0.5; words match as they are, by their Porter stem, and as synonyms
    where a thesaurus is at hand: values with and without one are not to be compared. Even equal
    texts of n words have 1 - 0.5/n³ only.

    References
    ----------
    Lavie, Agarwal. METEOR: An Automatic Metric for MT Evaluation with High Levels of Correlation
    with Human Judgments. WMT 2007.
    """

    name: ClassVar[str] = "meteor"
    says: ClassVar[str] = (
        "Words of a variant that match the text as they are, by stem or as synonyms (METEOR)."
    )
    equal: ClassVar[float | None] = None

    def scores(self, given: Comparison) -> Floats:
        """Score the variant of each pair."""
        from nltk.stem.porter import PorterStemmer  # NLTK takes a second to load
        from nltk.translate.meteor_score import single_meteor_score

        stem, synsets = _Words(PorterStemmer().stem), _Words(_synonyms(given.thesaurus))
        return np.array(
            [
                float(single_meteor_score(one, other, stemmer=stem, wordnet=synsets))
                for one, other in given.tokens
            ]
        )


class _Words:
    """What NLTK asks a stemmer or a WordNet about a word, remembered."""

    def __init__(self, look_up: Callable[[str], Any]) -> None:
        self.stem = self.synsets = lru_cache(maxsize=65536)(look_up)


@dataclass(frozen=True)
class _Lemmas:
    """A synset, or one of its lemmas, as far as NLTK's METEOR looks at them."""

    names: tuple[str, ...]

    def lemmas(self) -> list["_Lemmas"]:
        return [_Lemmas((name,)) for name in self.names]

    def name(self) -> str:
        return self.names[0]


def _synonyms(thesaurus: Thesaurus | None) -> Callable[[str], list[_Lemmas]]:
    if thesaurus is None:
        return lambda _: []
    return lambda word: [_Lemmas(tuple(sorted(thesaurus.synonyms(word))))]
