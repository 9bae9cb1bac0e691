"""Attackers that know what to look for, look for gaps, or compare totals."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.outcome import Outcome
from veil.sensitive.attack import MOST, PAGED, Attack, Scene, Words, decoys, outcome, targets
from veil.sensitive.mechanism import Answer


class Queries(Attack):
    """Ask the queries of the collection and nothing else: who looks for no secrets, sees some."""

    name: ClassVar[str] = "queries"

    def run(self, scene: Scene) -> Outcome:
        """Look at every list, and conclude nothing."""
        asked = scene.collection.queries
        if not asked:
            raise InputError("The attacker 'queries' needs queries of the collection.")
        topic = scene.collection.topic
        return outcome(scene, [scene.ask(text, topic(name)) for name, text in asked.items()])


Terms = Annotated[
    int, Field(ge=1, le=MOST, description="words that are known of a document, by TF-IDF")
]


class KnownItem(Attack):
    """Ask for each sensitive document by its strongest words: shows what the classifier missed."""

    name: ClassVar[str] = "known-item"

    terms: Terms = 5

    def run(self, scene: Scene) -> Outcome:
        """Look at the lists, and conclude nothing: the document is known to exist."""
        return outcome(
            scene, [scene.ask(" ".join(words)) for words in targets(scene, self.terms) if words]
        )


class Count(Attack):
    """Ask word by word: "n results" less what can be paged through are withheld documents.

    The conclusion is that a document exists when each of its words has a withheld one. Totals
    that count only what may be shown tell nothing.
    """

    name: ClassVar[str] = "count"

    terms: Terms = 5

    def run(self, scene: Scene) -> Outcome:
        """Page through the answers to each word, of documents and of decoys."""
        real, fake = targets(scene, self.terms), decoys(scene, self.terms)
        asked = {word: scene.page(word) for words in real for word in words}
        others = {word: asked.get(word) or scene.page(word) for words in fake for word in words}
        return outcome(
            scene,
            list(asked.values()),
            [_concludes(words, asked) for words in real],
            [_concludes(words, others) for words in fake],
        )


def _concludes(words: Words, answers: dict[str, Answer]) -> bool:
    return bool(words) and all(_withheld(answers[word]) > 0 for word in words)


def _withheld(answer: Answer) -> int:
    """Return how many documents of the total are not shown; 0 where the pages end too early."""
    paged = len(answer.positions)
    return answer.total - paged if paged < PAGED else 0


class Gap(Attack):
    """Ask for a document by its words; a list with a gap tells that something is withheld.

    A list has a gap when it is shorter than min(k, the total that is printed above it), or when
    the ranks that are shown leave one out. Strategies that cut first and withhold then fail here.
    """

    name: ClassVar[str] = "gap"

    terms: Terms = 5

    def run(self, scene: Scene) -> Outcome:
        """Conclude from gaps, about documents and about decoys."""
        real, fake = targets(scene, self.terms), decoys(scene, self.terms)
        answers = [scene.ask(" ".join(words)) for words in real]
        others = [scene.ask(" ".join(words)) for words in fake]
        return outcome(
            scene,
            answers,
            [has_gap(answer, scene.k) for answer in answers],
            [has_gap(answer, scene.k) for answer in others],
        )


def has_gap(answer: Answer, k: int) -> bool:
    """Whether a list is too short, or its ranks have a hole.

    Scores that are 1/rank are ranks; others say nothing of holes.
    """
    shown = len(answer.positions)
    if shown < min(k, answer.total):
        return True
    ranks = 1 / np.maximum(answer.scores, 1e-12)
    whole = np.abs(ranks - np.round(ranks)) < 1e-9
    return bool(whole.all() and (np.round(ranks) != np.arange(1, shown + 1)).any())
