"""Classes at the nodes of a lattice, each counted from the cheapest one below it."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Ids
from veil.tables.anonymise.cube import Cube, Node, Tally
from veil.tables.anonymise.ladder import Ladder
from veil.tables.criteria.classes import Classes, Spread, valued
from veil.tables.table import Table

Tallies = tuple[Tally, ...]
_STORED = 8  # times the counts at the bottom, that many others are kept
_FEW = 1 << 20


class Counter:
    """Counts a table at the nodes of the lattice of its columns.

    Rows are read once; from then on only different ones count. For criteria on confidential
    columns there is one cube for each of them. `counts` says of how many records each row is.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        confidential: Sequence[str] = (),
        counts: Ids | None = None,
    ) -> None:
        self.ladders = [Ladder.of(table.column(one), table.hierarchy(one)) for one in columns]
        self.shape = tuple(ladder.height + 1 for ladder in self.ladders)
        shrinks = [len(ladder.labels[0]) for ladder in self.ladders]
        self._order = sorted(range(len(shrinks)), key=lambda column: -shrinks[column])
        codes = [table.column(name).codes for name in columns]
        self._values: list[int] = []
        self._cubes: list[Cube] = []
        bottom: list[Tally] = []
        for name in confidential:
            value, values = valued(table.column(name))
            self._cubes.append(Cube(self.ladders, values + 1))
            self._values.append(values)
            bottom.append(self._cubes[-1].bottom(codes, value, counts))
        if not confidential:
            self._cubes.append(Cube(self.ladders))
            bottom.append(self._cubes[0].bottom(codes, None, counts))
        self._stored: list[Tallies] = [tuple(bottom)]
        self._held = 0  # counts that are kept, without those at the bottom
        self._nodes = np.zeros((64, len(columns)), dtype=np.int64)
        self._sizes = np.full(64, len(bottom[0]), dtype=np.int64)

    def at(self, node: Node) -> Tallies:
        """Count the classes of a node from the smallest tally below it."""
        below = np.flatnonzero((self._nodes[: len(self._stored)] <= node).all(axis=1))
        source: Tallies = self._stored[int(below[np.argmin(self._sizes[below])])]
        for column in self._order:  # step by step, so that what is between serves others, too
            between = source[0].node
            if between[column] != node[column]:
                step = (*between[:column], node[column], *between[column + 1 :])
                source = self._rolled(source, step)
                self._store(source)
        return source

    def _rolled(self, tallies: Tallies, node: Node) -> Tallies:
        pairs = zip(self._cubes, tallies, strict=True)
        return tuple(cube.rolled(tally, node) for cube, tally in pairs)

    def _store(self, tallies: Tallies) -> None:
        """Keep counts for others above them; the largest go when there are too many."""
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
        """Count every node, each from one child; a few tallies are held at a time."""
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
                tallies = self._rolled(tallies, tuple(node))
            yield from self._walk(tallies, rest)

    def classes(self, tallies: Tallies) -> Classes:
        """Return the sizes of the classes at a node, and how confidential values spread."""
        if not self._values:
            return Classes(tallies[0].count)
        spreads = []
        for cube, tally, values in zip(self._cubes, tallies, self._values, strict=True):
            owner = cube.owners(tally)
            spreads.append(
                Spread(owner, cube.values(tally), tally.count, values, int(owner[-1]) + 1)
            )
        return Classes(spreads[0].sizes.astype(np.int64), tuple(spreads))

    def labels(self, tallies: Tallies, some: NDArray[np.bool_]) -> Iterator[tuple[int, Ids]]:
        """Yield for each column its number and the labels of some classes at a node."""
        cube, tally = self._cubes[0], tallies[0]
        first = np.arange(len(tally))
        if self._values:
            first = np.flatnonzero(np.diff(cube.owners(tally), prepend=-1))
        return cube.labels(tally, first[some])
