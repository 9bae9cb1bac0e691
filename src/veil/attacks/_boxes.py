"""Laws over a few candidates of each word (CusText, WBB), read backwards."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.data.distances import between, in_chunks, rows_at_once, sweep
from veil.data.fetch import Report, silent
from veil.data.nearest import Searcher
from veil.mechanisms.words._groups import _unit, groups
from veil.mechanisms.words._kernels import Shortlist, normalise
from veil.mechanisms.words.custext import CusText
from veil.mechanisms.words.mechanism import WordMechanism
from veil.mechanisms.words.wbb import _METRICS, WBB

_ROWS = 64  # words seen, at a time
_POINTS = 4096  # words whose neighbours are searched at a time
_SLACK = 1e-5  # relative; a tenth of it absolute: of vectors scaled to length 1 in float32


class Boxes:
    """Sum log P(y | w) over what was seen: -inf for words that cannot give all of it.

    A word can give y only if y is not farther than its farthest candidate, or, where words share
    candidates, if both are in one group. How far the farthest candidates are is found once and
    kept with the vectors; the few words left are settled by their own laws. Nothing is
    approximated.
    """

    def __init__(
        self, kernel: Shortlist, *, metric: str = "", depth: int = 0, group: Ids | None = None
    ) -> None:
        self._kernel, self._space = kernel, kernel.space
        self._metric, self._depth = metric, depth
        self._group = group  # (V,) of each word, where words share candidates
        self._laws: dict[int, dict[int, float]] = {}
        self.nbytes = 8 * self._space.size

    @classmethod
    def of_mechanism(cls, mechanism: WordMechanism, kernel: Shortlist) -> "Boxes | None":
        """Read off a mechanism where its candidates lie, or None if that is not known."""
        if isinstance(mechanism, CusText) and mechanism.mapping == "partition":
            return cls(kernel, group=groups(kernel.space, mechanism.k, mechanism.metric).of)
        if isinstance(mechanism, CusText):
            return cls(kernel, metric=mechanism.metric, depth=mechanism.k)
        if isinstance(mechanism, WBB) and mechanism.metric != "product":
            metric = _METRICS[mechanism.metric]
            return cls(kernel, metric=metric, depth=mechanism.k + mechanism.n)
        return None

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Find the farthest candidates of all words, unless they are known."""
        del exact  # all words are in question
        if self._group is None and "_reach" not in self.__dict__:
            report("finding the farthest candidates of all words", 0, 0)
            self._reach  # noqa: B018 - computed when it is first asked for

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood of every word (V,)."""
        del exact  # it always is
        if not len(seen):
            return np.zeros(self._space.size)
        words, counts = np.unique(seen, return_counts=True)
        possible = np.flatnonzero(self._possible(words))
        self._learn(possible)
        pairs = list(zip(words.tolist(), counts.tolist(), strict=True))
        out = np.full(self._space.size, -np.inf)
        for word in possible.tolist():
            law = self._laws[word]
            if all(y in law for y, _ in pairs):
                out[word] = sum(times * law[y] for y, times in pairs)
        return out

    def _possible(self, words: Ids) -> NDArray[np.bool_]:
        """Return which words (V,) are near enough to all that was seen."""
        if self._group is not None:
            own = self._group[words]
            one: NDArray[np.bool_] = self._group == own[0]
            return one if (own == own[0]).all() else np.zeros(len(one), dtype=bool)
        out = np.ones(self._space.size, dtype=bool)

        def take(block: Floats, columns: slice) -> None:
            out[columns] &= (block <= self._reach[columns]).all(axis=0)

        for part in in_chunks(words, _ROWS):
            sweep(self._space, words[part], self._metric, take)
        return out

    @cached_property
    def _reach(self) -> Floats:
        """How far the farthest candidate of each word can be (V,)."""
        size = self._space.size
        last = self._space.derive(f"farthest-{self._metric}-{self._depth}", self._farthest)
        if last.shape != (size,) or last.min() < 0 or last.max() >= size:  # a torn file
            last = self._farthest()
        out = np.empty(size)
        ids = np.arange(size)
        for part in in_chunks(ids, _POINTS):
            others = last[part, None].astype(np.int64)
            out[part] = between(self._space, ids[part], others, self._metric)[:, 0]
        return out * (1 + _SLACK) + _SLACK / 10

    def _farthest(self) -> NDArray[np.int32]:
        """Find the last of the `depth` nearest words of each word (V,)."""
        space = self._space
        plain = self._metric == "euclidean"
        vectors = space.vectors if plain else _unit(space)
        search = space.searcher if plain else Searcher(vectors)
        # A vector of length 0 has no direction, and stands where it does not belong.
        astray = 0 if plain else int(np.count_nonzero(space.squares == 0))
        depth = min(space.size, self._depth + astray)
        out = np.empty(space.size, dtype=np.int32)
        for part in in_chunks(np.arange(space.size), _POINTS):
            out[part] = search.nearest(vectors[part].astype(np.float64), depth)[0][:, -1]
        return out

    def _learn(self, ids: Ids) -> None:
        """Make the laws of words that are not known yet."""
        wanted = np.array([i for i in ids.tolist() if i not in self._laws], dtype=np.int64)
        for part in in_chunks(wanted, rows_at_once(self._space)):
            candidates, weights = self._kernel.shortlist(wanted[part])
            real = weights > -np.inf  # the rest is padding
            logs = normalise(weights)
            for word, own, log, there in zip(
                wanted[part].tolist(), candidates, logs, real, strict=True
            ):
                self._laws[word] = dict(zip(own[there].tolist(), log[there].tolist(), strict=True))
