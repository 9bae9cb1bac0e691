"""Somebody who looks at what is missing."""

from typing import ClassVar

import numpy as np

from veil.sensitive.attacker import Attacker, Probe, Sightings
from veil.sensitive.attackers.known_item import Terms
from veil.sensitive.known import decoys, targets
from veil.sensitive.strategy import Answer


class Gap(Attacker):
    """Ask for a document by its words; a list with a gap tells that something is withheld.

    A list has a gap when it is shorter than min(k, the total that is printed above it), or when
    the ranks that are shown leave one out. Strategies that cut first and withhold then fail here.
    """

    name: ClassVar[str] = "gap"

    terms: Terms = 5

    def run(self, probe: Probe) -> Sightings:
        """Conclude from gaps, about documents and about decoys."""
        real, fake = targets(probe, self.terms), decoys(probe, self.terms)
        answers = [probe.ask(" ".join(words)) for words in real]
        others = [probe.ask(" ".join(words)) for words in fake]
        return Sightings.of(
            probe,
            answers,
            [has_gap(answer, probe.k) for answer in answers],
            [has_gap(answer, probe.k) for answer in others],
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
