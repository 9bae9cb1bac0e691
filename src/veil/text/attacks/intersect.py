"""Intersect: which words can have given everything that was seen in a slot."""

from typing import ClassVar

import numpy as np

from veil.core.errors import ParameterError
from veil.core.outcome import standing
from veil.core.types import Floats
from veil.data.fetch import Report, silent
from veil.text.attacks._likelihood import likelihood
from veil.text.attacks._slots import Slot, slots
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.bayes import Selection
from veil.text.attacks.shapes import space_of, word_mechanism
from veil.text.mechanisms.words.kernels import Shortlist
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.vectors.embeddings import Embeddings


class Intersect(AttackSpec):
    r"""Keep the words whose candidates hold everything seen, and rank them by likelihood.

    .. math:: F = \{ w : y_1, \dots, y_N \in C(w) \}

    For mechanisms whose kernel is a `Shortlist`, which draws from a few candidates per word
    (custext, wbb): each word seen rules out all words that do not have it among their candidates,
    and what is left is certain to hold the true word. `Outcome.left` is the number of words left.

    Notes
    -----
    A word that the vectors do not know, or that was ruled out because the variants were made in
    another way, has rank V + 1 among all V words, and V words are left.
    """

    name: ClassVar[str] = "intersect"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    select: Selection = ""

    def attack(self, scene: Scene, report: Report = silent) -> Outcome:
        """Rank the true word of each slot among those that are possible."""
        space = space_of(scene, self.name)
        mechanism = word_mechanism(scene, self.name)
        _require_candidates(mechanism, space)
        law = likelihood(mechanism, space)
        rows = []
        law.prepare(np.empty(0, dtype=np.int64), report)
        for slot in slots(scene, self.name, self.select):
            report("ruling out words", slot.text, len(scene.originals))
            rows.append((*_rank(law.of(slot.seen), slot, law.rounding), slot.text))
        report("ruling out words", len(scene.originals), len(scene.originals))
        found, ties, left, texts = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        among = np.full(len(found), space.size, dtype=np.int64)
        return Outcome(found, among, texts, "word", left=left, ties=ties)


def _rank(scores: Floats, slot: Slot, rounding: float) -> tuple[int, int, int]:
    """Return the rank of the truth, its ties, and how many words were not ruled out."""
    if slot.truth < 0 or np.isneginf(scores[slot.truth]):
        return len(scores) + 1, 1, len(scores)
    left = int(np.count_nonzero(scores > -np.inf))
    return (*standing(scores, slot.truth, rounding), left)


def _require_candidates(mechanism: WordMechanism, space: Embeddings) -> None:
    if not isinstance(mechanism.bind(space), Shortlist):
        raise ParameterError(
            "The intersect attacker needs a mechanism whose kernel is a Shortlist, which draws"
            f" from a few candidates per word (custext, wbb); that of {mechanism.name} is none:"
            " use reconstruct."
        )
