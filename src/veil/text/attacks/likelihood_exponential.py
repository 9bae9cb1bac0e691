"""Likelihoods for distributions that decrease exponentially with distance (SanText, TEM)."""

import hashlib
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Floats, Ids, Singles
from veil.data.fetch import Report, no_progress
from veil.data.files import whole_file
from veil.text.mechanisms.words.kernels import ExponentialKernel
from veil.text.vectors.distances import COLUMNS, in_chunks, subspace, summed, sweep

_ROWS = 64  # words at a time
_STEEPEST = 1e30  # larger slopes are the same in float32


@dataclass(frozen=True, eq=False)
class Normalisers:
    r"""`logs[w]` is :math:`\log Z(w) = \log \sum_v e^{-s \min(d(w, v), cap)}`, nan if not known.

    Distances are float64, root and exponential float32, and sums float64. The effect is the same
    as a relative error of 3e-7 in epsilon.
    """

    kernel: ExponentialKernel
    logs: Floats  # (V,), computed on demand
    lasting: NDArray[np.bool_]  # (V,), True for values that are on disk or will be

    @classmethod
    def of(cls, kernel: ExponentialKernel) -> "Normalisers":
        """Return the normalisers, with those stored in the folder of the embeddings."""
        size = kernel.space.size
        normalisers = cls(kernel, np.full(size, np.nan), np.zeros(size, dtype=bool))
        normalisers._load()
        return normalisers

    def _load(self) -> None:
        """Load the values on disk. A file that cannot be read is ignored."""
        path, size = self.kernel.space.path, len(self.logs)
        if path is None:
            return
        with suppress(OSError, ValueError, EOFError):
            ids, logs = np.load(path / self._file, allow_pickle=False)
            if np.isfinite(logs).all() and ((ids >= 0) & (ids < size)).all():
                words = ids.astype(np.int64)
                self.logs[words], self.lasting[words] = logs, True

    def save(self, words: Ids) -> None:
        """Store the values of some words next to the vectors, readable only by the owner.

        They reveal words of a log. Values of other words stay in memory, because they may belong
        to a query that was checked.
        """
        path = self.kernel.space.path
        if path is None or self.lasting[words].all():
            return
        self._load()  # another process may have stored more
        self.lasting[words] = True
        ids = np.flatnonzero(self.lasting)
        with (
            suppress(OSError, InputError),
            whole_file(path / self._file, private=True) as part,
            part.open("wb") as out,
        ):
            np.save(out, np.stack([ids.astype(np.float64), self.logs[ids]]), allow_pickle=False)

    @property
    def _file(self) -> str:
        kernel = self.kernel
        law = f"{kernel.metric} {kernel.slope!r} {kernel.cap!r} {kernel.first}"
        return f"normalisers-{hashlib.sha256(law.encode()).hexdigest()[:16]}.npy"


def prepare_normalisers(
    laws: Sequence[Normalisers], ids: Ids, report: Report = no_progress
) -> None:
    """Compute the normalisers of words for several distributions, and store them on disk."""
    compute_normalisers(laws, ids, report)
    for law in laws:
        law.save(ids)


def compute_normalisers(
    laws: Sequence[Normalisers], ids: Ids, report: Report = no_progress
) -> bool:
    """Compute the missing normalisers of some words; return whether any was missing.

    Distributions with the same metric share the distances, which are most of the work.
    """
    groups: dict[tuple[object, ...], list[Normalisers]] = {}
    for law in laws:
        scale = law.kernel.key if law.kernel.first else ""  # its weights are scaled per word
        groups.setdefault((law.kernel.metric, scale), []).append(law)
    new = False
    for group in groups.values():
        unknown = np.any([np.isnan(law.logs[ids]) for law in group], axis=0)
        missing = np.unique(ids[unknown])
        new = new or len(missing) > 0
        for part in in_chunks(missing, _ROWS):
            report("computing the normalisers of words", part.start, len(missing))
            for law, logs in zip(group, _exact(group, missing[part]), strict=True):
                law.logs[missing[part]] = logs
    return new


def _exact(group: Sequence[Normalisers], ids: Ids) -> Floats:
    """Return log Z (laws, m) of words, from the distances to all words that can be drawn."""
    kernels = [law.kernel for law in group]
    space, first = kernels[0].space, kernels[0].first
    euclidean = kernels[0].metric == "euclidean"
    sums = np.zeros((len(group), len(ids), -(-space.size // COLUMNS)))
    offsets = _offsets(kernels[0], ids) if first else np.zeros(len(ids))

    def take(block: Floats, columns: slice) -> None:
        gaps = block.astype(np.float32)
        if euclidean:
            np.sqrt(gaps, out=gaps)
        weights = np.empty_like(gaps)
        for kernel, own in zip(kernels, sums, strict=True):
            np.minimum(gaps, np.float32(kernel.cap), out=weights)
            weights *= np.float32(-min(kernel.slope, _STEEPEST))
            if first:
                weights += offsets[:, None].astype(np.float32)
            np.exp(weights, out=weights)
            weights[:, : max(0, first - columns.start)] = 0
            own[:, columns.start // COLUMNS] = weights.sum(axis=1, dtype=np.float64)

    sweep(space, ids, "squared" if euclidean else kernels[0].metric, take)
    logs: Floats = np.log(sums.sum(axis=2)) - offsets
    return logs


def _offsets(kernel: ExponentialKernel, ids: Ids) -> Floats:
    """Return the terms to add to log-weights so that the largest weight is about 1."""
    nearest = np.where(ids >= kernel.first, 0.0, np.inf)  # distance to a word that can be drawn
    gaps = np.tile(nearest[:, None], (1, -(-kernel.space.size // COLUMNS)))

    def take(block: Floats, columns: slice) -> None:
        allowed = block[:, max(0, kernel.first - columns.start) :]
        lowest = allowed.min(axis=1, initial=np.inf)
        number = columns.start // COLUMNS
        gaps[:, number] = np.minimum(gaps[:, number], lowest)

    sweep(kernel.space, ids, kernel.metric, take)
    lowest: Floats = np.minimum(gaps.min(axis=1), kernel.cap)
    return kernel.slope * lowest


_SAMPLE = 1024  # words used to estimate the normalisers of all words
_SMALL = 4096  # up to this vocabulary size all normalisers are exact
_TOP = 64  # words at the top of a ranking whose normalisers are exact
_ROUNDS = 16  # at most, until the top of the ranking no longer changes
_SEED = 20261116  # makes results reproducible


class ExponentialLikelihood:
    r"""Sum :math:`\log P(y | w) = -s \min(d(w, y), cap) - \log Z(w)` over the words seen.

    Distances are exact for every word. The normaliser Z(w) takes one pass over the vocabulary per
    word, so it is computed only for the words that matter: the words `exact`, the 64 words nearest
    to those seen, and the words that are among the 64 likeliest. For other words it is estimated
    from a fixed sample of 1,024 words, as the median of the means of 16 parts, so that a single
    near word in the sample has little effect. The word itself, which has the largest share, counts
    exactly. Up to 4,096 words everything is exact. Normalisers are cached, and those of a log are
    also stored next to the vectors.
    """

    rounding = 5e-7  # normalisers are float32 sums, like a relative error of 3e-7 in epsilon

    def __init__(self, kernel: ExponentialKernel) -> None:
        self._kernel, self._space = kernel, kernel.space
        self.known = Normalisers.of(kernel)
        self._guess: Floats | None = None
        self.nbytes = 2 * self.known.logs.nbytes

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Compute the missing normalisers of these words."""
        prepare_normalisers([self.known], exact, report)

    def within(self, words: Ids, exact: Ids) -> "ExponentialLikelihood":
        """Return the likelihood restricted to these words, with normalisers over all words."""
        first = int(np.searchsorted(words, self._kernel.first))
        space = subspace(self._space, words)
        part = ExponentialLikelihood(replace(self._kernel, space=space, first=first))
        self._compute(exact)
        logs = self._estimated.copy()
        logs[exact] = self.known.logs[exact]
        part.known.logs[:] = logs[words]
        part._guess = part.known.logs
        return part

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood (V,) of every word."""
        kernel = self._kernel
        draws = seen[seen >= kernel.first]
        sums = -kernel.slope * summed(self._space, draws, kernel.metric, self._cap)
        if kernel.p < 1:  # a word before `first` is replaced with probability p
            sums[: kernel.first] += len(draws) * math.log(kernel.p)
        self._only_kept(sums, seen[seen < kernel.first])
        if not len(draws):
            return sums
        return self._settle(sums, len(draws), exact)

    def _cap(self, block: Floats) -> None:
        if self._kernel.cap < math.inf:
            np.minimum(block, self._kernel.cap, out=block)

    def _only_kept(self, sums: Floats, kept: Ids) -> None:
        """Rule out all words but the one seen before `first`, which must have been kept."""
        if not len(kept):
            return
        itself = kept[0]
        own = sums[itself]
        sums[:] = -np.inf
        if (kept == itself).all() and self._kernel.p < 1:
            sums[itself] = own + len(kept) * math.log(1 - self._kernel.p)

    def _settle(self, sums: Floats, times: int, exact: Ids | None) -> Floats:
        """Subtract the normalisers, which are exact at the top of the ranking.

        Other normalisers computed earlier are not used, so that the same input always gives the
        same result.
        """
        top = min(_TOP, len(sums))
        logs = self._estimated.copy()
        settled = np.zeros(len(sums), dtype=bool)
        nearest = np.argpartition(-sums, top - 1)[:top]
        words = nearest[sums[nearest] > -np.inf]
        if exact is not None:
            words = np.union1d(words, exact)
        for _ in range(_ROUNDS):
            self._compute(words)
            logs[words], settled[words] = self.known.logs[words], True
            out: Floats = sums - times * logs
            head = np.argpartition(-out, top - 1)[:top]
            words = head[(out[head] > -np.inf) & ~settled[head]]
            if not len(words):
                break
        return out

    @property
    def _estimated(self) -> Floats:
        if self._guess is None:
            self._guess = self._estimate()
        return self._guess

    def _compute(self, ids: Ids) -> None:
        compute_normalisers([self.known], ids)

    def _estimate(self) -> Floats:
        """Estimate log Z of all words from the word itself and a sample of the others."""
        space, kernel = self._space, self._kernel
        words = space.size - kernel.first  # number of words that can be drawn
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
                weights[inside, rows[inside] - columns.start] = 0  # the word itself is added later
                mean[columns] = weights.mean(axis=0)

            sweep(space, rows, kernel.metric, take)
        own = np.arange(space.size) >= kernel.first
        others = np.median(means, axis=0).astype(np.float64) * (words - own)
        logs: Floats = np.log(np.maximum(others + own, np.finfo(np.float32).tiny))
        return logs
