"""Somebody who compares the printed total with what can be paged through."""

from typing import ClassVar

from veil.sensitive.attacker import PAGED, Attacker, Probe, Sightings
from veil.sensitive.attackers.known_item import Terms
from veil.sensitive.known import Words, decoys, targets
from veil.sensitive.strategy import Answer


class Count(Attacker):
    """Ask word by word: "n results" less what can be paged through are withheld documents.

    The conclusion is that a document exists when each of its words has a withheld one. Totals
    that count only what may be shown tell nothing.
    """

    name: ClassVar[str] = "count"

    terms: Terms = 5

    def run(self, probe: Probe) -> Sightings:
        """Page through the answers to each word, of documents and of decoys."""
        real, fake = targets(probe, self.terms), decoys(probe, self.terms)
        asked = {word: probe.page(word) for words in real for word in words}
        others = {word: asked.get(word) or probe.page(word) for words in fake for word in words}
        return Sightings.of(
            probe,
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
