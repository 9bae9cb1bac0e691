"""Attacks that use known items, gaps in lists, or totals."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.outcome import Outcome
from veil.sensitive.attack import MOST, PAGED, Attack, Scene, Words, decoys, outcome, targets
from veil.sensitive.mechanism import Answer


class Queries(Attack):
    """Run only the queries of the collection: searchers may see sensitive documents by chance."""

    name: ClassVar[str] = "queries"

    @override
    def run(self, scene: Scene) -> Outcome:
        queries = scene.collection.queries
        if not queries:
            raise InputError("The attack 'queries' needs queries in the collection. Add some.")
        topic = scene.collection.topic
        return outcome(scene, [scene.ask(text, topic(name)) for name, text in queries.items()])


Terms = Annotated[int, Field(ge=1, le=MOST, description="known words of a document, by TF-IDF")]


class KnownItem(Attack):
    """Search each sensitive document by its strongest words: finds what the classifier missed."""

    name: ClassVar[str] = "known-item"

    terms: Terms = 5

    @override
    def run(self, scene: Scene) -> Outcome:
        return outcome(
            scene, [scene.ask(" ".join(words)) for words in targets(scene, self.terms) if words]
        )


class Count(Attack):
    """Query word by word: "n results" minus the documents on all pages are withheld.

    A document is concluded to exist if each of its words has a withheld document. Totals
    that count only visible documents reveal nothing.
    """

    name: ClassVar[str] = "count"

    terms: Terms = 5

    @override
    def run(self, scene: Scene) -> Outcome:
        real, fake = targets(scene, self.terms), decoys(scene, self.terms)
        answers = {word: scene.page(word) for words in real for word in words}
        others = {word: answers.get(word) or scene.page(word) for words in fake for word in words}
        return outcome(
            scene,
            list(answers.values()),
            [_concludes(words, answers) for words in real],
            [_concludes(words, others) for words in fake],
        )


def _concludes(words: Words, answers: dict[str, Answer]) -> bool:
    return bool(words) and all(_withheld(answers[word]) > 0 for word in words)


def _withheld(answer: Answer) -> int:
    """Return the number of counted documents that are not shown; 0 if there are too many pages."""
    paged = len(answer.positions)
    return answer.total - paged if paged < PAGED else 0


class Gap(Attack):
    """Search a document by its words; a gap in the list reveals that something is withheld.

    A list has a gap if it is shorter than min(k, the total printed above it), or if its ranks skip
    one. Mechanisms that cut the list first and withhold afterwards fail here.
    """

    name: ClassVar[str] = "gap"

    terms: Terms = 5

    @override
    def run(self, scene: Scene) -> Outcome:
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
    """Return whether a list is too short, or its ranks have a hole.

    Scores that are 1/rank are ranks; other scores do not reveal holes.
    """
    shown = len(answer.positions)
    if shown < min(k, answer.total):
        return True
    ranks = 1 / np.maximum(answer.scores, 1e-12)
    whole = np.abs(ranks - np.round(ranks)) < 1e-9
    return bool(whole.all() and (np.round(ranks) != np.arange(1, shown + 1)).any())
