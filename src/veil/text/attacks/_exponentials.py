"""Laws that fall exponentially in the distance (SanText, TEM), read backwards."""

import math
from dataclasses import replace

import numpy as np

from veil.core.rng import generator
from veil.core.types import Floats, Ids, Singles
from veil.data.fetch import Report, silent
from veil.text.attacks._normalisers import Normalisers, compute, prepare
from veil.text.attacks._sums import subspace, summed
from veil.text.mechanisms.words.exponential import Exponential
from veil.text.vectors.distances import in_chunks, sweep

_ROWS = 64  # words at a time
_SAMPLE = 1024  # words from which the normalisers of all words are estimated
_SMALL = 4096  # up to so many words all normalisers are exact
_TOP = 64  # words at the head of a ranking whose normalisers are exact
_ROUNDS = 16  # at most, until the head of the ranking stays
_SEED = 20261116  # the same question gives the same answer


class Exponentials:
    r"""Sum :math:`\log P(y | w) = -s \min(d(w, y), cap) - \log Z(w)` over what was seen.

    The distances are exact for every word. The normaliser Z(w) takes a pass over the vocabulary
    per word, and is computed where it matters: for the words asked for, for the 64 nearest to what
    was seen, and for those that stand among the 64 likeliest. Elsewhere it is estimated from 1,024
    words drawn once from the vocabulary, as the median of the means of 16 parts (the word itself,
    which has the largest share, counts exactly), so that a word near one of the sample is not
    taken for a crowded one. Up to 4,096 words everything is exact. Normalisers are kept, and
    those of a log beside the vectors, too.
    """

    rounding = 5e-7  # normalisers are sums of float32, as if epsilon were off by 3e-7 of itself

    def __init__(self, kernel: Exponential) -> None:
        self._kernel, self._space = kernel, kernel.space
        self.known = Normalisers.of(kernel)
        self._guess: Floats | None = None
        self.nbytes = 2 * self.known.logs.nbytes

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Compute the normalisers of these words, unless they are known."""
        prepare([self.known], exact, report)

    def within(self, words: Ids, exact: Ids) -> "Exponentials":
        """Return the same over these words, with normalisers over all words."""
        first = int(np.searchsorted(words, self._kernel.first))
        space = subspace(self._space, words)
        part = Exponentials(replace(self._kernel, space=space, first=first))
        self._compute(exact)
        logs = self._estimated.copy()
        logs[exact] = self.known.logs[exact]
        part.known.logs[:] = logs[words]
        part._guess = part.known.logs
        return part

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood of every word (V,)."""
        kernel = self._kernel
        drawn = seen[seen >= kernel.first]
        sums = -kernel.slope * summed(self._space, drawn, kernel.metric, self._cap)
        if kernel.p < 1:  # a word before `first` is replaced with probability p
            sums[: kernel.first] += len(drawn) * math.log(kernel.p)
        self._only_kept(sums, seen[seen < kernel.first])
        if not len(drawn):
            return sums
        return self._settle(sums, len(drawn), exact)

    def _cap(self, block: Floats) -> None:
        if self._kernel.cap < math.inf:
            np.minimum(block, self._kernel.cap, out=block)

    def _only_kept(self, sums: Floats, kept: Ids) -> None:
        """Rule out all words but one that was seen before `first`: it was kept."""
        if not len(kept):
            return
        itself = kept[0]
        own = sums[itself]
        sums[:] = -np.inf
        if (kept == itself).all() and self._kernel.p < 1:
            sums[itself] = own + len(kept) * math.log(1 - self._kernel.p)

    def _settle(self, sums: Floats, times: int, exact: Ids | None) -> Floats:
        """Subtract the normalisers, exact ones at the head of the ranking.

        What others have asked for before is known, too, but is not used: the same question has
        the same answer whenever it is put.
        """
        top = min(_TOP, len(sums))
        logs = self._estimated.copy()
        settled = np.zeros(len(sums), dtype=bool)
        nearest = np.argpartition(-sums, top - 1)[:top]
        wanted = nearest[sums[nearest] > -np.inf]
        if exact is not None:
            wanted = np.union1d(wanted, exact)
        for _ in range(_ROUNDS):
            self._compute(wanted)
            logs[wanted], settled[wanted] = self.known.logs[wanted], True
            out: Floats = sums - times * logs
            head = np.argpartition(-out, top - 1)[:top]
            wanted = head[(out[head] > -np.inf) & ~settled[head]]
            if not len(wanted):
                break
        return out

    @property
    def _estimated(self) -> Floats:
        if self._guess is None:
            self._guess = self._estimate()
        return self._guess

    def _compute(self, ids: Ids) -> None:
        """Compute the normalisers of words where they are not known."""
        compute([self.known], ids)

    def _estimate(self) -> Floats:
        """Return log Z of all words: the word itself, and a sample of the others."""
        space, kernel = self._space, self._kernel
        words = space.size - kernel.first  # that can be drawn
        if space.size <= _SMALL:
            self._compute(np.arange(space.size))
            return self.known.logs
        sample = kernel.first + generator(_SEED).permutation(words)[:_SAMPLE]
        parts = list(in_chunks(sample, _ROWS))
        means = np.empty((len(parts), space.size), dtype=np.float32)
        for mean, part in zip(means, parts, strict=True):
            rows = sample[part]

            def take(
                block: Floats, columns: slice, rows: Ids = rows, mean: Singles = mean
            ) -> None:
                self._cap(block)
                block *= -kernel.slope
                weights = block.astype(np.float32)
                np.exp(weights, out=weights)
                inside = np.flatnonzero((rows >= columns.start) & (rows < columns.stop))
                weights[inside, rows[inside] - columns.start] = 0  # itself is counted apart
                mean[columns] = weights.mean(axis=0)

            sweep(space, rows, kernel.metric, take)
        own = np.arange(space.size) >= kernel.first
        others = np.median(means, axis=0).astype(np.float64) * (words - own)
        logs: Floats = np.log(np.maximum(others + own, np.finfo(np.float32).tiny))
        return logs
