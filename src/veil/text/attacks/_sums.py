"""Sums, over the words seen, of a function of their distance to every word."""

from collections.abc import Callable

import numpy as np

from veil.core.types import Floats, Ids
from veil.text.vectors.distances import in_chunks, sweep
from veil.text.vectors.embeddings import Embeddings

Change = Callable[[Floats], None]  # of a block of distances, in place
ROUNDING = 1e-9  # of sums in float64, as a share of themselves
_ROWS = 64  # words seen, at a time


def subspace(space: Embeddings, words: Ids) -> Embeddings:
    """Return a space of some words only; `words` are distinct and in order."""
    named = tuple(space.words[i] for i in words.tolist())
    name = f"{len(named)} words of {space.name}"
    return Embeddings(named, space.vectors[words], name, trusted=True)


def summed(space: Embeddings, seen: Ids, metric: str, change: Change | None = None) -> Floats:
    """Return the sum over `seen` of a function of the distance to each word, (V,).

    A word that was seen many times costs as much as one that was seen once.
    """
    words, counts = np.unique(seen, return_counts=True)
    out = np.zeros(space.size)
    for part in in_chunks(words, _ROWS):
        weights = counts[part].astype(np.float64)

        def take(block: Floats, columns: slice, weights: Floats = weights) -> None:
            if change is not None:
                change(block)
            out[columns] += weights @ block

        sweep(space, words[part], metric, take)
    return out


def log_mean(logs: Floats) -> float:
    """Return the logarithm of the mean of the exponentials; -inf of none at all."""
    top = logs.max(initial=-np.inf)
    if not np.isfinite(top):
        return float("-inf")
    return float(top + np.log(np.exp(logs - top).mean()))
