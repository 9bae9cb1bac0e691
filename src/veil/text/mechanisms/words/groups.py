"""Cut the vocabulary into groups of near words, greedily in order of frequency."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids, Singles
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.nearest import Searcher

_BATCH = 512  # words whose neighbours are searched at a time


@dataclass(frozen=True)
class Groups:
    """`table[g]` holds the words of group g, padded with -1; `of[w]` is the group of word w."""

    table: Ids  # (groups, longest)
    of: Ids  # (V,)

    def members(self, ids: Ids) -> Ids:
        """Return the groups of words, (m, longest), padded with -1."""
        return self.table[self.of[ids]]


def groups(space: Embeddings, k: int, metric: str) -> Groups:
    """Return the partition into groups of `k`; it is computed once for a space on disk."""

    def make() -> NDArray[np.int32]:
        return _table(partition(space.vectors if metric == "euclidean" else unit(space), k))

    table = space.derive(f"groups-{metric}-{k}", make)
    if not _is_partition(table, space.size):  # a file that was tampered with or torn
        table = make()
    of = np.empty(space.size, dtype=np.int64)
    row, column = np.nonzero(table >= 0)
    of[table[row, column]] = row
    return Groups(table.astype(np.int64), of)


def _is_partition(table: NDArray[np.int32], words: int) -> bool:
    """Tell whether every word stands in exactly one group, and no word stands alone."""
    if table.ndim != 2 or (table >= 0).sum(axis=1).min(initial=2) < min(2, words):
        return False
    return bool(np.array_equal(np.sort(table[table >= 0]), np.arange(words)))


def partition(vectors: Singles, k: int) -> list[list[int]]:
    """Give each word without a group its k-1 nearest words without one, in order of the rows.

    The neighbours of many words are searched at once among the words still free; a list that was
    searched before others took some of its words still starts with the right ones as long as `k`
    of it are free, and is searched again otherwise. The result is that of the plain loop.
    """
    free = np.ones(len(vectors), dtype=bool)
    found: list[list[int]] = []
    left = len(vectors)
    pool = np.arange(len(vectors))
    search = Searcher(vectors)
    while left > k:
        if left < 0.8 * len(pool):
            pool = np.flatnonzero(free)
            search = Searcher(vectors[pool])
        seeds = pool[free[pool]][:_BATCH]
        near = pool[_neighbours(search, vectors[seeds], 3 * k + 16)]
        for seed, candidates in zip(seeds, near, strict=True):
            if left <= k or not free[seed]:
                continue
            depth = len(candidates)
            while np.count_nonzero(free[candidates]) < k and depth < len(pool):
                depth *= 4
                candidates = pool[_neighbours(search, vectors[[seed]], depth)[0]]
            others = candidates[free[candidates] & (candidates != seed)]
            members = [int(seed), *others[: k - 1].tolist()]
            free[members] = False
            left -= len(members)
            found.append(members)
    rest = np.flatnonzero(free).tolist()
    if len(rest) > 1 or not found:
        return [*found, rest]
    found[-1].extend(rest)
    return found


def _neighbours(search: Searcher, points: Singles, depth: int) -> Ids:
    return search.nearest(points.astype(np.float64), min(depth, search.size))[0]


def _table(found: list[list[int]]) -> NDArray[np.int32]:
    table = np.full((len(found), max(map(len, found))), -1, dtype=np.int32)
    for number, members in enumerate(found):
        table[number, : len(members)] = members
    return table


def unit(space: Embeddings) -> Singles:
    """Vectors scaled to length 1: their Euclidean order is the order of cosine distances."""
    norms: Floats = np.sqrt(space.squares)
    inverse = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    unit: Singles = (space.vectors * inverse[:, None]).astype(np.float32)
    return unit
