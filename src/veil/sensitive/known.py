"""What an attacker knows of a document: a few of its words; and decoys, which do not exist."""

from collections import Counter
from math import log

import numpy as np

from veil.core.errors import InputError
from veil.corpus.lexical import term_of, words_of
from veil.corpus.tokens import STOP_WORDS
from veil.sensitive.attacker import Probe
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.matching import matcher

Words = tuple[str, ...]


class Strongest:
    r"""The words of largest TF-IDF of a document, :math:`(1 + \ln tf) \ln(1 + n/df)`.

    Words stand for their index terms: of several spellings the first in the alphabet is asked.
    """

    def __init__(self, collection: SensitiveCollection) -> None:
        self._passages, self._index = collection.documents.passages, matcher(collection).index
        self._terms: dict[str, str] = {}
        self._found: dict[int, Words] = {}

    def words(self, place: int, most: int) -> Words:
        """Return at most `most` words of a document, the strongest first; ties alphabetical."""
        if place not in self._found:
            self._found[place] = self._ranked(place)
        return self._found[place][:most]

    def _ranked(self, place: int) -> Words:
        counts: Counter[str] = Counter()
        spelt: dict[str, str] = {}
        for word in words_of(self._passages[place]):
            term = self._terms.get(word)
            if term is None:
                term = self._terms[word] = "" if word in STOP_WORDS else term_of(word)
            if term in self._index.terms:
                counts[term] += 1
                spelt[term] = min(word, spelt.get(term, word))
        weights = {spelt[term]: self._weight(term, count) for term, count in counts.items()}
        return tuple(sorted(weights, key=lambda word: (-weights[word], word))[:MOST])

    def _weight(self, term: str, count: int) -> float:
        documents = int(self._index.frequencies[self._index.terms[term]])
        return (1 + log(count)) * log(1 + self._index.size / documents)


MOST = 100  # words that an attacker may know of one document


def strongest(collection: SensitiveCollection) -> Strongest:
    """Return the words of a collection's documents, each counted once while it is open."""
    return collection.remember("sensitive-strongest", lambda: Strongest(collection))


def targets(probe: Probe, terms: int) -> list[Words]:
    """Return what is known of each sensitive document."""
    known = strongest(probe.collection)
    return [known.words(place, terms) for place in probe.targets.tolist()]


def decoys(probe: Probe, terms: int) -> list[Words]:
    """Return as many descriptions of documents that do not exist, with as many words each.

    Each word is one of the strongest of a random document that is not sensitive, so that decoys
    ask for words as rare as those of the targets.
    """
    known, rng = strongest(probe.collection), probe.random()
    visible = np.flatnonzero(probe.collection.sensitive == 0).tolist()
    visible = [place for place in visible if known.words(place, terms)]
    if not visible:
        raise InputError("An attack needs documents that are not sensitive, for its decoys.")
    made: list[Words] = []
    for told in targets(probe, terms):
        words: dict[str, None] = {}
        for _ in range(20 * len(told)):  # a word may be drawn again
            if len(words) < len(told):
                own = known.words(visible[int(rng.integers(len(visible)))], terms)
                words[own[int(rng.integers(len(own)))]] = None
        made.append(tuple(words))
    return made
