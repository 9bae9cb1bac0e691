"""Laws that fall exponentially in the distance (SanText, TEM), read backwards."""

import math

import numpy as np

from veil.attacks._sums import summed
from veil.core.rng import generator
from veil.core.types import Floats, Ids, Singles
from veil.data.distances import COLUMNS, in_chunks, sweep
from veil.data.fetch import Report, silent
from veil.mechanisms.words._exponential import Exponential

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
    taken for a crowded one. Up to 4,096 words everything is exact. Normalisers are kept.
    """

    def __init__(self, kernel: Exponential) -> None:
        self._kernel, self._space = kernel, kernel.space
        self._logs = np.full(self._space.size, np.nan)  # of Z, where it is exact
        self._guess: Floats | None = None
        self.nbytes = 2 * self._logs.nbytes

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Compute the normalisers of these words, unless they are known."""
        self._compute(exact, report)

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
        if exact is not None:
            self._compute(exact)
        return self._settle(sums, len(drawn))

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

    def _settle(self, sums: Floats, times: int) -> Floats:
        """Subtract the normalisers, and make those at the head of the ranking exact."""
        top = min(_TOP, len(sums))
        nearest = np.argpartition(-sums, top - 1)[:top]
        self._compute(nearest[sums[nearest] > -np.inf])
        for _ in range(_ROUNDS):
            out: Floats = sums - times * self._normalisers()
            head = np.argpartition(-out, top - 1)[:top]
            if not self._compute(head[out[head] > -np.inf]):
                break
        return sums - times * self._normalisers()

    def _normalisers(self) -> Floats:
        if self._guess is None:
            self._guess = self._estimate()
        return np.where(np.isnan(self._logs), self._guess, self._logs)

    def _compute(self, ids: Ids, report: Report = silent) -> bool:
        """Compute the normalisers of words where they are not known; tell whether any was not."""
        wanted = np.unique(ids[np.isnan(self._logs[ids])])
        for part in in_chunks(wanted, _ROWS):
            report("computing the normalisers of words", part.start, len(wanted))
            self._logs[wanted[part]] = self._exact(wanted[part])
        return len(wanted) > 0

    def _exact(self, ids: Ids) -> Floats:
        """Return log Z of words, from their distances to all words that can be drawn."""
        space, kernel = self._space, self._kernel
        blocks = -(-space.size // COLUMNS)
        sums = np.zeros((len(ids), blocks))
        nearest = np.where(ids >= kernel.first, 0.0, np.inf)  # of a word that can be drawn
        offsets = np.zeros(len(ids)) if kernel.first == 0 else self._offsets(ids, nearest)

        def take(block: Floats, columns: slice) -> None:
            part = self._weights(block, columns, offsets)
            sums[:, columns.start // COLUMNS] = part.sum(axis=1, dtype=np.float64)

        sweep(space, ids, kernel.metric, take)
        logs: Floats = np.log(sums.sum(axis=1)) - offsets
        return logs

    def _offsets(self, ids: Ids, nearest: Floats) -> Floats:
        """Return what to add to log-weights so that the largest is about 0."""
        found = np.tile(nearest[:, None], (1, -(-self._space.size // COLUMNS)))

        def take(block: Floats, columns: slice) -> None:
            allowed = block[:, max(0, self._kernel.first - columns.start) :]
            lowest = allowed.min(axis=1, initial=np.inf)
            number = columns.start // COLUMNS
            found[:, number] = np.minimum(found[:, number], lowest)

        sweep(self._space, ids, self._kernel.metric, take)
        lowest: Floats = np.minimum(found.min(axis=1), self._kernel.cap)
        return self._kernel.slope * lowest

    def _weights(self, block: Floats, columns: slice, offsets: Floats) -> Singles:
        """Turn distances into weights; distances are float64, weights float32."""
        self._cap(block)
        block *= -self._kernel.slope
        block += offsets[:, None]
        weights = block.astype(np.float32)
        np.exp(weights, out=weights)
        weights[:, : max(0, self._kernel.first - columns.start)] = 0
        return weights

    def _estimate(self) -> Floats:
        """Return log Z of all words: the word itself, and a sample of the others."""
        space, kernel = self._space, self._kernel
        words = space.size - kernel.first  # that can be drawn
        if space.size <= _SMALL:
            self._compute(np.arange(space.size))
            return self._logs
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
