r"""An attack that inverts scores to the document statistics behind them.

The score of a document that contains the only query term tf times and has L terms is

.. math:: s = idf \cdot \frac{tf}{tf + k_1 (1 - b + b L/\bar{L})},
   \qquad e^{idf} = \frac{N + 1}{df + 1/2}.

tf and L are known from the documents shown, :math:`k_1` and b are public. 1/s is linear in 1/idf
and :math:`1/(idf\,\bar{L})`, so two documents of a term determine both. :math:`e^{idf}(v + 1/2)`,
with v the documents of the term on all pages, is N + 1 for a term without withheld documents, and
less for all others: the largest gives N. Then df - v documents of a term are withheld.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from veil.core.outcome import Outcome
from veil.core.types import Floats
from veil.sensitive.attack import PAGED, Attack, Scene, Words, decoys, outcome, targets
from veil.sensitive.attacks.known_item import Terms
from veil.sensitive.candidates import K1, B, matcher
from veil.sensitive.mechanism import Answer

_FEWEST = 4  # minimum number of documents of a term to estimate the mean length


class Frequency(Attack):
    """Invert shown scores to document frequencies; an excess over visible documents is withheld.

    A document is concluded to exist if each of its words that is visible elsewhere has a withheld
    document, and at least one word is. Lists without scores reveal nothing.
    """

    name: ClassVar[str] = "frequency"

    terms: Terms = 5

    @override
    def run(self, scene: Scene) -> Outcome:
        real, fake = targets(scene, self.terms), decoys(scene, self.terms)
        answers = {word: scene.page(word) for words in real for word in words}
        others = {word: answers.get(word) or scene.page(word) for words in fake for word in words}
        excess = withheld(scene, {**answers, **others})
        return outcome(
            scene,
            list(answers.values()),
            [_concludes(words, excess) for words in real],
            [_concludes(words, excess) for words in fake],
        )


def _concludes(words: Words, excess: dict[str, int]) -> bool:
    excesses = [excess[word] for word in words if word in excess]
    return bool(excesses) and min(excesses) > 0


@dataclass(frozen=True, eq=False)
class _Shown:
    """Scores (m,) of the documents shown for one term, with their term counts and lengths."""

    scores: Floats
    counts: Floats
    lengths: Floats

    def mean_length(self) -> float:
        """Return the engine's mean length; nan if the documents are too similar."""
        sides = np.stack(
            [1 + K1 * (1 - B) / self.counts, K1 * B * self.lengths / self.counts], axis=1
        )
        constant, per_length = np.linalg.lstsq(sides, 1 / self.scores, rcond=None)[0]
        if np.linalg.matrix_rank(sides) < 2 or constant <= 0 or per_length <= 0:
            return float("nan")
        return float(constant / per_length)

    def odds(self, mean: float) -> float:
        """Return exp(idf) = (N + 1)/(df + 1/2)."""
        long = K1 * (1 - B + B * self.lengths / mean)
        return float(np.exp(np.median(self.scores * (self.counts + long) / self.counts)))


def withheld(scene: Scene, answers: dict[str, Answer]) -> dict[str, int]:
    """Return the number of counted but withheld documents of each word, if revealed."""
    shown = {word: _read(scene, word, answer) for word, answer in answers.items()}
    usable = {word: record for word, record in shown.items() if record is not None}
    lengths = [record.mean_length() for record in usable.values() if len(record.scores) >= _FEWEST]
    lengths = [record for record in lengths if np.isfinite(record)]
    if not lengths:
        return {}
    mean = float(np.median(lengths))
    odds = {word: record.odds(mean) for word, record in usable.items()}
    size = round(max(odds[word] * (len(record.scores) + 0.5) for word, record in usable.items()))
    return {
        word: round(size / odds[word] - 0.5 - len(record.scores))
        for word, record in usable.items()
    }


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
