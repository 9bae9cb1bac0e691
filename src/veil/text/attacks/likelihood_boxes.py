"""Likelihoods for distributions over a few candidates of each word (CusText, WBB)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids, Singles
from veil.data.fetch import Report, no_progress
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words.custext import CusText, groups, unit
from veil.text.mechanisms.words.kernels import CandidateKernel, normalise
from veil.text.vectors.distances import ROUNDING, between, in_chunks, log_mean, rows_at_once
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.nearest import NearestWords

_POINTS = 4096  # words whose neighbours are searched at a time
_CLOSE = 1e-9  # relative: the order of such distances may differ between computations
_ROUNDED = 1e-6  # absolute, for vectors scaled to length 1 in float32


@dataclass(frozen=True, eq=False)
class NeighbourTable:
    """The `depth` nearest words of every word, including itself.

    The table is computed once per embeddings, which takes minutes for large ones, and stored next
    to the vectors. The rows of a few words are uncertain: their last neighbour is as far as a word
    that is missing, or a vector of zeros is among them.
    """

    space: Embeddings
    metric: str  # "euclidean" or "cosine"
    table: NDArray[np.int32]  # (V, depth + 1): the last column is 1 if a row is certain, else 0

    @classmethod
    def of(
        cls, space: Embeddings, metric: str, depth: int, report: Report = no_progress
    ) -> "NeighbourTable":
        """Return the table for embeddings, from their cache or folder if possible."""
        key = ("neighbours", metric, depth)
        neighbours = space.memo.get(key, NeighbourTable)
        if neighbours is None:

            def make() -> NDArray[np.int32]:
                return _search(space, metric, depth, report)

            table = space.derive(f"nearest-{metric}-{depth}", make)
            whole = table.shape == (space.size, depth + 1)
            if not whole or table.min() < 0 or table.max() >= space.size:  # a damaged file
                table = make()
            neighbours = cls(space, metric, table)
            space.memo.put(key, neighbours)
        return neighbours

    @property
    def nbytes(self) -> int:
        """Memory use in bytes of the table and its inverse."""
        return 2 * self.table.nbytes + 8 * self.space.size

    @cached_property
    def unsure(self) -> Ids:
        """Words whose rows are uncertain."""
        return np.flatnonzero(self.table[:, -1] == 0)

    @cached_property
    def _holders(self) -> tuple[NDArray[np.int32], Ids]:
        """All words grouped by neighbour, and the start of each group."""
        flat = self.table[:, :-1].ravel()
        order = np.argsort(flat, kind="stable") // (self.table.shape[1] - 1)
        counts = np.bincount(flat, minlength=self.space.size)
        return order.astype(np.int32), np.concatenate([[0], np.cumsum(counts)])

    def holding(self, words: Ids) -> Ids:
        """Return the words with certain rows that have all of these (m,) among their nearest."""
        owners, starts = self._holders
        lists = [owners[starts[word] : starts[word + 1]] for word in words.tolist()]
        lists.sort(key=len)
        common = lists[0]
        for other in lists[1:]:
            common = np.intersect1d(common, other, assume_unique=True)
        certain: Ids = common[self.table[common, -1] == 1].astype(np.int64)
        return certain

    def nearest(self, ids: Ids) -> tuple[Ids, Floats]:
        """Return the nearest words of words (m,) with certain rows, and their distances.

        They are in order of float64 distance, then of id. The word itself is first, at -1.
        """
        rows = self.table[ids, :-1].astype(np.int64)
        gaps = between(self.space, ids, rows, self.metric)
        gaps[rows == ids[:, None]] = -1
        order = np.lexsort((rows, gaps))
        return np.take_along_axis(rows, order, axis=1), np.take_along_axis(gaps, order, axis=1)


def _search(space: Embeddings, metric: str, depth: int, report: Report) -> NDArray[np.int32]:
    """Find the nearest words of each word, and one more to find which rows are certain."""
    euclidean = metric == "euclidean"
    vectors: Singles = space.vectors if euclidean else unit(space)
    search = space.searcher if euclidean else NearestWords(vectors)
    slack = 0.0 if euclidean else _ROUNDED
    odd = np.zeros(space.size, dtype=bool) if euclidean else space.squares == 0
    out = np.empty((space.size, depth + 1), dtype=np.int32)
    for part in in_chunks(np.arange(space.size), _POINTS):
        report("finding the nearest words of all words", part.start, space.size)
        count = min(depth + 1, space.size)
        near, far = search.nearest(vectors[part].astype(np.float64), count)
        out[part, :-1] = near[:, :depth]
        own = (out[part, :-1] == np.arange(part.start, part.stop)[:, None]).any(axis=1)
        sure = own & ~odd[near].any(axis=1)
        if count > depth:
            sure &= far[:, depth - 1] * (1 + _CLOSE) + slack < far[:, depth]
        out[part, -1] = sure
    report("finding the nearest words of all words", space.size, space.size)
    return out


_MAX_ENTRIES = 2**25  # of a table of nearest words
_ROWS = 8192  # words whose distributions are in memory at a time
_SMALL = 4096  # up to this vocabulary size, all distributions are computed if none is ruled out
Laws = tuple[Ids, Floats]  # candidates (m, c) of words, and their log-probabilities


class CandidateLikelihood:
    """Sum log P(y | w) over the words seen: -inf for words that cannot give all of them.

    A word can give y only if y is among its nearest words or, if words share candidates, if both
    are in one group. For the few remaining words the distributions are computed. Nothing is
    approximated, with one exception: distributions whose candidates are not in a table of nearest
    words (`metric='product'` of wbb, or more candidates than a table can hold). In a large
    vocabulary, these are computed only for the words `exact`, and other words get the mean.
    """

    nbytes = 0  # large data is in the cache of the embeddings
    rounding = ROUNDING

    def __init__(self, kernel: CandidateKernel, group: Ids | None = None) -> None:
        self._kernel, self._space = kernel, kernel.space
        self._group = group  # (V,) of each word, if words share candidates
        self._last: tuple[bytes, Laws] | None = None

    @classmethod
    def of_mechanism(
        cls, mechanism: WordMechanism, kernel: CandidateKernel
    ) -> "CandidateLikelihood":
        """Return the likelihood for a mechanism, with its groups if it has any."""
        if isinstance(mechanism, CusText) and mechanism.mapping == "partition":
            return cls(kernel, groups(kernel.space, mechanism.k, mechanism.metric).of)
        return cls(kernel)

    @property
    def quick(self) -> bool:
        """Whether few words are possible, or the vocabulary is small."""
        tabled = self._kernel.near is not None and self._fits(self._kernel.near.depth)
        return tabled or self._group is not None or self._space.size <= _SMALL

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Find the nearest words of all words, if not done before."""
        del exact  # all words are needed
        if "_neighbours" not in self.__dict__:
            self.__dict__["_neighbours"] = self._table(report)

    @cached_property
    def _neighbours(self) -> NeighbourTable | None:
        return self._table(no_progress)

    def _table(self, report: Report) -> NeighbourTable | None:
        """Return the table of nearest words; None if it is too large or candidates are others."""
        near = self._kernel.near
        if near is None or not self._fits(near.depth):
            return None
        return NeighbourTable.of(self._space, near.metric, near.depth, report)

    def _fits(self, depth: int) -> bool:
        return (depth + 1) * self._space.size <= _MAX_ENTRIES

    def within(self, words: Ids, exact: Ids) -> None:
        """Return None: all words are as cheap as some."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood (V,) of every word."""
        if not len(seen):
            return np.zeros(self._space.size)
        words, counts = np.unique(seen, return_counts=True)
        out = np.full(self._space.size, -np.inf)
        if self._group is None and self._neighbours is None:
            self._by_laws(out, words, counts, exact)
            return out
        possible = self._holding(words)
        for part in in_chunks(possible, _ROWS):
            out[possible[part]] = _sums(self._laws(possible[part]), words, counts)
        if self._neighbours is not None and len(self._neighbours.unsure):
            out[self._neighbours.unsure] = _sums(self._unsure, words, counts)
        return out

    def _holding(self, words: Ids) -> Ids:
        """Return the words that may give all words seen."""
        if self._neighbours is not None:
            return self._neighbours.holding(words)
        group = self._group if self._group is not None else np.empty(0, dtype=np.int64)
        members = group == group[words[0]]
        return np.flatnonzero(members) if members[words].all() else np.empty(0, dtype=np.int64)

    def _by_laws(self, out: Floats, words: Ids, counts: Ids, exact: Ids | None) -> None:
        """Fill in the log-likelihoods from the distributions of the words `exact`."""
        if self._space.size <= _SMALL:
            exact = np.arange(self._space.size)
        if exact is None:
            raise ParameterError(
                "Finding the candidates of all words would take hours or too much memory. Instead,"
                " use the bayes attacker, which needs only the words of a log."
            )
        key = exact.tobytes()
        last = self._last  # another thread may replace it
        if last is None or last[0] != key:
            last = self._last = key, self._laws(exact)
        logs = _sums(last[1], words, counts)
        if len(exact) < len(out):
            out[:] = log_mean(logs)
        out[exact] = logs

    def _laws(self, ids: Ids) -> Laws:
        """Return the distributions of words, from the table if there is one."""
        if self._neighbours is None or self._kernel.near is None:
            return self._own_laws(ids)
        candidates, weights = self._kernel.near.weigh(*self._neighbours.nearest(ids))
        return candidates, normalise(weights)

    @cached_property
    def _unsure(self) -> Laws:
        """Distributions of the words with uncertain rows in the table."""
        none = np.empty(0, dtype=np.int64)
        return self._own_laws(none if self._neighbours is None else self._neighbours.unsure)

    def _own_laws(self, ids: Ids) -> Laws:
        """Return the distributions of words as computed by the mechanism's kernel."""
        if not len(ids):
            return np.empty((0, 1), dtype=np.int64), np.empty((0, 1))
        parts = []
        for part in in_chunks(ids, rows_at_once(self._space)):
            candidates, weights = self._kernel.shortlist(ids[part])
            parts.append((candidates, normalise(weights)))
        candidates, logs = (np.concatenate(column) for column in zip(*parts, strict=True))
        return candidates, logs


def _sums(laws: Laws, words: Ids, counts: Ids) -> Floats:
    """Return the log-likelihood (m,) of the words seen under each distribution."""
    candidates, logs = laws
    total = np.zeros(len(candidates))
    for word, times in zip(words.tolist(), counts.tolist(), strict=True):
        matches: NDArray[np.bool_] = candidates == word  # padding has -inf
        total += times * np.where(matches, logs, -np.inf).max(axis=1)
    return total
