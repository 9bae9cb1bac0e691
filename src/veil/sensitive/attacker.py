"""The contract of attackers on strategies, and what they know of documents."""

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.estimate import Estimate, interval, resamples
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.corpus.lexical import term_of, words_of
from veil.corpus.tokens import STOP_WORDS
from veil.sensitive.candidates import matcher
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.measures import Flags
from veil.sensitive.mechanism import Answer, Searcher

PAGED = 1_000  # documents of one answer that somebody pages through


@dataclass(frozen=True, eq=False)
class Probe:
    """The engine that is attacked: a strategy opened on a collection, and how many it shows.

    The attacker asks `searcher`; it looks at `collection` to choose its targets and its decoys, to
    make what it is said to know of them (a few of their words), to read documents that were
    shown, and to score.
    """

    collection: SensitiveCollection
    searcher: Searcher
    k: int
    seed: int = 0

    @cached_property
    def targets(self) -> Ids:
        """The sensitive documents (m,), which are to be found."""
        found = np.flatnonzero(self.collection.sensitive == 1)
        if not len(found):
            raise InputError("An attack needs at least one document that is sensitive.")
        return found

    def random(self) -> Generator:
        """Return the randomness of decoys: the same for every strategy and attacker."""
        return generator(self.seed)

    def ask(self, query: str, topic: str = "") -> Answer:
        """Ask as anybody can, for one page."""
        return self.searcher.answer(query, self.k, topic)

    def page(self, query: str) -> Answer:
        """Ask, and page through all that is shown, up to `PAGED` documents."""
        return self.searcher.answer(query, PAGED)


@dataclass(frozen=True, eq=False)
class Sightings:
    """What an attacker saw and concluded, target by target.

    Attributes
    ----------
    seen
        (m,) whether the target stands in some shown list.
    claims
        (m,) whether the attacker concludes that a withheld document with its words exists.
    alarms
        (m,) the same conclusion about as many decoys, which do not exist.
    """

    seen: Flags
    claims: Flags
    alarms: Flags

    @classmethod
    def of(
        cls,
        probe: Probe,
        answers: list[Answer],
        claims: list[bool] | None = None,
        alarms: list[bool] | None = None,
    ) -> "Sightings":
        """Score lists that were shown; who concludes nothing leaves the others out."""
        shown = np.zeros(len(probe.collection.documents), dtype=np.bool_)
        for answer in answers:
            shown[answer.positions] = True
        nothing = np.zeros(len(probe.targets), dtype=np.bool_)
        return cls(
            shown[probe.targets],
            nothing if claims is None else np.array(claims, dtype=np.bool_),
            nothing if alarms is None else np.array(alarms, dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True)
class Exposure:
    """What comes of an attack on a collection with sensitive documents.

    Each figure has its 95 % interval, by drawing whole documents, each with its decoy.

    Attributes
    ----------
    exposed
        Share of the sensitive documents that stand in some shown list.
    inferred
        Of those that do not, the share that the attacker rightly says exist.
    false_alarms
        The same rate on decoys, which do not exist.
    risk
        exposed + (1 - exposed) * max(0, inferred - false_alarms), in [0, 1].
    """

    exposed: Estimate
    inferred: Estimate
    false_alarms: Estimate
    risk: Estimate

    @classmethod
    def of(cls, sightings: Sightings) -> "Exposure":
        """Take the means of what an attacker saw and concluded."""
        cases = np.stack(
            [sightings.seen, sightings.claims & ~sightings.seen, sightings.alarms], axis=1
        ).astype(np.float64)
        value = _figures(cases.mean(axis=0)[None])[0]
        drawn = [cases[block].mean(axis=1) for block in resamples(len(cases))]
        spread = _figures(np.concatenate(drawn))
        return cls(*(interval(float(value[i]), spread[:, i], len(cases)) for i in range(4)))


def _figures(means: Floats) -> Floats:
    """Return exposed, inferred, false alarms and risk (m, 4) of means over documents (m, 3)."""
    exposed, claimed, alarms = means.T
    hidden = 1 - exposed
    inferred = np.divide(claimed, hidden, out=np.zeros_like(claimed), where=hidden > 1e-12)
    risk = exposed + hidden * np.maximum(0, inferred - alarms)
    return np.stack([exposed, np.minimum(inferred, 1), alarms, np.clip(risk, 0, 1)], axis=1)


class Attack(Component):
    """Somebody who is not cleared, and asks."""

    @abstractmethod
    def run(self, probe: Probe) -> Sightings:
        """Ask, and guess what is withheld; the truth is used to score, never to guess."""


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
