"""The words that stand behind unknown ones."""

import threading

import numpy as np
from numpy.random import Generator

from veil.core.types import Ids
from veil.data.embeddings import Embeddings
from veil.mechanisms.words.mechanism import WordMechanism

_POOL = 16  # drawn at a time: the laws of many words cost little more than that of one
_USES = 8  # texts that a decoy serves before it is thrown away


class Decoys:
    """Words drawn uniformly from the vocabulary, whatever the unknown words are.

    The mechanism's output for a decoy takes the unknown word's place, so that the variants of a
    text look as if it were a known word. A decoy serves a few texts, as a word that people repeat
    would; the words of one text have different ones.
    """

    def __init__(self, words: int) -> None:
        self._words = words
        self._left: dict[int, int] = {}
        self._lock = threading.Lock()
        self.nbytes = 200 * _POOL

    def take(self, counts: list[int], rng: Generator) -> Ids:
        """Return `counts[i]` decoys for text i, one text after the other."""
        with self._lock:
            return np.array(
                [decoy for count in counts if count for decoy in self._serve(count, rng)],
                dtype=np.int64,
            )

    def _serve(self, count: int, rng: Generator) -> list[int]:
        if len(self._left) < count:
            wanted = min(self._words, max(_POOL, 2 * count))
            fresh = rng.choice(self._words, size=wanted, replace=False).tolist()
            self._left.update(dict.fromkeys(fresh, _USES))
        pool = list(self._left)
        if len(pool) < count:  # a tiny vocabulary: the same word may stand at two places
            return [int(word) for word in rng.choice(pool, size=count)]
        chosen = [pool[i] for i in rng.permutation(len(pool))[:count]]
        for word in chosen:
            self._left[word] -= 1
            if not self._left[word]:
                del self._left[word]
        return chosen


def decoys(mechanism: WordMechanism, space: Embeddings, *, seeded: bool) -> Decoys:
    """Return this process's decoys for a mechanism; a seeded release has its own, to repeat."""
    if seeded:
        return Decoys(space.size)
    key = ("decoys", str(mechanism))
    found = space.memo.get(key, Decoys)
    if found is None:
        found = Decoys(space.size)
        space.memo.put(key, found)
    return found
