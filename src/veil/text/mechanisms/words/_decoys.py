"""The words that stand behind unknown ones."""

import numpy as np
from numpy.random import Generator

from veil.core.types import Ids


class Decoys:
    """Words drawn uniformly from the vocabulary, whatever the unknown words are.

    The mechanism's output for a decoy takes the unknown word's place, so that the variants of a
    text look as if it were a known word. Each text has its own: decoys that serve several texts
    would tell that these come from one place. The words of one text have different ones.
    """

    def __init__(self, words: int) -> None:
        self._words = words

    def take(self, counts: list[int], rng: Generator) -> Ids:
        """Return `counts[i]` decoys for text i, one text after the other."""
        drawn = [self._draw(count, rng) for count in counts if count]
        return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64)

    def _draw(self, count: int, rng: Generator) -> Ids:
        # In a tiny vocabulary the same word may stand in two slots.
        return rng.choice(self._words, size=count, replace=count > self._words)
