r"""The uncertainty statistics of a word mechanism, counted in the variants of a text.

.. math:: N_w = \Pr[M(w) = w], \quad
   S_w = \min |\{S \subseteq V : \Pr[M(w) \notin S] \le \eta\}|

for a word w that went through the mechanism M: how often it comes out as itself, and the smallest
number of outputs that hold 1 - eta of the probability (eta = 0.05). Both are counted in the
variants of the text that w is in, so that S_w is at most their number; of few variants it comes
out too low. `veil.explain` gives the exact values where the law is known.

References
----------
Feyisetan, Balle, Drake, Diethe. Privacy- and Utility-Preserving Textual Analysis via Calibrated
Multivariate Perturbations. WSDM 2020. doi:10.1145/3336191.3371856
"""

from abc import abstractmethod
from math import inf
from typing import ClassVar

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids
from veil.text.attacks.shapes import chunks, reader
from veil.text.measures.measure import Comparison, TextMeasure

ETA = 0.05


class _Counted(TextMeasure):
    """The mean of a statistic over the words of a text.

    It is nan for a text without a known word that went through the mechanism.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "vectors"})

    @abstractmethod
    def of_word(self, word: int, seen: Ids) -> float:
        """Return the statistic of a word from what stands at its place in each variant."""

    def measure(self, given: Comparison) -> Floats:
        """Return the mean of each text (n,)."""
        if given.mechanism is None or given.vectors is None:
            raise ParameterError(
                f"{self.name} needs a word mechanism and its word vectors: give mechanism= and"
                " vectors=."
            )
        reading = reader(given.mechanism, given.vectors, "")
        out = np.full(len(given.originals), np.nan)
        for number, (text, row) in enumerate(zip(given.originals, given.variants, strict=True)):
            read = reading.read(text)
            seen = reading.seen(read.shape, chunks(row))
            if seen is None or not len(seen):
                continue
            words = [
                self.of_word(word, seen[:, place])
                for place, word in enumerate(read.ids)
                if word >= 0
            ]
            if words:
                out[number] = np.cumsum(words)[-1] / len(words)  # added up in order
        return out


class Itself(_Counted):
    """N_w: how often a word comes out as itself."""

    name: ClassVar[str] = "N_w"
    says: ClassVar[str] = "How often a word comes out of the mechanism as itself (N_w)."

    def of_word(self, word: int, seen: Ids) -> float:
        """Return the share of variants that have the word."""
        return float(np.mean(seen == word))


class Support(_Counted):
    """S_w: the smallest number of outputs that hold 95 % of what was seen of a word."""

    name: ClassVar[str] = "S_w"
    says: ClassVar[str] = "How many outputs hold 95 % of what a word becomes (S_w)."
    lowest: ClassVar[float] = 1.0
    highest: ClassVar[float] = inf

    def of_word(self, word: int, seen: Ids) -> float:
        """Return how many of the commonest outputs are needed."""
        del word
        _, counts = np.unique(seen, return_counts=True)
        covered = np.cumsum(np.sort(counts)[::-1])
        return int(np.searchsorted(covered, (1 - ETA) * len(seen) * (1 - 1e-12))) + 1
