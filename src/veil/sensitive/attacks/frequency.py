r"""Somebody who computes back from scores to the statistics that they were made with.

The score of a document that holds one asked term tf times and has L terms is

.. math:: s = idf \cdot \frac{tf}{tf + k_1 (1 - b + b L/\bar{L})},
   \qquad e^{idf} = \frac{N + 1}{df + 1/2}.

tf and L are read in the documents shown, :math:`k_1` and b are public. 1/s is linear in 1/idf and
:math:`1/(idf\,\bar{L})`, so that two documents of a term give both. :math:`e^{idf}(v + 1/2)`, with
v the documents of the term that can be paged through, is N + 1 for a term of which nothing is
withheld, and less for all others: the largest gives N. Then df - v documents of a term are
withheld.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.outcome import Outcome
from veil.core.types import Floats
from veil.sensitive.attack import PAGED, Attack, Scene, Words, decoys, outcome, targets
from veil.sensitive.attacks.known_item import Terms
from veil.sensitive.candidates import K1, B, matcher
from veil.sensitive.mechanism import Answer

_FEWEST = 4  # documents of a term that the mean length is taken from


class Frequency(Attack):
    """Invert shown scores to document frequencies: those above what is visible tell of more.

    The conclusion is that a document exists when each of its words that is visible elsewhere has a
    withheld one, and at least one word is. Lists without scores tell nothing.
    """

    name: ClassVar[str] = "frequency"

    terms: Terms = 5

    def run(self, scene: Scene) -> Outcome:
        """Ask word by word, and compute what the engine counted."""
        real, fake = targets(scene, self.terms), decoys(scene, self.terms)
        asked = {word: scene.page(word) for words in real for word in words}
        others = {word: asked.get(word) or scene.page(word) for words in fake for word in words}
        excess = withheld(scene, {**asked, **others})
        return outcome(
            scene,
            list(asked.values()),
            [_concludes(words, excess) for words in real],
            [_concludes(words, excess) for words in fake],
        )


def _concludes(words: Words, excess: dict[str, int]) -> bool:
    known = [excess[word] for word in words if word in excess]
    return bool(known) and min(known) > 0


@dataclass(frozen=True, eq=False)
class _Shown:
    """Scores (m,) of the documents shown for one term, with what is read in them."""

    scores: Floats
    counts: Floats
    lengths: Floats

    def mean_length(self) -> float:
        """Return the engine's mean length; nan where the documents are too much alike."""
        sides = np.stack(
            [1 + K1 * (1 - B) / self.counts, K1 * B * self.lengths / self.counts], axis=1
        )
        one, per_length = np.linalg.lstsq(sides, 1 / self.scores, rcond=None)[0]
        if np.linalg.matrix_rank(sides) < 2 or one <= 0 or per_length <= 0:
            return float("nan")
        return float(one / per_length)

    def odds(self, mean: float) -> float:
        """Return exp(idf) = (N + 1)/(df + 1/2)."""
        long = K1 * (1 - B + B * self.lengths / mean)
        return float(np.exp(np.median(self.scores * (self.counts + long) / self.counts)))


def withheld(scene: Scene, answers: dict[str, Answer]) -> dict[str, int]:
    """Return how many documents of each word are counted but cannot be seen, where it is told."""
    shown = {word: _read(scene, word, answer) for word, answer in answers.items()}
    told = {word: one for word, one in shown.items() if one is not None}
    lengths = [one.mean_length() for one in told.values() if len(one.scores) >= _FEWEST]
    lengths = [one for one in lengths if np.isfinite(one)]
    if not lengths:
        return {}
    mean = float(np.median(lengths))
    odds = {word: one.odds(mean) for word, one in told.items()}
    size = round(max(odds[word] * (len(one.scores) + 0.5) for word, one in told.items()))
    return {word: round(size / odds[word] - 0.5 - len(one.scores)) for word, one in told.items()}


def _read(scene: Scene, word: str, answer: Answer) -> _Shown | None:
    """Return what an answer to one term shows; None without scores, or with too many pages."""
    places, scores = answer.positions, np.asarray(answer.scores, dtype=np.float64)
    if not 0 < len(places) < PAGED or np.array_equal(scores, 1 / np.arange(1, len(places) + 1)):
        return None
    index = matcher(scene.collection).index
    terms = index.ids(word)
    if len(terms) != 1 or (scores <= 0).any():
        return None
    own = slice(index.indptr[terms[0]], index.indptr[terms[0] + 1])
    at = np.searchsorted(index.docs[own], places)
    return _Shown(
        scores,
        index.counts[own][at].astype(np.float64),
        index.lengths[places].astype(np.float64),
    )
