"""Laws over a few candidates of each word (CusText, WBB), read backwards."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.text.attacks._neighbours import Neighbours
from veil.text.attacks._sums import ROUNDING, log_mean
from veil.text.mechanisms.words.custext import CusText
from veil.text.mechanisms.words.groups import groups
from veil.text.mechanisms.words.kernels import Shortlist, normalise
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.vectors.distances import in_chunks, rows_at_once

_ENTRIES = 2**25  # of a table of nearest words
_ROWS = 8192  # words whose laws are held at a time
_SMALL = 4096  # up to so many words the laws of all are made, where none can be ruled out before
Laws = tuple[Ids, Floats]  # candidates (m, c) of words, and their log-probabilities


class Boxes:
    """Sum log P(y | w) over what was seen: -inf for words that cannot give all of it.

    A word can give y only if y is among its nearest words, or, where words share candidates, if
    both are in one group. The few words left are settled by their own laws. Nothing is
    approximated, but for a law whose candidates are not the nearest words of any table
    (`metric='product'` of wbb, or more candidates than a table can hold): in a large vocabulary
    only the words asked for have theirs, and the others their mean.
    """

    nbytes = 0  # what is large belongs to the space
    rounding = ROUNDING

    def __init__(self, kernel: Shortlist, group: Ids | None = None) -> None:
        self._kernel, self._space = kernel, kernel.space
        self._group = group  # (V,) of each word, where words share candidates
        self._asked: tuple[bytes, Laws] | None = None

    @classmethod
    def of_mechanism(cls, mechanism: WordMechanism, kernel: Shortlist) -> "Boxes":
        """Read off a mechanism where its candidates lie."""
        if isinstance(mechanism, CusText) and mechanism.mapping == "partition":
            return cls(kernel, groups(kernel.space, mechanism.k, mechanism.metric).of)
        return cls(kernel)

    @property
    def quick(self) -> bool:
        """Whether few words come into question, or a small vocabulary does."""
        tabled = self._kernel.near is not None and self._fits(self._kernel.near.depth)
        return tabled or self._group is not None or self._space.size <= _SMALL

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Find the nearest words of all words, unless they are known."""
        del exact  # all words are in question
        if "_neighbours" not in self.__dict__:
            self.__dict__["_neighbours"] = self._table(report)

    @cached_property
    def _neighbours(self) -> Neighbours | None:
        return self._table(silent)

    def _table(self, report: Report) -> Neighbours | None:
        """Return the table of nearest words, if candidates are such, and it is not too large."""
        near = self._kernel.near
        if near is None or not self._fits(near.depth):
            return None
        return Neighbours.of(self._space, near.metric, near.depth, report)

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
