"""Counts of rows by the labels of their columns, at any levels: one key a class, rolled up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Ids
from veil.tables.anonymise.ladder import Ladder

Node = tuple[int, ...]  # a level for each column
_BITS = 62  # of one word of a key
_ROOM = 4  # cells of a dense table of counts for each key, above which keys are sorted


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts at one node: words of keys (m,), ascending, and how many rows have each (m,)."""

    node: Node
    words: tuple[Ids, ...]
    count: Ids

    def __len__(self) -> int:
        return len(self.count)


class Cube:
    """The rows of a table, counted by the labels of columns and by a value that stays as it is.

    A key has a field of bits for each column, as many as the labels at its level need, and the
    value in the lowest bits; what does not fit into one word goes on in the next.
    """

    def __init__(self, ladders: Sequence[Ladder], values: int = 1) -> None:
        self.ladders = ladders
        self.value_bits = (values - 1).bit_length()
        self._widths = [
            [(len(labels) - 1).bit_length() for labels in ladder.labels] for ladder in ladders
        ]
        self._words = self._shared_out()

    def _shared_out(self) -> list[list[int]]:
        """Say which columns each word has."""
        words: list[list[int]] = [[]]
        room = _BITS - self.value_bits
        for column, widths in enumerate(self._widths):
            if max(widths) > room:
                words.append([])
                room = _BITS
            words[-1].append(column)
            room -= max(widths)
        return words

    def offsets(self, word: int, node: Node) -> Iterator[tuple[int, int, int]]:
        """Yield for each column of a word at a node: its number, first bit and width."""
        at = self.value_bits if word == 0 else 0
        for column in self._words[word]:
            width = self._widths[column][node[column]]
            yield column, at, width
            at += width

    def _bits(self, word: int, node: Node) -> int:
        start = self.value_bits if word == 0 else 0
        return start + sum(self._widths[column][node[column]] for column in self._words[word])

    def bottom(
        self, codes: Sequence[Ids], value: Ids | None = None, counts: Ids | None = None
    ) -> Tally:
        """Count rows by their categories (n,) and value (n,) at the lowest node.

        `counts` says of how many records each row is (n,).
        """
        node = (0,) * len(self.ladders)
        words = []
        for word in range(len(self._words)):
            key = np.zeros(len(codes[0]), dtype=np.int64)
            if word == 0 and value is not None:
                key += value
            for column, at, _ in self.offsets(word, node):
                key |= self.ladders[column].codes[0][codes[column]] << at
            words.append(key)
        return self._grouped(node, words, counts)

    def rolled(self, tally: Tally, node: Node) -> Tally:
        """Return the counts at a node from those at one below it."""
        words = [self._moved(word, key, tally.node, node) for word, key in enumerate(tally.words)]
        return self._grouped(node, words, tally.count)

    def _moved(self, word: int, key: Ids, low: Node, high: Node) -> Ids:
        """Write each field at its new level; fields that stay move together."""
        made = key & ((1 << self.value_bits) - 1) if word == 0 else np.zeros_like(key)
        start, until, goal = (
            -1,
            -1,
            -1,
        )  # of a run of fields that stay: its bits, and its new place
        fields = zip(self.offsets(word, low), self.offsets(word, high), strict=True)
        for (column, at, width), (_, new, _) in fields:
            if low[column] == high[column]:
                if start < 0:
                    start, goal = at, new
                until = at + width
                continue
            made |= _run(key, start, until, goal)
            start = -1
            digit = (key >> at) & ((1 << width) - 1)
            made |= self.ladders[column].map(low[column], high[column]).take(digit) << new
        return made | _run(key, start, until, goal)

    def _grouped(self, node: Node, words: list[Ids], count: Ids | None) -> Tally:
        """Add up equal keys."""
        if len(words) == 1 and 1 << self._bits(0, node) <= _ROOM * len(words[0]) + 1024:
            dense = np.bincount(words[0], count)
            keys = np.flatnonzero(dense)
            return Tally(node, (keys,), dense[keys].astype(np.int64))
        if len(words) == 1 and count is not None:
            keys, sums = self._sorted(node, words[0], count)
            return Tally(node, (keys,), sums)
        order = np.lexsort(words)
        ordered = tuple(key[order] for key in words)
        new = _new(ordered)
        counts = np.ones(len(order), dtype=np.int64) if count is None else count[order]
        return Tally(node, tuple(key[new] for key in ordered), _sums(counts, new))

    def _sorted(self, node: Node, key: Ids, count: Ids) -> tuple[Ids, Ids]:
        """Sort keys and add up; counts ride in the lowest bits of a word where there is room."""
        bits = int(count.max(initial=0)).bit_length()
        if self._bits(0, node) + bits > _BITS:
            order = np.argsort(key)
            key, count = key[order], count[order]
        else:
            both = (key << bits) | count
            both.sort()
            key, count = both >> bits, both & ((1 << bits) - 1)
        new = _new((key,))
        return key[new], _sums(count, new)

    def labels(self, tally: Tally, rows: Ids) -> Iterator[tuple[int, Ids]]:
        """Yield for each column its number and the labels of some keys of a tally."""
        for word, key in enumerate(tally.words):
            chosen = key[rows]
            for column, at, width in self.offsets(word, tally.node):
                yield column, (chosen >> at) & ((1 << width) - 1)

    def owners(self, tally: Tally) -> Ids:
        """Return the class of each key (m,): keys that differ in the value alone are of one."""
        parts = (tally.words[0] >> self.value_bits, *tally.words[1:])
        return np.cumsum(_new(parts)) - 1

    def values(self, tally: Tally) -> Ids:
        """Return the value of each key (m,)."""
        return tally.words[0] & ((1 << self.value_bits) - 1)


def _new(words: Sequence[Ids]) -> NDArray[np.bool_]:
    """Tell where sorted keys (m,) are other than the one before."""
    made = np.zeros(len(words[0]), dtype=np.bool_)
    made[:1] = True
    for key in words:
        made[1:] |= key[1:] != key[:-1]
    return made


def _sums(count: Ids, new: NDArray[np.bool_]) -> Ids:
    """Add up the counts (m,) of equal keys."""
    first = np.flatnonzero(new)
    return np.add.reduceat(count, first) if len(first) else count


def _run(key: Ids, start: int, until: int, goal: int) -> Ids | int:
    """Return a run of bits at its new place; nothing if there is none."""
    if start < 0:
        return 0
    return ((key >> start) & ((1 << (until - start)) - 1)) << goal
