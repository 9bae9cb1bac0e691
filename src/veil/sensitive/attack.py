"""Attack a mechanism for sensitive documents: what it shows, and what its gaps reveal.

Every attack subclasses `Attack`. It queries the engine in a `Scene` like any searcher, and
infers withheld documents; `score` turns both into an `Outcome`.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.estimate import interval, resamples
from veil.core.outcome import Flags, Outcome
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.corpus.lexical import term_of, words_of
from veil.corpus.tokens import STOP_WORDS
from veil.sensitive.candidates import matcher
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.evaluate import scene_of
from veil.sensitive.inputs import check_k
from veil.sensitive.mechanism import Answer, Mechanism, Searcher
from veil.sensitive.mechanisms import mechanism as mechanism_of

PAGED = 1_000  # maximum number of documents of an answer that an attacker sees


@dataclass(frozen=True, eq=False)
class Scene:
    """The engine under attack: a mechanism opened on a collection, with pages of k documents.

    An attack queries `searcher`. It uses `collection` only to choose its targets and decoys, to
    derive its background knowledge (a few words of each), to read documents that were shown, and
    to score its conclusions.
    """

    collection: SensitiveCollection
    searcher: Searcher
    k: int
    seed: int = 0

    @cached_property
    def targets(self) -> Ids:
        """Positions (m,) of the sensitive documents, which are the targets."""
        positions = np.flatnonzero(self.collection.sensitive == 1)
        if not len(positions):
            raise InputError("An attack needs at least one sensitive document. Label one.")
        return positions

    def random(self) -> Generator:
        """Return the generator of decoys, which is the same for every mechanism and attack."""
        return generator(self.seed)

    def ask(self, query: str, topic: str = "") -> Answer:
        """Return one page of answers to a query."""
        return self.searcher.answer(query, self.k, topic)

    def page(self, query: str) -> Answer:
        """Return all pages of answers to a query, up to `PAGED` documents."""
        return self.searcher.answer(query, PAGED)


class Attack(Component):
    """An attack by a searcher without clearance for sensitive documents."""

    @abstractmethod
    def run(self, scene: Scene) -> Outcome:
        """Return the outcome of querying and inferring withheld documents."""


def outcome(
    scene: Scene,
    answers: Sequence[Answer],
    claims: Sequence[bool] | None = None,
    alarms: Sequence[bool] | None = None,
) -> Outcome:
    """Return the outcome of answers, and of conclusions about targets and decoys.

    `claims` marks the targets that the attacker concludes to exist, and `alarms` the same for as
    many decoys; None for an attack without conclusions.
    """
    shown = np.zeros(len(scene.collection.documents), dtype=np.bool_)
    for answer in answers:
        shown[answer.positions] = True
    nothing = np.zeros(len(scene.targets), dtype=np.bool_)
    return score(
        shown[scene.targets],
        nothing if claims is None else np.array(claims, dtype=np.bool_),
        nothing if alarms is None else np.array(alarms, dtype=np.bool_),
    )


def score(exposures: Flags, claims: Flags, alarms: Flags) -> Outcome:
    r"""Return the outcome for m targets, each with a decoy, which does not exist.

    .. math:: \text{risk} = e + (1 - e) \max(0, i - f)

    Here e is the share of targets in a shown list (`exposed`), i the share of the other targets
    that the attacker rightly concludes to exist (`inferred`), and f the share of decoys with the
    same conclusion (`false_alarms`). `details` has all three, each with its 95 % interval from
    resampling documents together with their decoys. `per_record` is 1 for an exposed target, and
    max(0, i - f) for any other.

    Parameters
    ----------
    seen
        (m,) whether the target is in some shown list.
    claims
        (m,) whether the attacker concludes that a withheld document with its words exists.
    alarms
        (m,) the same conclusion about the decoy.
    """
    cases = np.stack([exposures, claims & ~exposures, alarms], axis=1).astype(np.float64)
    value = _figures(cases.mean(axis=0)[None])[0]
    means = [cases[rows].mean(axis=1) for rows in resamples(len(cases))]
    spread = _figures(np.concatenate(means))
    exposed, inferred, false_alarms, risk = (
        interval(float(value[i]), spread[:, i], len(cases)) for i in range(4)
    )
    lift = max(0.0, float(inferred) - float(false_alarms))
    return Outcome(
        unit="document",
        per_record=np.where(exposures, 1.0, lift),
        baseline=0.0,
        estimate=risk,
        details={
            "exposed": exposed,
            "inferred": inferred,
            "false_alarms": false_alarms,
            "seen": exposures,
            "claims": claims,
            "alarms": alarms,
        },
    )


def _figures(means: Floats) -> Floats:
    """Return exposed, inferred, false alarms and risk (m, 4) from means over documents (m, 3)."""
    exposed, claimed, alarms = means.T
    hidden = 1 - exposed
    inferred = np.divide(claimed, hidden, out=np.zeros_like(claimed), where=hidden > 1e-12)
    risk = exposed + hidden * np.maximum(0, inferred - alarms)
    return np.stack([exposed, np.minimum(inferred, 1), alarms, np.clip(risk, 0, 1)], axis=1)


def attack(
    collection: SensitiveCollection,
    strategy: str | Mechanism,
    p: ArrayLike | None,
    attacker: str | Attack = "known-item(terms=5)",
    k: int = 10,
    seed: int = 0,
) -> Outcome:
    """Return the outcome of an attack by a searcher without clearance.

    Parameters
    ----------
    strategy, p
        The mechanism, and the probabilities that it uses: see `rank`.
    attacker
        The attack: ``known-item(terms=5)``, ``gap``, ``count``, ``frequency`` or ``queries``.
    k
        Number of documents on a page.
    seed
        Seed of the decoys, which protects nothing: equal decoys make figures comparable.

    Notes
    -----
    The risk is that of these attacks. An attacker who knows more or asks more may find more.
    """
    from veil.sensitive.attacks import attacker as attack_of

    mechanism, by, k = mechanism_of(strategy), attack_of(attacker), check_k(k)
    searcher = mechanism.open(scene_of(collection, mechanism, p))
    return by.run(Scene(collection, searcher, k, seed))


Words = tuple[str, ...]


class Strongest:
    r"""The words with the largest TF-IDF of a document, :math:`(1 + \ln tf) \ln(1 + n/df)`.

    A word represents its index term: of several spellings, the alphabetically first is used.
    """

    def __init__(self, collection: SensitiveCollection) -> None:
        self._passages, self._index = collection.documents.passages, matcher(collection).index
        self._terms: dict[str, str] = {}
        self._ranked: dict[int, Words] = {}

    def words(self, place: int, most: int) -> Words:
        """Return at most `most` words of a document, the strongest first; ties alphabetical."""
        if place not in self._ranked:
            self._ranked[place] = self._rank(place)
        return self._ranked[place][:most]

    def _rank(self, place: int) -> Words:
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


MOST = 100  # maximum number of words that an attacker knows of a document


def strongest(collection: SensitiveCollection) -> Strongest:
    """Return the cached strongest words of a collection's documents."""
    return collection.remember("sensitive-strongest", lambda: Strongest(collection))


def targets(scene: Scene, terms: int) -> list[Words]:
    """Return the known words of each sensitive document."""
    ranked = strongest(scene.collection)
    return [ranked.words(place, terms) for place in scene.targets.tolist()]


def decoys(scene: Scene, terms: int) -> list[Words]:
    """Return for each target a nonexistent document, described by as many words.

    Each word is one of the strongest words of a random document that is not sensitive, so that
    decoys have words as rare as those of the targets.
    """
    ranked, rng = strongest(scene.collection), scene.random()
    visible = np.flatnonzero(scene.collection.sensitive == 0).tolist()
    visible = [place for place in visible if ranked.words(place, terms)]
    if not visible:
        raise InputError(
            "An attack needs documents that are not sensitive, as decoys. Label some."
        )
    phrases: list[Words] = []
    for known_words in targets(scene, terms):
        words: dict[str, None] = {}
        for _ in range(20 * len(known_words)):  # words may repeat
            if len(words) < len(known_words):
                own = ranked.words(visible[int(rng.integers(len(visible)))], terms)
                words[own[int(rng.integers(len(own)))]] = None
        phrases.append(tuple(words))
    return phrases
