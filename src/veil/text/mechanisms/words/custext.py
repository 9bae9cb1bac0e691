"""CusText: draw among a small set of candidates of the word."""

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
    """`table[g]` holds the words of group g, padded with -1; `of[w]` is the group of word w."""

    table: Ids  # (groups, longest)
    of: Ids  # (V,)

    def members(self, ids: Ids) -> Ids:
        """Return the groups of words, (m, longest), padded with -1."""
        return self.table[self.of[ids]]


def groups(space: Embeddings, k: int, metric: str) -> WordGroups:
    """Return the partition into groups of `k`; it is computed once for a space on disk."""

    def make() -> NDArray[np.int32]:
        return _table(partition(space.vectors if metric == "euclidean" else unit(space), k))

    table = space.derive(f"groups-{metric}-{k}", make)
    if not _is_partition(table, space.size):  # a file that was tampered with or torn
        table = make()
    of = np.empty(space.size, dtype=np.int64)
    row, column = np.nonzero(table >= 0)
    of[table[row, column]] = row
    return WordGroups(table.astype(np.int64), of)


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
    search = NearestWords(vectors)
    while left > k:
        if left < 0.8 * len(pool):
            pool = np.flatnonzero(free)
            search = NearestWords(vectors[pool])
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


def _neighbours(search: NearestWords, points: Singles, depth: int) -> Ids:
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


class CusText(WordMechanism):
    r"""Draw among the word's candidates, the nearer the likelier.

    .. math:: \Pr[M(w)=y] \propto e^{\frac{1}{2}\varepsilon u(w, y)}, \quad
       u = \frac{d_{max} - d(w, y)}{d_{max} - d_{min}}

    over the K candidates y of w, w itself among them.

    ``mapping='partition'`` is the paper's: the vocabulary is cut into groups of K, in order of
    frequency; a word without a group takes its K-1 nearest words without a group, and all of them
    share that set. Proved then: eps-DP between the words of one group, nothing across groups: the
    group of a word is visible in every output. CusText+ is this with ``select='content'``.

    ``mapping='neighbours'`` gives each word its own K nearest words, as the authors of pyPANTERA
    do. **Nothing is proved** then: the candidate sets differ between words.

    References
    ----------
    Chen, Mo, Wang, Chen, Cui, Zhang, Qin. A Customized Text Sanitization Mechanism with
    Differential Privacy. Findings of ACL 2023, Algorithms 1 and 2.
    doi:10.18653/v1/2023.findings-acl.355

    Notes
    -----
    The words left over at the end form one smaller group; a single one joins the group before it,
    because alone it could only be released as it is. When all candidates are equally far, all are
    equally likely.
    """

    name: ClassVar[str] = "custext"
    paper: ClassVar[str] = "Chen et al., Findings of ACL 2023"
    family: ClassVar[str] = "Sampling"

    epsilon: Epsilon
    k: Annotated[
        int,
        Field(
            ge=2,
            description="number of candidates, the word included",
            examples=[20],
            json_schema_extra=PRIVATE,
        ),
    ] = 20
    mapping: Annotated[
        Literal["partition", "neighbours"],
        Field(description="groups shared by their words, or each word's own neighbours"),
    ] = "partition"
    metric: Annotated[
        Literal["euclidean", "cosine"], Field(description="distance between the vectors")
    ] = "euclidean"

    @property
    def guarantee(self) -> Guarantee:
        """DP within a group, or nothing."""
        if self.mapping == "neighbours":
            return Guarantee(
                "none",
                caveat=f"The nominal epsilon is {self.epsilon:g}, but each word has candidates of"
                " its own, so that one output can rule a word out for certain.",
            )
        return Guarantee(
            "group-dp",
            self.epsilon,
            "words of one group",
            caveat=f"Holds between the words of one group of about {self.k} only; which group the"
            " word belongs to is visible in every output.",
        )

    def bind(self, space: Embeddings) -> CandidateKernel:
        """Cut the vocabulary into groups, or check that there are enough neighbours."""
        if self.k > space.size:
            raise ParameterError(
                f"The 'k' parameter of custext must be <= {space.size}, the number of words of"
                f" {space.name}. Got {self.k} instead."
            )
        if self.mapping == "partition":
            return CandidateKernel(space, str(self), self._grouped(space))
        near = NearestCandidates(self.metric, self.k, self._weigh)
        return CandidateKernel(space, str(self), self._own(space), near)

    def _grouped(self, space: Embeddings) -> Candidates:
        shared = groups(space, self.k, self.metric)

        def shortlist(ids: Ids) -> tuple[Ids, Floats]:
            members = shared.members(ids)
            gaps = between(space, ids, np.maximum(members, 0), self.metric)
            gaps[members < 0] = np.nan
            return np.maximum(members, 0), 0.5 * self.epsilon * _score(gaps)

        return shortlist

    def _own(self, space: Embeddings) -> Candidates:
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
    """Scale distances to scores: 1 for the nearest, 0 for the farthest; -inf for padding (nan)."""
    low = np.nanmin(gaps, axis=1, keepdims=True)
    high = np.nanmax(gaps, axis=1, keepdims=True)
    spread = high - low
    score: Floats = np.divide(high - gaps, spread, out=np.ones_like(gaps), where=spread > 0)
    score[np.isnan(gaps)] = -np.inf
    return score
