"""Laws over a few candidates of each word (CusText, WBB), read backwards."""

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
_CLOSE = 1e-9  # relative: such distances may be ordered otherwise elsewhere
_ROUNDED = 1e-6  # absolute, of vectors scaled to length 1 in float32


@dataclass(frozen=True, eq=False)
class NeighbourTable:
    """The `depth` nearest words of every word, itself among them.

    Searched once for a space, which takes minutes for a large one, and kept beside its vectors.
    A few words have no sure place in it: the last of their neighbours is as far as one that is
    missing, or a vector of zeros is among them.
    """

    space: Embeddings
    metric: str  # "euclidean" or "cosine"
    table: NDArray[np.int32]  # (V, depth + 1): the last column is 1 where a row is sure, else 0

    @classmethod
    def of(
        cls, space: Embeddings, metric: str, depth: int, report: Report = no_progress
    ) -> "NeighbourTable":
        """Return the neighbours in a space, from its cache or its folder where they are there."""
        key = ("neighbours", metric, depth)
        found = space.memo.get(key, NeighbourTable)
        if found is None:

            def make() -> NDArray[np.int32]:
                return _search(space, metric, depth, report)

            table = space.derive(f"nearest-{metric}-{depth}", make)
            whole = table.shape == (space.size, depth + 1)
            if not whole or table.min() < 0 or table.max() >= space.size:  # a torn file
                table = make()
            found = cls(space, metric, table)
            space.memo.put(key, found)
        return found

    @property
    def nbytes(self) -> int:
        """Memory held: the table, and the same the other way round."""
        return 2 * self.table.nbytes + 8 * self.space.size

    @cached_property
    def unsure(self) -> Ids:
        """The words without a sure place."""
        return np.flatnonzero(self.table[:, -1] == 0)

    @cached_property
    def _holders(self) -> tuple[NDArray[np.int32], Ids]:
        """All words, grouped by the neighbour that they have, and where each group begins."""
        flat = self.table[:, :-1].ravel()
        order = np.argsort(flat, kind="stable") // (self.table.shape[1] - 1)
        counts = np.bincount(flat, minlength=self.space.size)
        return order.astype(np.int32), np.concatenate([[0], np.cumsum(counts)])

    def holding(self, words: Ids) -> Ids:
        """Return the words with a sure place that have all of these (m,) among their nearest."""
        owners, starts = self._holders
        lists = [owners[starts[word] : starts[word + 1]] for word in words.tolist()]
        lists.sort(key=len)
        left = lists[0]
        for other in lists[1:]:
            left = np.intersect1d(left, other, assume_unique=True)
        sure: Ids = left[self.table[left, -1] == 1].astype(np.int64)
        return sure

    def nearest(self, ids: Ids) -> tuple[Ids, Floats]:
        """Return the nearest words of words (m,) with a sure place, and their distances.

        In order of distance, then of position; float64. The word itself is first, at -1.
        """
        rows = self.table[ids, :-1].astype(np.int64)
        gaps = between(self.space, ids, rows, self.metric)
        gaps[rows == ids[:, None]] = -1
        order = np.lexsort((rows, gaps))
        return np.take_along_axis(rows, order, axis=1), np.take_along_axis(gaps, order, axis=1)


def _search(space: Embeddings, metric: str, depth: int, report: Report) -> NDArray[np.int32]:
    """Find the nearest words of each word, and one more to see what is sure."""
    plain = metric == "euclidean"
    vectors: Singles = space.vectors if plain else unit(space)
    search = space.searcher if plain else NearestWords(vectors)
    slack = 0.0 if plain else _ROUNDED
    odd = np.zeros(space.size, dtype=bool) if plain else space.squares == 0
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


_ENTRIES = 2**25  # of a table of nearest words
_ROWS = 8192  # words whose laws are held at a time
_SMALL = 4096  # up to so many words the laws of all are made, where none can be ruled out before
Laws = tuple[Ids, Floats]  # candidates (m, c) of words, and their log-probabilities


class CandidateLikelihood:
    """Sum log P(y | w) over what was seen: -inf for words that cannot give all of it.

    A word can give y only if y is among its nearest words, or, where words share candidates, if
    both are in one group. The few words left are settled by their own laws. Nothing is
    approximated, but for a law whose candidates are not the nearest words of any table
    (`metric='product'` of wbb, or more candidates than a table can hold): in a large vocabulary
    only the words asked for have theirs, and the others their mean.
    """

    nbytes = 0  # what is large belongs to the space
    rounding = ROUNDING

    def __init__(self, kernel: CandidateKernel, group: Ids | None = None) -> None:
        self._kernel, self._space = kernel, kernel.space
        self._group = group  # (V,) of each word, where words share candidates
        self._asked: tuple[bytes, Laws] | None = None

    @classmethod
    def of_mechanism(
        cls, mechanism: WordMechanism, kernel: CandidateKernel
    ) -> "CandidateLikelihood":
        """Read off a mechanism where its candidates lie."""
        if isinstance(mechanism, CusText) and mechanism.mapping == "partition":
            return cls(kernel, groups(kernel.space, mechanism.k, mechanism.metric).of)
        return cls(kernel)

    @property
    def quick(self) -> bool:
        """Whether few words come into question, or a small vocabulary does."""
        tabled = self._kernel.near is not None and self._fits(self._kernel.near.depth)
        return tabled or self._group is not None or self._space.size <= _SMALL

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Find the nearest words of all words, unless they are known."""
        del exact  # all words are in question
        if "_neighbours" not in self.__dict__:
            self.__dict__["_neighbours"] = self._table(report)

    @cached_property
    def _neighbours(self) -> NeighbourTable | None:
        return self._table(no_progress)

    def _table(self, report: Report) -> NeighbourTable | None:
        """Return the table of nearest words, if candidates are such, and it is not too large."""
        near = self._kernel.near
        if near is None or not self._fits(near.depth):
            return None
        return NeighbourTable.of(self._space, near.metric, near.depth, report)

    def _fits(self, depth: int) -> bool:
        return (depth + 1) * self._space.size <= _ENTRIES

    def within(self, words: Ids, exact: Ids) -> None:
        """All words cost next to nothing."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood of every word (V,)."""
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
        """Return the words that may give all that was seen."""
        if self._neighbours is not None:
            return self._neighbours.holding(words)
        group = self._group if self._group is not None else np.empty(0, dtype=np.int64)
        one = group == group[words[0]]
        return np.flatnonzero(one) if one[words].all() else np.empty(0, dtype=np.int64)

    def _by_laws(self, out: Floats, words: Ids, counts: Ids, exact: Ids | None) -> None:
        """Try every word asked for."""
        if self._space.size <= _SMALL:
            exact = np.arange(self._space.size)
        if exact is None:
            raise ParameterError(
                "To find the candidates of all words would take hours, or too much memory; use the"
                " bayes attacker, which looks at the words of a log only."
            )
        key = exact.tobytes()
        asked = self._asked  # another thread may ask for other words
        if asked is None or asked[0] != key:
            asked = self._asked = key, self._laws(exact)
        found = _sums(asked[1], words, counts)
        if len(exact) < len(out):
            out[:] = log_mean(found)
        out[exact] = found

    def _laws(self, ids: Ids) -> Laws:
        """Return the laws of words, from the table where there is one."""
        if self._neighbours is None or self._kernel.near is None:
            return self._own_laws(ids)
        candidates, weights = self._kernel.near.weigh(*self._neighbours.nearest(ids))
        return candidates, normalise(weights)

    @cached_property
    def _unsure(self) -> Laws:
        """The laws of the words that the table does not settle."""
        none = np.empty(0, dtype=np.int64)
        return self._own_laws(none if self._neighbours is None else self._neighbours.unsure)

    def _own_laws(self, ids: Ids) -> Laws:
        """Let the mechanism itself say what its laws are."""
        if not len(ids):
            return np.empty((0, 1), dtype=np.int64), np.empty((0, 1))
        found = []
        for part in in_chunks(ids, rows_at_once(self._space)):
            candidates, weights = self._kernel.shortlist(ids[part])
            found.append((candidates, normalise(weights)))
        candidates, logs = (np.concatenate(column) for column in zip(*found, strict=True))
        return candidates, logs


def _sums(laws: Laws, words: Ids, counts: Ids) -> Floats:
    """Return the log-likelihood (m,) of what was seen under each law."""
    candidates, logs = laws
    total = np.zeros(len(candidates))
    for word, times in zip(words.tolist(), counts.tolist(), strict=True):
        here: NDArray[np.bool_] = candidates == word  # padding has -inf
        total += times * np.where(here, logs, -np.inf).max(axis=1)
    return total
