"""Nearest rows of numbers and categories together.

Categories first: for every pattern of them among those asked of, the patterns across in order of
their distance. Numbers are searched within the nearest pattern, and then within those alone whose
categories are nearer than what was found.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.attacks.apart import Apart
from veil.tables.attacks.patterns import Grid, Patterns
from veil.tables.attacks.trees import added, tree_of

_BRUTE = 200_000  # pairs up to which numbers are compared one by one


class Mixed:
    """For patterns asked of, the nearest across, where some columns are numbers on both sides."""

    def __init__(
        self, aparts: Sequence[Apart], asked: Ids, across: Ids, *, released: bool
    ) -> None:
        numbers = line_columns(aparts, asked, across, released=released)
        others = [at for at in range(len(aparts)) if at not in numbers]
        self._asked = Patterns.of_codes(asked[:, others])
        self._across = Patterns.of_codes(across[:, others])
        self._grid = Grid(
            [aparts[at] for at in others], self._across.codes, np.add, released=released
        )
        self._points = _placed(aparts, asked, numbers, labels=not released)
        self._rows = np.argsort(self._across.at, kind="stable")  # by pattern
        self._others = _placed(aparts, across[self._rows], numbers, labels=released)
        self._starts = np.concatenate([[0], np.cumsum(self._across.sizes).astype(np.int64)])
        self._trees: dict[int, Any] = {}

    @property
    def cost(self) -> int:
        """How many pairs of patterns are compared."""
        return len(self._asked) * len(self._across)

    def best(self) -> Floats:
        """Return the square of the distance of the nearest."""
        made = np.empty(len(self._points))
        for rows, far in self._groups(np.arange(len(made))):
            made[rows] = self._nearest(self._points[rows], far)
        return made

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Add up weights (across, v) over all that are within the limit, a square."""
        made = np.zeros((len(which), weights.shape[1]))
        for rows, far in self._groups(which):
            for pattern in np.flatnonzero(far <= limit[rows].max()):
                room = limit[rows] - far[pattern]
                near = np.flatnonzero(room >= 0)
                points = self._points[which[rows[near]]]
                made[rows[near]] += self._within(points, int(pattern), room[near], weights)
        return made

    def _groups(self, which: Ids) -> Iterator[tuple[Ids, Floats]]:
        """Give rows of `which` that have the same categories, and how far all patterns are."""
        at = self._asked.at[which]
        order = np.argsort(at, kind="stable")
        present, starts = np.unique(at[order], return_index=True)
        ends = np.append(starts[1:], len(order))
        for part in self._grid.blocks(len(present)):
            block = self._grid.block(self._asked.codes[present[part]])
            for column, number in enumerate(range(part.start, part.stop)):
                yield order[starts[number] : ends[number]], block[:, column]

    def _nearest(self, points: Floats, far: Floats) -> Floats:
        first = int(far.argmin())
        best: Floats = self._least(points, first) + far[first]
        near = np.flatnonzero(far < best.max())
        near = near[near != first]
        places = _ranges(self._starts[near], self._starts[near + 1])
        if len(points) * len(places) <= _BRUTE:
            if len(places) > 0:
                more = np.repeat(far[near], self._starts[near + 1] - self._starts[near])
                total = _squares(points, self._others[places]) + more
                np.minimum(best, total.min(axis=1), out=best)
            return best
        for pattern in near[np.argsort(far[near])]:
            open_rows = np.flatnonzero(best > far[pattern])
            if len(open_rows):
                found = far[pattern] + self._least(points[open_rows], int(pattern))
                best[open_rows] = np.minimum(best[open_rows], found)
        return best

    def _least(self, points: Floats, pattern: int) -> Floats:
        """Return the least square of a distance of numbers within a pattern across."""
        others = self._others[self._starts[pattern] : self._starts[pattern + 1]]
        if len(points) * len(others) <= _BRUTE:
            least: Floats = _squares(points, others).min(axis=1)
            return least
        _, nearest = self._tree(pattern, others).query(points)
        return np.asarray(np.square(points - others[nearest]).sum(axis=1), dtype=np.float64)

    def _within(self, points: Floats, pattern: int, room: Floats, weights: Floats) -> Floats:
        """Add up weights of what is within some room of a pattern across."""
        part = slice(self._starts[pattern], self._starts[pattern + 1])
        others, held = self._others[part], weights[self._rows[part]]
        if len(points) * len(others) <= _BRUTE:
            total: Floats = (_squares(points, others) <= room[:, None]).astype(np.float64) @ held
            return total
        lists = self._tree(pattern, others).query_ball_point(points, np.sqrt(room))
        return added(lists, held)

    def _tree(self, pattern: int, others: Floats) -> Any:  # noqa: ANN401 - of scipy
        if pattern not in self._trees:
            self._trees[pattern] = tree_of(others)
        return self._trees[pattern]


def line_columns(aparts: Sequence[Apart], asked: Ids, across: Ids, *, released: bool) -> list[int]:
    """Return the columns that are numbers on both sides, with nothing missing."""
    made = []
    for column, one in enumerate(aparts):
        mine, theirs = (one.values, one.labels) if released else (one.labels, one.values)
        whole = (asked[:, column] < mine).all() and (across[:, column] < theirs).all()
        if one.squared and one.points() is not None and whole:
            made.append(column)
    return made


def _placed(aparts: Sequence[Apart], codes: Ids, columns: list[int], *, labels: bool) -> Floats:
    """Return where patterns lie (n, columns)."""
    made = []
    for column in columns:
        lines = aparts[column].points()
        assert lines is not None  # noqa: S101 - they are numbers
        made.append(lines[0 if labels else 1][codes[:, column]])
    return np.stack(made, axis=1)


def _squares(points: Floats, others: Floats) -> Floats:
    """Return squares of distances (n, m)."""
    total = np.zeros((len(points), len(others)))
    for mine, theirs in zip(points.T, others.T, strict=True):
        gap = mine[:, None] - theirs[None, :]
        total += gap * gap
    return total


def _ranges(starts: Ids, ends: Ids) -> Ids:
    """Return all whole numbers of some ranges, one range after the other."""
    sizes = ends - starts
    offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    made: Ids = np.repeat(starts, sizes) + offsets
    return made
