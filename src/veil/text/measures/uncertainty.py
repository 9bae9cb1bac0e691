r"""Uncertainty statistics of a word mechanism, counted in the variants of a text.

.. math:: N_w = \Pr[M(w) = w], \quad
   S_w = \min |\{S \subseteq V : \Pr[M(w) \notin S] \le \eta\}|

for a word w that went through the mechanism M: the probability that it stays the same, and the
smallest number of outputs that together have probability 1 - eta (eta = 0.05). Both are counted in
the variants of the text of w. S_w is therefore at most the number of variants, and too low if they
are few. `veil.explain` gives the exact values if the output distribution is known.

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


class _WordMean(TextMeasure):
    """The mean of a statistic over the words of a text.

    It is nan for a text in which no known word went through the mechanism.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "vectors"})

    @abstractmethod
    def of_word(self, word: int, outputs: Ids) -> float:
        """Return the statistic of a word from the words in its slot, one per variant."""

    def measure(self, comparison: Comparison) -> Floats:
        """Return the mean (n,) of each text."""
        if comparison.mechanism is None or comparison.vectors is None:
            raise ParameterError(
                f"{self.name} needs a word mechanism and its word vectors. Pass mechanism= and"
                " vectors=."
            )
        reading = reader(comparison.mechanism, comparison.vectors, "")
        out = np.full(len(comparison.originals), np.nan)
        for number, (text, row) in enumerate(
            zip(comparison.originals, comparison.variants, strict=True)
        ):
            shaped = reading.read(text)
            outputs = reading.seen(shaped.shape, chunks(row))
            if outputs is None or not len(outputs):
                continue
            values = [
                self.of_word(word, outputs[:, slot])
                for slot, word in enumerate(shaped.ids)
                if word >= 0
            ]
            if values:
                out[number] = np.cumsum(values)[-1] / len(values)  # a sum in a fixed order
        return out


class Itself(_WordMean):
    """N_w: how often a word stays the same."""

    name: ClassVar[str] = "N_w"
    says: ClassVar[str] = "How often the mechanism leaves a word unchanged (N_w)."

    def of_word(self, word: int, outputs: Ids) -> float:
        """Return the share of variants with the word itself."""
        return float(np.mean(outputs == word))


class Support(_WordMean):
    """S_w: the smallest number of outputs that cover 95 % of the variants of a word."""

    name: ClassVar[str] = "S_w"
    says: ClassVar[str] = "Number of outputs that cover 95 % of the variants of a word (S_w)."
    lowest: ClassVar[float] = 1.0
    highest: ClassVar[float] = inf

    def of_word(self, word: int, outputs: Ids) -> float:
        """Return the number of most frequent outputs that are needed."""
        del word
        _, counts = np.unique(outputs, return_counts=True)
        covered = np.cumsum(np.sort(counts)[::-1])
        return int(np.searchsorted(covered, (1 - ETA) * len(outputs) * (1 - 1e-12))) + 1
