"""CusText: draw from a small set of candidates of the word."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids, Singles
from veil.text.mechanisms.mechanism import Epsilon, WordMechanism
from veil.text.mechanisms.words.kernels import CandidateKernel, Candidates, NearestCandidates
from veil.text.vectors.distances import between, distances, smallest
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.nearest import NearestWords

_BATCH = 512  # words whose neighbours are searched at a time


@dataclass(frozen=True)
class WordGroups:
    """`table[g]` lists the words of group g, padded with -1; `of[w]` is the group of word w."""

    table: Ids  # (groups, longest)
    of: Ids  # (V,)

    def members(self, ids: Ids) -> Ids:
        """Return the groups of words, (m, longest), padded with -1."""
        return self.table[self.of[ids]]


def groups(space: Embeddings, k: int, metric: str) -> WordGroups:
    """Return the partition into groups of `k`, computed once for embeddings on disk."""

    def make() -> NDArray[np.int32]:
        return _table(partition(space.vectors if metric == "euclidean" else unit(space), k))

    table = space.derive(f"groups-{metric}-{k}", make)
    if not _is_partition(table, space.size):  # the file was modified or truncated
        table = make()
    of = np.empty(space.size, dtype=np.int64)
    row, column = np.nonzero(table >= 0)
    of[table[row, column]] = row
    return WordGroups(table.astype(np.int64), of)


def _is_partition(table: NDArray[np.int32], words: int) -> bool:
    """Return whether every word is in exactly one group, and no group has a single word."""
    if table.ndim != 2 or (table >= 0).sum(axis=1).min(initial=2) < min(2, words):
        return False
    return bool(np.array_equal(np.sort(table[table >= 0]), np.arange(words)))


def partition(vectors: Singles, k: int) -> list[list[int]]:
    """Group each free word with its k-1 nearest free words, in the order of the rows.

    The neighbours of many words are searched at once among the free words. When earlier groups
    have taken some words of a list, the list still starts with the right ones if at least `k` are
    free; otherwise it is searched again. The result is the same as that of the simple loop.
    """
    free = np.ones(len(vectors), dtype=bool)
    parts: list[list[int]] = []
    remaining = len(vectors)
    pool = np.arange(len(vectors))
    search = NearestWords(vectors)
    while remaining > k:
        if remaining < 0.8 * len(pool):
            pool = np.flatnonzero(free)
            search = NearestWords(vectors[pool])
        seeds = pool[free[pool]][:_BATCH]
        near = pool[_neighbours(search, vectors[seeds], 3 * k + 16)]
        for seed, candidates in zip(seeds, near, strict=True):
            if remaining <= k or not free[seed]:
                continue
            depth = len(candidates)
            while np.count_nonzero(free[candidates]) < k and depth < len(pool):
                depth *= 4
                candidates = pool[_neighbours(search, vectors[[seed]], depth)[0]]
            others = candidates[free[candidates] & (candidates != seed)]
            members = [int(seed), *others[: k - 1].tolist()]
            free[members] = False
            remaining -= len(members)
            parts.append(members)
    rest = np.flatnonzero(free).tolist()
    if len(rest) > 1 or not parts:
        return [*parts, rest]
    parts[-1].extend(rest)
    return parts


def _neighbours(search: NearestWords, points: Singles, depth: int) -> Ids:
    return search.nearest(points.astype(np.float64), min(depth, search.size))[0]


def _table(parts: list[list[int]]) -> NDArray[np.int32]:
    table = np.full((len(parts), max(map(len, parts))), -1, dtype=np.int32)
    for number, members in enumerate(parts):
        table[number, : len(members)] = members
    return table


def unit(space: Embeddings) -> Singles:
    """Return the vectors scaled to length 1: Euclidean order is then cosine order."""
    norms: Floats = np.sqrt(space.squares)
    inverse = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    unit: Singles = (space.vectors * inverse[:, None]).astype(np.float32)
    return unit


class CusText(WordMechanism):
    r"""Draw one of the word's candidates, nearer ones with higher probability.

    .. math:: \Pr[M(w)=y] \propto e^{\frac{1}{2}\varepsilon u(w, y)}, \quad
       u = \frac{d_{max} - d(w, y)}{d_{max} - d_{min}}

    for the K candidates y of w, which include w.

    ``mapping='partition'`` is the paper's: the vocabulary is partitioned into groups of K. In
    order of frequency, each word without a group is grouped with its K-1 nearest words without a
    group, and all words of a group share it as their candidates. Proved: eps-DP between the words
    of one group. Nothing is proved across groups, because the group of a word is visible in every
    output. CusText+ is this with ``select='content'``.

    ``mapping='neighbours'`` gives each word its own K nearest words, as pyPANTERA does. **Nothing
    is proved**, because words have different candidates.

    References
    ----------
    Chen, Mo, Wang, Chen, Cui, Zhang, Qin. A Customized Text Sanitization Mechanism with
    Differential Privacy. Findings of ACL 2023, Algorithms 1 and 2.
    doi:10.18653/v1/2023.findings-acl.355

    Notes
    -----
    The remaining words form one smaller group. A single remaining word joins the last group,
    because it could only be released unchanged. If all candidates are at the same distance, all
    are equally likely.
    """

    name: ClassVar[str] = "custext"
    paper: ClassVar[str] = "Chen et al., Findings of ACL 2023"
    family: ClassVar[str] = "Sampling"

    epsilon: Epsilon
    k: Annotated[
        int,
        Field(
            ge=2,
            description="number of candidates, including the word",
            examples=[20],
            json_schema_extra=PRIVATE,
        ),
    ] = 20
    mapping: Annotated[
        Literal["partition", "neighbours"],
        Field(description="groups with shared candidates, or the neighbours of each word"),
    ] = "partition"
    metric: Annotated[
        Literal["euclidean", "cosine"], Field(description="distance between the vectors")
    ] = "euclidean"

    @property
    def guarantee(self) -> Guarantee:
        """DP within a group, or no guarantee."""
        if self.mapping == "neighbours":
            return Guarantee(
                "none",
                caveat=f"The nominal epsilon is {self.epsilon:g}, but words have different"
                " candidates, so one output can rule out a word with certainty.",
            )
        return Guarantee(
            "group-dp",
            self.epsilon,
            "words of one group",
            caveat=f"Holds only between the words of one group of about {self.k}. The group of a"
            " word is visible in every output.",
        )

    def bind(self, space: Embeddings) -> CandidateKernel:
        """Partition the vocabulary into groups, or check that there are enough neighbours."""
        if self.k > space.size:
            raise ParameterError(
                f"The 'k' parameter of custext must be <= {space.size}, the number of words of"
                f" {space.name}. Got {self.k} instead."
            )
        if self.mapping == "partition":
            return CandidateKernel(space, str(self), self._group_candidates(space))
        near = NearestCandidates(self.metric, self.k, self._weigh)
        return CandidateKernel(space, str(self), self._nearest_candidates(space), near)

    def _group_candidates(self, space: Embeddings) -> Candidates:
        shared = groups(space, self.k, self.metric)

        def shortlist(ids: Ids) -> tuple[Ids, Floats]:
            members = shared.members(ids)
            gaps = between(space, ids, np.maximum(members, 0), self.metric)
            gaps[members < 0] = np.nan
            return np.maximum(members, 0), 0.5 * self.epsilon * _score(gaps)

        return shortlist

    def _nearest_candidates(self, space: Embeddings) -> Candidates:
        def shortlist(ids: Ids) -> tuple[Ids, Floats]:
            values = distances(space, ids, self.metric)
            values[np.arange(len(ids)), ids] = -1  # the word is its own first candidate
            candidates = smallest(values, self.k)
            return self._weigh(candidates, np.take_along_axis(values, candidates, axis=1))

        return shortlist

    def _weigh(self, nearest: Ids, gaps: Floats) -> tuple[Ids, Floats]:
        """Return the nearest words with their log-weights."""
        return nearest, 0.5 * self.epsilon * _score(np.maximum(gaps, 0))


def _score(gaps: Floats) -> Floats:
    """Return scores: 1 for the nearest candidate, 0 for the farthest, -inf for padding (nan)."""
    low = np.nanmin(gaps, axis=1, keepdims=True)
    high = np.nanmax(gaps, axis=1, keepdims=True)
    spread = high - low
    score: Floats = np.divide(high - gaps, spread, out=np.ones_like(gaps), where=spread > 0)
    score[np.isnan(gaps)] = -np.inf
    return score
