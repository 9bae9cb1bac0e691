"""Class sizes at every node of the lattice of generalisation levels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.criteria import Bools, Classes, Spread, category_codes
from veil.tables.hierarchy import Hierarchy
from veil.tables.table import Table


@dataclass(frozen=True, eq=False)
class Ladder:
    """The generalisation levels of one column.

    A missing value has its own label below the top, where all labels are one.

    Attributes
    ----------
    codes
        Per level the label of each category (categories,). With missing values it has one more
        entry at the end, which their code, -1, indexes.
    labels
        Per level the labels that occur; None for a missing value.
    leaves
        Per level, the number of leaves of the hierarchy below each label.
    domain
        Number of leaves in the hierarchy.
    """

    codes: tuple[Ids, ...]
    labels: tuple[tuple[str | None, ...], ...]
    leaves: tuple[Ids, ...]
    domain: int
    _maps: dict[tuple[int, int], Ids] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Level of the top."""
        return len(self.codes) - 1

    def map(self, low: int, high: int) -> Ids:
        """Return the label at level `high` of each label at level `low`."""
        mapping = self._maps.get((low, high))
        if mapping is None:
            mapping = np.zeros(len(self.labels[low]), dtype=np.int64)
            mapping[self.codes[low]] = self.codes[high]
            self._maps[low, high] = mapping
        return mapping

    @classmethod
    def of(cls, column: Column, hierarchy: Hierarchy) -> "Ladder":
        """Return the levels of a column, restricted to the values that it contains."""
        leaves = hierarchy.at(column)
        gaps = bool(column.missing.any())
        codes, labels, under = [], [], []
        for level, (names, level_codes) in enumerate(
            zip(hierarchy.labels, hierarchy.codes, strict=True)
        ):
            used, at = np.unique(level_codes[leaves], return_inverse=True)
            names_here: list[str | None] = [names[code] for code in used]
            below = np.bincount(level_codes, minlength=len(names))[used]
            if gaps and level and level == hierarchy.height and len(used):
                at = np.append(at, 0)
            elif gaps:
                at = np.append(at, len(used))
                names_here.append(None)
                below = np.append(below, 1)
            codes.append(at.astype(np.int64))
            labels.append(tuple(names_here))
            under.append(below)
        return cls(tuple(codes), tuple(labels), tuple(under), len(hierarchy.leaves))


Node = tuple[int, ...]  # a level for each column
_BITS = 62  # of one word of a key
_ROOM = 4  # cells of a dense table of counts for each key, above which keys are sorted


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts at one node: words of ascending keys (m,), and the number of rows of each (m,)."""

    node: Node
    words: tuple[Ids, ...]
    count: Ids

    def __len__(self) -> int:
        return len(self.count)


class Cube:
    """Counts of rows by the labels of columns, and by a value that is not generalised.

    A key has a bit field per column, as wide as the labels of its level need, and the value in the
    lowest bits. Fields that do not fit into one word continue in the next.
    """

    def __init__(self, ladders: Sequence[Ladder], values: int = 1) -> None:
        self.ladders = ladders
        self.value_bits = (values - 1).bit_length()
        self._widths = [
            [(len(labels) - 1).bit_length() for labels in ladder.labels] for ladder in ladders
        ]
        self._words = self._shared_out()

    def _shared_out(self) -> list[list[int]]:
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
        """Yield the number, first bit and width of each column in a word at a node."""
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

        `counts` is the number of records that each row stands for (n,).
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

    def roll_up(self, tally: Tally, node: Node) -> Tally:
        """Return the counts at a node, computed from those of a node below it."""
        words = [self._moved(word, key, tally.node, node) for word, key in enumerate(tally.words)]
        return self._grouped(node, words, tally.count)

    def _moved(self, word: int, key: Ids, low: Node, high: Node) -> Ids:
        """Rewrite each field at its new level; runs of unchanged fields move together."""
        moved = key & ((1 << self.value_bits) - 1) if word == 0 else np.zeros_like(key)
        start, until, goal = -1, -1, -1  # a run of unchanged fields: its bits, and its new offset
        fields = zip(self.offsets(word, low), self.offsets(word, high), strict=True)
        for (column, at, width), (_, new, _) in fields:
            if low[column] == high[column]:
                if start < 0:
                    start, goal = at, new
                until = at + width
                continue
            moved |= _run(key, start, until, goal)
            start = -1
            digit = (key >> at) & ((1 << width) - 1)
            moved |= self.ladders[column].map(low[column], high[column]).take(digit) << new
        return moved | _run(key, start, until, goal)

    def _grouped(self, node: Node, words: list[Ids], count: Ids | None) -> Tally:
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
        """Sort keys and sum their counts, which go into low bits of the keys if they fit."""
        bits = int(count.max(initial=0)).bit_length()
        if self._bits(0, node) + bits > _BITS:
            order = np.argsort(key)
            key, count = key[order], count[order]
        else:
            packed = (key << bits) | count
            packed.sort()
            key, count = packed >> bits, packed & ((1 << bits) - 1)
        new = _new((key,))
        return key[new], _sums(count, new)

    def labels(self, tally: Tally, rows: Ids) -> Iterator[tuple[int, Ids]]:
        """Yield the number of each column, and its labels at some keys of a tally."""
        for word, key in enumerate(tally.words):
            selected = key[rows]
            for column, at, width in self.offsets(word, tally.node):
                yield column, (selected >> at) & ((1 << width) - 1)

    def owners(self, tally: Tally) -> Ids:
        """Return the class of each key (m,); keys that differ only in the value share one."""
        parts = (tally.words[0] >> self.value_bits, *tally.words[1:])
        return np.cumsum(_new(parts)) - 1

    def values(self, tally: Tally) -> Ids:
        """Return the value of each key (m,)."""
        return tally.words[0] & ((1 << self.value_bits) - 1)


def _new(words: Sequence[Ids]) -> NDArray[np.bool_]:
    """Return which sorted keys (m,) differ from their predecessor."""
    new = np.zeros(len(words[0]), dtype=np.bool_)
    new[:1] = True
    for key in words:
        new[1:] |= key[1:] != key[:-1]
    return new


def _sums(count: Ids, new: NDArray[np.bool_]) -> Ids:
    first = np.flatnonzero(new)
    return np.add.reduceat(count, first) if len(first) else count


def _run(key: Ids, start: int, until: int, goal: int) -> Ids | int:
    """Return a run of bits at its new offset; 0 if there is no run."""
    if start < 0:
        return 0
    return ((key >> start) & ((1 << (until - start)) - 1)) << goal


Tallies = tuple[Tally, ...]
_STORED = 8  # other counts to cache, as a multiple of those at the bottom
_FEW = 1 << 20


class Counter:
    """Counts the classes of a table at the nodes of its generalisation lattice.

    Rows are read once; afterwards only distinct ones matter. With criteria on confidential columns
    there is one cube per such column. `counts` is the number of records that each row stands for.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        confidential: Sequence[str] = (),
        counts: Ids | None = None,
    ) -> None:
        self.ladders = [Ladder.of(table.column(name), table.hierarchy(name)) for name in columns]
        self.shape = tuple(ladder.height + 1 for ladder in self.ladders)
        shrinks = [len(ladder.labels[0]) for ladder in self.ladders]
        self._order = sorted(range(len(shrinks)), key=lambda column: -shrinks[column])
        codes = [table.column(name).codes for name in columns]
        self._values: list[int] = []
        self._cubes: list[Cube] = []
        bottom: list[Tally] = []
        for name in confidential:
            value, values = category_codes(table.column(name))
            self._cubes.append(Cube(self.ladders, values + 1))
            self._values.append(values)
            bottom.append(self._cubes[-1].bottom(codes, value, counts))
        if not confidential:
            self._cubes.append(Cube(self.ladders))
            bottom.append(self._cubes[0].bottom(codes, None, counts))
        self._stored: list[Tallies] = [tuple(bottom)]
        self._held = 0  # cached counts, without those at the bottom
        self._nodes = np.zeros((64, len(columns)), dtype=np.int64)
        self._sizes = np.full(64, len(bottom[0]), dtype=np.int64)

    def at(self, node: Node) -> Tallies:
        """Count the classes of a node from the smallest tally below it."""
        below = np.flatnonzero((self._nodes[: len(self._stored)] <= node).all(axis=1))
        source: Tallies = self._stored[int(below[np.argmin(self._sizes[below])])]
        for column in self._order:  # in steps, so that other nodes can reuse them
            between = source[0].node
            if between[column] != node[column]:
                step = (*between[:column], node[column], *between[column + 1 :])
                source = self._roll_up(source, step)
                self._store(source)
        return source

    def _roll_up(self, tallies: Tallies, node: Node) -> Tallies:
        pairs = zip(self._cubes, tallies, strict=True)
        return tuple(cube.roll_up(tally, node) for cube, tally in pairs)

    def _store(self, tallies: Tallies) -> None:
        """Cache counts for nodes above them; the largest are dropped when there are too many."""
        place = len(self._stored)
        if place == len(self._nodes):
            self._nodes = np.concatenate([self._nodes, self._nodes])
            self._sizes = np.concatenate([self._sizes, self._sizes])
        self._stored.append(tallies)
        self._nodes[place], self._sizes[place] = tallies[0].node, len(tallies[0])
        self._held += len(tallies[0])
        if self._held > max(_FEW, _STORED * int(self._sizes[0])):
            self._halve()

    def _halve(self) -> None:
        sizes = self._sizes[: len(self._stored)]
        order = np.argsort(sizes[1:], kind="stable") + 1
        fits = order[np.cumsum(sizes[order]) <= self._held // 2]
        places = np.append(0, np.sort(fits))
        self._stored = [self._stored[place] for place in places]
        self._nodes[: len(places)] = self._nodes[places]
        self._sizes[: len(places)] = self._sizes[places]
        self._held = int(self._sizes[1 : len(places)].sum())

    def walk(self) -> Iterator[Tallies]:
        """Yield the counts at every node, each from a child, with few in memory at a time."""
        yield from self._walk(self._stored[0], self._order)

    def _walk(self, tallies: Tallies, columns: list[int]) -> Iterator[Tallies]:
        if not columns:
            yield tallies
            return
        column, rest = columns[0], columns[1:]
        for level in range(self.shape[column]):
            if level:
                node = list(tallies[0].node)
                node[column] = level
                tallies = self._roll_up(tallies, tuple(node))
            yield from self._walk(tallies, rest)

    def classes(self, tallies: Tallies) -> Classes:
        """Return the sizes of the classes at a node, and the confidential values in them."""
        if not self._values:
            return Classes(tallies[0].count)
        spreads = []
        for cube, tally, values in zip(self._cubes, tallies, self._values, strict=True):
            owner = cube.owners(tally)
            spreads.append(
                Spread(owner, cube.values(tally), tally.count, values, int(owner[-1]) + 1)
            )
        return Classes(spreads[0].sizes.astype(np.int64), tuple(spreads))

    def labels(self, tallies: Tallies, selected: NDArray[np.bool_]) -> Iterator[tuple[int, Ids]]:
        """Yield the number of each column, and its labels in the selected classes of a node."""
        cube, tally = self._cubes[0], tallies[0]
        first = np.arange(len(tally))
        if self._values:
            first = np.flatnonzero(np.diff(cube.owners(tally), prepend=-1))
        return cube.labels(tally, first[selected])


Minimise = Literal["dm", "precision", "entropy", "ncp"]


class Discernibility:
    """The sum of squared class sizes, plus n for each suppressed row.

    References
    ----------
    Bayardo, Agrawal. Data privacy through optimal k-anonymization. ICDE 2005, section 3.
    doi:10.1109/ICDE.2005.42
    """

    slack = 0.0

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def all(self, tallies: Tallies, classes: Classes) -> float:
        """Return the cost of a node without suppression, a lower bound for all nodes above it."""
        del tallies
        return int(np.dot(classes.sizes, classes.sizes))

    def more(self, tallies: Tallies, classes: Classes, failing: Bools) -> float:
        """Return the additional cost of suppressing the failing classes."""
        del tallies
        sizes = classes.sizes[failing]
        return int(self._rows * sizes.sum() - np.dot(sizes, sizes))


class CellCost:
    """The sum over cells of the extra cost of their labels; `top` if suppressed."""

    slack = 1e-9  # relative difference up to which losses are equal, since sums are rounded

    def __init__(
        self,
        counter: Counter,
        counts: Sequence[Sequence[Floats]],
        costs: Sequence[Sequence[Floats]],
        top: float,
        scale: float,
    ) -> None:
        self._counter, self._costs, self._top, self._scale = counter, costs, top, scale
        self._sums = [
            [float(np.dot(count, cost)) for count, cost in zip(*column, strict=True)]
            for column in zip(counts, costs, strict=True)
        ]

    def all(self, tallies: Tallies, classes: Classes) -> float:
        """Return the cost of a node without suppression, a lower bound for all nodes above it."""
        del classes
        pairs = zip(self._sums, tallies[0].node, strict=True)
        return sum(sums[level] - sums[0] for sums, level in pairs) * self._scale

    def more(self, tallies: Tallies, classes: Classes, failing: Bools) -> float:
        """Return the additional cost of suppressing the failing classes."""
        sizes = classes.sizes[failing].astype(np.float64)
        total = 0.0
        for column, labels in self._counter.labels(tallies, failing):
            cost = self._costs[column][tallies[0].node[column]]
            total += float(np.dot(sizes, self._top - cost[labels]))
        return total * self._scale


Cost = Discernibility | CellCost


def cost(
    minimise: Minimise,
    table: Table,
    columns: Sequence[str],
    counter: Counter,
    counts_of_rows: Ids | None = None,
) -> Cost:
    """Return the cost to minimise: a sum over classes, or over cells."""
    rows = len(table) if counts_of_rows is None else int(counts_of_rows.sum())
    if minimise == "dm":
        return Discernibility(rows)
    counts: list[list[Floats]] = []
    costs: list[list[Floats]] = []
    for name, ladder in zip(columns, counter.ladders, strict=True):
        leaf = ladder.codes[0][table.column(name).codes]
        bottom = np.bincount(leaf, counts_of_rows).astype(np.float64)
        maps = [ladder.map(0, level) for level in range(ladder.height + 1)]
        rows_of = [np.bincount(above, bottom).astype(np.float64) for above in maps]
        counts.append(rows_of)
        costs.append(
            [
                _label_costs(minimise, ladder, level, level_rows)
                for level, level_rows in enumerate(rows_of)
            ]
        )
    if minimise == "entropy":
        return CellCost(counter, counts, costs, float(np.log2(rows)), 1.0)
    return CellCost(counter, counts, costs, 1.0, 1.0 / (rows * len(columns)))


def _label_costs(minimise: Minimise, ladder: Ladder, level: int, rows: Floats) -> Floats:
    if minimise == "entropy":
        return np.log2(rows)
    if minimise == "precision":
        return np.full(len(ladder.labels[level]), level / max(1, ladder.height))
    share = ladder.leaves[level] / ladder.domain
    return np.where(ladder.leaves[level] > 1, share, 0.0)
