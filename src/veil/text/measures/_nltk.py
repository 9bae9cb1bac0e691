"""BLEU and METEOR of NLTK, set as `veil.text.measures.similarity` says."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from veil.corpus.wordnet import Thesaurus

Score = Callable[[list[str], list[str]], float]


def by_nltk(thesaurus: Thesaurus | None) -> tuple[Score, Score]:
    """Return BLEU and METEOR of two lists of tokens, the original's first."""
    from nltk.stem.porter import PorterStemmer  # NLTK takes a second to load
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from nltk.translate.meteor_score import single_meteor_score

    smooth = SmoothingFunction().method3
    stem, synsets = _Words(PorterStemmer().stem), _Words(_synonyms(thesaurus))

    def bleu(original: list[str], variant: list[str]) -> float:
        return float(
            sentence_bleu([original], variant, smoothing_function=smooth, auto_reweigh=True)
        )

    def meteor(original: list[str], variant: list[str]) -> float:
        return float(single_meteor_score(original, variant, stemmer=stem, wordnet=synsets))

    return bleu, meteor


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
