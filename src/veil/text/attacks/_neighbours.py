"""The nearest words of all words, and which words have a given one among them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids, Singles
from veil.data.fetch import Report, silent
from veil.text.mechanisms.words.groups import unit
from veil.text.vectors.distances import between, in_chunks
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.nearest import Searcher

_POINTS = 4096  # words whose neighbours are searched at a time
_CLOSE = 1e-9  # relative: such distances may be ordered otherwise elsewhere
_ROUNDED = 1e-6  # absolute, of vectors scaled to length 1 in float32


@dataclass(frozen=True, eq=False)
class Neighbours:
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
        cls, space: Embeddings, metric: str, depth: int, report: Report = silent
    ) -> "Neighbours":
        """Return the neighbours in a space, from its cache or its folder where they are there."""
        key = ("neighbours", metric, depth)
        found = space.memo.get(key, Neighbours)
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
    search = space.searcher if plain else Searcher(vectors)
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
