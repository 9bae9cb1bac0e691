r"""The uncertainty statistics of a word mechanism, counted in the variants of a study.

.. math:: N_w = \Pr[M(w) = w], \quad
   S_w = \min |\{S \subseteq V : \Pr[M(w) \notin S] \le \eta\}|

for a word w that went through the mechanism M: how often it comes out as itself, and the smallest
number of outputs that hold 1 - eta of the probability (eta = 0.05). Both are counted in the
variants of the query that w is in, so that S_w is at most their number; of few variants it comes
out too low. `veil.explain` gives the exact values where the law is known.

References
----------
Feyisetan, Balle, Drake, Diethe. Privacy- and Utility-Preserving Textual Analysis via Calibrated
Multivariate Perturbations. WSDM 2020. doi:10.1145/3336191.3371856
"""

from collections.abc import Sequence

import numpy as np

from veil.core.types import Floats, Ids
from veil.text.attacks.shapes import chunks, reader
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.vectors.embeddings import Embeddings

ETA = 0.05


def uncertainty(
    mechanism: WordMechanism,
    space: Embeddings,
    texts: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> dict[str, Floats]:
    """Return the means of N_w and S_w over the words of each text (n,).

    They are nan for a text without a known word that went through the mechanism.
    """
    reading = reader(mechanism, space, "")
    found = np.full((2, len(texts)), np.nan)
    for number, (text, row) in enumerate(zip(texts, rows, strict=True)):
        read = reading.read(text)
        seen = reading.seen(read.shape, chunks(row))
        if seen is None or not len(seen):
            continue
        words = [
            (np.mean(seen[:, place] == word), _support(seen[:, place]))
            for place, word in enumerate(read.ids)
            if word >= 0
        ]
        if words:
            found[:, number] = np.mean(words, axis=0)
    return {"N_w": found[0], "S_w": found[1]}


def _support(seen: Ids) -> int:
    """Return the smallest number of outputs that hold 1 - eta of what was seen."""
    _, counts = np.unique(seen, return_counts=True)
    covered = np.cumsum(np.sort(counts)[::-1])
    return int(np.searchsorted(covered, (1 - ETA) * len(seen) * (1 - 1e-12))) + 1
