"""How likely words of a log, and unknown ones, are to have given what was seen."""

from dataclasses import dataclass, field

import numpy as np

from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.text.attacks._likelihood import Likelihood
from veil.text.vectors.embeddings import Embeddings

_OTHERS = 4096  # words that stand for those of the vocabulary that are neither logged nor seen
_SEED = 20261116  # the same question gives the same answer


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Log-likelihoods of some words, made when they are asked for.

    Behind a word that the vectors do not know stands one drawn uniformly from the vocabulary: its
    likelihood is the mean over all words. Of a large vocabulary the words of the log and those
    seen, which matter most, are counted one by one, and 4,096 others stand for the rest.

    Attributes
    ----------
    law, words
        What is asked, and over which words (k,), in order.
    shares
        (k,) logarithm of how much of the vocabulary each stands for.
    """

    law: Likelihood
    exact: Ids
    words: Ids
    shares: Floats
    part: bool
    _made: dict[bytes, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, law: Likelihood, space: Embeddings, exact: Ids, seen: Ids) -> "Likelihoods":
        """Return those of the words of a log, given all words that were seen."""
        alone = np.union1d(exact, seen)
        rest = np.setdiff1d(_others(space), alone, assume_unique=False)
        words = np.union1d(alone, rest)
        small = law.within(words, exact) if len(words) < space.size // 2 else None
        if small is None:
            words = np.arange(space.size)
            shares = np.full(space.size, -np.log(space.size))
            return cls(law, exact, words, shares, part=False)
        shares = np.full(len(words), -np.log(space.size))
        standing = np.searchsorted(words, rest)
        shares[standing] += np.log((space.size - len(alone)) / len(rest))
        return cls(small, exact, words, shares, part=True)

    def at(self, seen: Ids, ids: Ids) -> Floats:
        """Return the log-likelihoods (m,) of words, -1 an unknown one, given the words seen.

        Words seen that the vectors do not know say nothing.
        """
        known = np.sort(seen[seen >= 0])
        key = known.tobytes()
        if key not in self._made:
            self._made[key] = self._make(known)
        among = np.searchsorted(self.words, ids) if self.part else ids
        return self._made[key][np.where(ids < 0, len(self.words), among)]

    def _make(self, seen: Ids) -> Floats:
        if self.part:
            logs = self.law.of(np.searchsorted(self.words, seen))
        else:
            logs = self.law.of(seen, self.exact)
        weighed = logs + self.shares
        top = weighed.max(initial=-np.inf)
        mean = top + np.log(np.exp(weighed - top).sum()) if np.isfinite(top) else -np.inf
        return np.append(logs, mean)


def _others(space: Embeddings) -> Ids:
    """Return words drawn once from the vocabulary."""
    found = space.memo.get("other words", np.ndarray)
    if found is None:
        found = np.sort(generator(_SEED).permutation(space.size)[:_OTHERS])
        space.memo.put("other words", found)
    return found
