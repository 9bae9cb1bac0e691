"""Reconstruct: which word of the whole vocabulary stands behind what was seen in a slot."""

from typing import ClassVar

import numpy as np

from veil.core.outcome import standing
from veil.core.types import Floats
from veil.data.fetch import Report, silent
from veil.text.attacks._likelihood import Surrogate, each, likelihood
from veil.text.attacks._slots import slots
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.bayes import Prior, Selection
from veil.text.attacks.shapes import space_of, word_mechanism


class Reconstruct(AttackSpec):
    r"""Rank all words by their probability given the words seen in a slot.

    .. math:: \log P(w | y_1, \dots, y_N) = \log P(w) + \sum_j \log P(y_j | w) + c

    No log is needed. Each protected word of a text is guessed on its own; a word that the vectors
    do not know cannot be guessed, and has rank V + 1.

    Notes
    -----
    Exact for custext and wbb. For cmp, mahalanobis and vickrey a surrogate stands in for the law,
    as for `bayes`: the model `simulated` draws on all variants, where the sum of densities loses
    its way at small epsilon. For santext and tem the 64 likeliest words, and all words of a
    vocabulary of at most 4,096, have their exact law; farther down the normalisers are estimated
    from a sample (see `veil.text.attacks._exponentials`). The prior `frequency` is Zipf's law:
    words are in order of frequency.
    """

    name: ClassVar[str] = "reconstruct"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    prior: Prior = "uniform"
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    def attack(self, scene: Scene, report: Report = silent) -> Outcome:
        """Rank the true word of each slot among all words."""
        space = space_of(scene, self.name)
        law = likelihood(word_mechanism(scene, self.name), space, self.surrogate)
        prior = zipf(space.size) if self.prior == "frequency" else np.zeros(space.size)
        found, texts, before = [], [], []
        law.prepare(np.empty(0, dtype=np.int64), report)
        wanted = list(slots(scene, self.name, self.select))
        scores = each(law, [slot.seen for slot in wanted])
        for slot, score in zip(wanted, scores, strict=True):
            report("reconstructing words", slot.text, len(scene.originals))
            found.append(standing(score + prior, slot.truth, law.rounding))
            texts.append(slot.text)
            before.append(standing(prior, slot.truth))
        report("reconstructing words", len(scene.originals), len(scene.originals))
        ranks, ties = np.array(found, dtype=np.int64).reshape(-1, 2).T
        believed, level = np.array(before, dtype=np.int64).reshape(-1, 2).T
        informed = self.prior == "frequency"
        return Outcome(
            ranks,
            np.full(len(found), space.size, dtype=np.int64),
            np.array(texts, dtype=np.int64),
            "word",
            prior=believed if informed else None,
            ties=ties,
            prior_ties=level if informed else None,
        )


def zipf(words: int) -> Floats:
    """Return the log-prior (V,) of Zipf's law for words in order of frequency."""
    prior: Floats = -np.log(np.arange(1, words + 1, dtype=np.float64))
    return prior
