"""The known records that a released row covers or is nearest to.

How many originals agree with a released row in which columns.
An agreement is a number whose bit j says that column j agrees. A tally lists, for some released
patterns, the agreements that occur and how many originals have each; n x n is never held.

Sums over columns for all pairs of patterns, by two halves of the columns.
What is asked of are R patterns, what lies across are N. Let the first half of the columns have
K1' different patterns among those asked of, and the second K2 among those across. The least sum of
one half is found once for each of K1' and each of K2, in K1' N steps, and the least total in R K2
more: far fewer than R N where columns repeat their values.

Nearest rows of numbers and categories together.
Categories first: for every pattern of them among those asked of, the patterns across in order of
their distance. Numbers are searched within the nearest pattern, and then within those alone whose
categories are nearer than what was found.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import MissingExtraError
from veil.core.types import Floats, Ids
from veil.tables.labels import UNCOVERED, Bools, Cover
from veil.tables.patterns import (
    BLOCK,
    Grid,
    LabelDistance,
    Patterns,
    described_values,
    rows_across,
)
from veil.tables.table import row_classes

_EXACT = 2**24  # up to which single precision counts without error


class Compatible:
    """Patterns of released labels beside patterns of known values.

    Where each value is covered by one label of its column, values are replaced by their labels,
    and equal rows are compatible; else all pairs of patterns are compared, in blocks.
    """

    def __init__(self, covers: Sequence[Cover], released: Patterns, known: Patterns) -> None:
        self._covers, self._released, self._known = covers, released, known
        self._classes = self._joined()

    def holds(self, released: Ids, known: Ids) -> Bools:
        """Tell which pairs of patterns, by their numbers, are compatible."""
        pairs = described_values(
            self._covers, self._released.codes[released], self._known.codes[known]
        )
        found: Bools = np.logical_and.reduce(pairs)
        return found

    def over_released(self, weights: Floats) -> Floats:
        """Add up weights (released, v) over what is compatible with each known pattern."""
        return self._sums(weights, over_released=True)

    def over_known(self, weights: Floats) -> Floats:
        """Add up weights (known, v) over what is compatible with each released pattern."""
        return self._sums(weights, over_released=False)

    def _sums(self, weights: Floats, *, over_released: bool) -> Floats:
        if self._classes is not None:
            labels, values = self._classes
            over, to = (labels, values) if over_released else (values, labels)
            return _by_class(weights, over, to)
        across, asked = self._released.codes, self._known.codes
        if not over_released:
            across, asked = asked, across
        grid = Grid(self._covers, across, np.logical_and, released=over_released)
        made = np.empty((len(asked), weights.shape[1]))
        short = bool(weights.sum(axis=0).max(initial=0.0) < _EXACT)
        factors: NDArray[Any] = weights.astype(np.float32 if short else np.float64)
        for part in grid.blocks(len(asked)):
            made[part] = grid.block(asked[part]).astype(factors.dtype).T @ factors
        return made

    def _joined(self) -> tuple[Ids, Ids] | None:
        """Give both sides the numbers of their labels, if each value has one; -1 is for none."""
        coded = []
        for column, cover in enumerate(self._covers):
            alone = cover.alone(self._released.codes[:, column])
            if alone is None:
                return None
            coded.append(alone[self._known.codes[:, column]])
        values = np.stack(coded, axis=1)
        both = np.concatenate([self._released.codes, values])
        classes = row_classes(list(both.T), len(both))
        labels = classes[: len(self._released)]
        return labels, np.where(
            (values == UNCOVERED).any(axis=1), -1, classes[len(self._released) :]
        )


def _by_class(weights: Floats, over: Ids, to: Ids) -> Floats:
    """Add up weights by the class of their rows, and look the sums up; none for class -1."""
    count = max(int(over.max(initial=-1)), int(to.max(initial=-1))) + 1
    held = over >= 0
    sums = np.stack(
        [np.bincount(over[held], column[held], minlength=count) for column in weights.T], axis=1
    )
    return np.where(to[:, None] >= 0, sums[to], 0.0)


Counts = NDArray[np.int32]
_SHORT = 16  # columns whose bits fit into a short number
_DENSE = 12  # columns up to which all agreements are counted at once
_ENTRIES = 2**25  # counts of subsets that are held: 128 MB
_PAIR, _ROW = 4.0, 80.0  # nanoseconds of a column of a pair, and of a row in a subset


class Tally(NamedTuple):
    """Released patterns (t,) in order, an agreement of each (t,), and its originals (t,)."""

    rows: Ids
    agreements: Ids
    counts: Floats


class Bit:
    """What a column tells of a pair, as one bit of an agreement."""

    def __init__(self, cover: Cover, column: int, wide: int) -> None:
        self.labels, self.values = cover.labels, cover.values
        self._cover = cover
        self._bit = np.array(1 << column, dtype=np.uint16 if wide <= _SHORT else np.int64)

    def between(self, labels: Ids, values: Ids) -> NDArray[Any]:
        """Return the bit of labels that cover values."""
        return self._cover.between(labels, values) * self._bit


class Tallies:
    """Counts agreements of released patterns with known ones."""

    def __init__(self, covers: Sequence[Cover], released: Patterns, known: Patterns) -> None:
        self._covers, self._released, self._known = covers, released, known
        self._wide = len(covers)
        self._subsets: Counts | None = None
        codes = self._labelled() if self._short() else None
        if codes is not None:
            self._subsets = _exactly(_at_least(released.codes, codes, known.sizes), self._wide)

    def __iter__(self) -> Iterator[Tally]:
        """Give tallies of all released patterns, some at a time."""
        if self._subsets is not None:
            step = max(1, BLOCK // (8 << self._wide))
            for start in range(0, len(self._released), step):
                yield _listed(self._subsets[:, start : start + step].T, start)
            return
        bits = [Bit(cover, column, self._wide) for column, cover in enumerate(self._covers)]
        grid = Grid(bits, self._known.codes, np.bitwise_or, released=False)
        count = _dense if self._wide <= _DENSE else _sorted
        for part in grid.blocks(len(self._released)):
            pairs = grid.block(self._released.codes[part])
            yield count(pairs, self._known.sizes, part.start, self._wide)

    def agreements(self, released: Ids, known: Ids) -> Bools:
        """Tell of pairs of patterns which columns agree (n, columns)."""
        labels, values = self._released.codes[released], self._known.codes[known]
        columns = [
            cover.between(labels[:, j], values[:, j]) for j, cover in enumerate(self._covers)
        ]
        return np.stack(columns, axis=1)

    def _short(self) -> bool:
        """Whether counting by subsets of columns is faster than by pairs, and fits."""
        rows, across = len(self._released), len(self._known)
        if self._wide > _DENSE or rows << self._wide > _ENTRIES:
            return False
        return _ROW * (rows + across) * (1 << self._wide) < _PAIR * self._wide * rows * across

    def _labelled(self) -> Ids | None:
        """Return known patterns by the one label of each value, or None if some have several."""
        made = []
        for column, cover in enumerate(self._covers):
            used = self._released.codes[:, column]
            alone = cover.alone(used[used < cover.labels])
            if alone is None:
                return None
            made.append(alone[self._known.codes[:, column]])
        return np.stack(made, axis=1)


def _at_least(released: Ids, known: Ids, sizes: Floats) -> Counts:
    """Count the originals that agree in all columns of each subset (subsets, released)."""
    count, wide = released.shape
    both = np.concatenate([released, known])
    made: Counts = np.empty((1 << wide, count), dtype=np.int32)

    def visit(subset: int, numbers: Ids, start: int) -> None:
        held = np.bincount(numbers[count:], sizes, minlength=int(numbers.max()) + 1)
        made[subset] = held[numbers[:count]]
        for column in range(start, wide):
            finer = row_classes([numbers, both[:, column]], len(both))
            visit(subset | 1 << column, finer, column + 1)

    visit(0, np.zeros(len(both), dtype=np.int64), 0)
    return made


def _exactly(counts: Counts, wide: int) -> Counts:
    """Turn counts of agreeing at least in a subset into those of agreeing exactly in it."""
    for column in range(wide):
        cube = counts.reshape(-1, 2, 1 << column, counts.shape[1])
        cube[:, 0] -= cube[:, 1]
    return counts


def _listed(table: NDArray[Any], start: int) -> Tally:
    """List what is above 0 in a table (released, agreements)."""
    rows, agreements = np.nonzero(table)
    return Tally(rows + start, agreements, table[rows, agreements].astype(np.float64))


def _dense(pairs: NDArray[Any], sizes: Floats, start: int, wide: int) -> Tally:
    """Count agreements (known, b) in a table of all that are possible."""
    count = pairs.shape[1]
    keys = pairs + (np.arange(count) << wide)
    weights = np.broadcast_to(sizes[:, None], pairs.shape).ravel()
    table = np.bincount(keys.ravel(), weights, minlength=count << wide)
    return _listed(table.reshape(count, 1 << wide), start)


def _sorted(pairs: NDArray[Any], sizes: Floats, start: int, wide: int) -> Tally:
    """Count agreements (known, b) of many columns by sorting them, one released at a time."""
    del wide
    made = []
    for row, column in enumerate(pairs.T):
        agreements, places = np.unique(column, return_inverse=True)
        rows = np.full(len(agreements), start + row)
        counts = np.bincount(places, sizes).astype(np.float64)
        made.append(Tally(rows, agreements.astype(np.int64), counts))
    return Tally(*(np.concatenate(part) for part in zip(*made, strict=True)))


SAME = 1e-10  # squares of distances that differ by no more, as a share, are the same
_ZERO = 1e-20  # and so are those below this, in squares of the scale


def within(best: Floats) -> Floats:
    """Return up to where something is as near as the best."""
    return best * (1 + SAME) + _ZERO


class _Sweep(NamedTuple):
    """Some patterns of the first half: who asks, their places, all sums, and the least ones."""

    rows: Ids
    at: Ids
    sums: Floats  # (across, b), by patterns of the second half
    lowest: Floats  # (patterns of the second half across, b)


class Halves:
    """Distances of patterns asked of (R, columns) and patterns across (N, columns)."""

    def __init__(
        self, aparts: Sequence[LabelDistance], asked: Ids, across: Ids, *, released: bool
    ) -> None:
        self._aparts, self._released = aparts, released
        self.cost, self._columns = _split(asked, across)
        self._asked = [_patterns(asked, columns) for columns in self._columns]
        self._across = [_patterns(across, columns) for columns in self._columns]
        self._order = np.argsort(self._across[1].at, kind="stable")
        self._starts = np.flatnonzero(np.diff(self._across[1].at[self._order], prepend=-1))
        self._sizes = np.bincount(self._across[1].at)

    def least(self, which: Ids) -> Floats:
        """Return the least sum of some patterns."""
        made = np.empty(len(which))
        for sweep in self._sweeps(which):
            for chosen, total in self._totals(which, sweep):
                made[chosen] = total.min(axis=0)
        return made

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Add up weights (N, v) over what is within a limit that nothing but the least is."""
        made = np.empty((len(which), weights.shape[1]))
        held = weights[self._order]
        for sweep in self._sweeps(which):
            near = sweep.sums <= np.repeat(within(sweep.lowest), self._sizes, axis=0)
            tied = [np.add.reduceat(near * one[:, None], self._starts, axis=0) for one in held.T]
            for chosen, total in self._totals(which, sweep):
                reached = total <= limit[chosen]
                at = sweep.at[chosen]
                for column, weight in enumerate(tied):
                    made[chosen, column] = (weight.take(at, axis=1) * reached).sum(axis=0)
        return made

    def _sweeps(self, which: Ids) -> Iterator["_Sweep"]:
        """Go over the patterns of the first half, some at a time."""
        wanted = self._asked[0].at[which]
        first = self._across[0].at[self._order]
        for part in _blocks(len(self._asked[0]), len(first)):
            rows = np.flatnonzero((wanted >= part.start) & (wanted < part.stop))
            if len(rows):
                table = self._table(0, self._asked[0].codes[part])
                sums = table.take(first, axis=0)
                lowest = np.minimum.reduceat(sums, self._starts, axis=0)
                yield _Sweep(rows, wanted - part.start, sums, lowest)

    def _totals(self, which: Ids, sweep: "_Sweep") -> Iterator[tuple[Ids, Floats]]:
        """Add the second half to the least of the first: (patterns of the second across, b)."""
        for part in _blocks(len(sweep.rows), len(sweep.lowest)):
            chosen = sweep.rows[part]
            total = self._table(1, self._asked[1].codes[self._asked[1].at[which[chosen]]])
            total += sweep.lowest.take(sweep.at[chosen], axis=1)
            yield chosen, total

    def _table(self, half: int, codes: Ids) -> Floats:
        """Return sums over one half of the columns (its patterns across, b)."""
        across = self._across[half].codes
        total = np.zeros((len(across), len(codes)))
        for place, column in enumerate(self._columns[half]):
            rows = rows_across(self._aparts[column], codes[:, place], released=self._released)
            total += rows.take(across[:, place], axis=0)
        return total


def _split(asked: Ids, across: Ids) -> tuple[int, tuple[list[int], list[int]]]:
    """Choose two halves of the columns that make the search short, and say how short."""
    pairs = zip(asked.T, across.T, strict=True)
    order = np.argsort([len(np.unique(a)) / len(np.unique(b)) for a, b in pairs], kind="stable")
    made = []
    for cut in range(len(order) + 1):
        first, second = order[:cut].tolist(), order[cut:].tolist()
        cost = len(_patterns(asked, first)) * len(across)
        cost += len(asked) * len(_patterns(across, second))
        made.append((cost, (first, second)))
    return min(made)


def _patterns(codes: Ids, columns: Sequence[int]) -> Patterns:
    return Patterns.of_codes(codes[:, list(columns)])


def _blocks(n: int, wide: int) -> Iterator[slice]:
    step = max(1, BLOCK // (8 * max(1, wide)))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


_AT_ONCE = 4096  # points whose neighbours are listed at a time


class Trees:
    """A tree over the columns that are known, for each set of columns that some points miss.

    What is missing is as far from everything, and adds the same to every distance.
    """

    def __init__(self, asked: Floats, across: Floats, stars: Floats) -> None:
        self._asked, self._across = asked, across
        blank = np.isnan(asked)
        masks, self._at = np.unique(blank, axis=0, return_inverse=True)
        self._at = self._at.ravel()
        self._masks = masks
        self._more = masks @ stars  # what missing columns add, per mask
        self._made = [tree_of(across[:, ~mask]) if not mask.all() else None for mask in masks]

    @classmethod
    def of(
        cls, aparts: Sequence[LabelDistance], asked: Ids, across: Ids, *, released: bool
    ) -> "Trees | None":
        """Make trees, if all columns are numbers, squared, and nothing across is missing."""
        lines = [one.points() if one.squared else None for one in aparts]
        made: list[tuple[Floats, Floats]] = []
        for column, line in enumerate(lines):
            if line is None:
                return None
            labels, values = line
            theirs, mine = (labels, values) if released else (values, labels)
            made.append((mine[asked[:, column]], theirs[across[:, column]]))
        points = np.stack([pair[0] for pair in made], axis=1)
        others = np.stack([pair[1] for pair in made], axis=1)
        if np.isnan(others).any():
            return None
        return cls(points, others, np.array([one.star for one in aparts]))

    def best(self) -> Floats:
        """Return the square of the distance of the nearest."""
        made = np.empty(len(self._asked))
        for number, tree in enumerate(self._made):
            mine = np.flatnonzero(self._at == number)
            made[mine] = self._more[number]
            if tree is not None:
                _, nearest = tree.query(self._known(mine, number))
                gaps = self._known(mine, number) - tree.data[nearest]
                made[mine] += np.square(gaps).sum(axis=1)
        return made

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Add up weights (across, v) over all points within the limit, a square."""
        made = np.empty((len(which), weights.shape[1]))
        for number, tree in enumerate(self._made):
            mine = np.flatnonzero(self._at[which] == number)
            if tree is None:
                made[mine] = weights.sum(axis=0)
                continue
            reach = np.sqrt(np.maximum(0.0, limit[mine] - self._more[number]))
            for part in _parts(len(mine)):
                rows = mine[part]
                lists = tree.query_ball_point(self._known(which[rows], number), reach[part])
                made[rows] = add_weights(lists, weights)
        return made

    def _known(self, rows: Ids, number: int) -> Floats:
        return self._asked[rows][:, ~self._masks[number]]


def add_weights(lists: Sequence[list[int]], weights: Floats) -> Floats:
    """Add up the weights of each list of places."""
    sizes = np.array([len(one) for one in lists])
    owners = np.repeat(np.arange(len(lists)), sizes)
    places = np.fromiter((place for one in lists for place in one), np.int64, int(sizes.sum()))
    columns = [np.bincount(owners, row[places], minlength=len(lists)) for row in weights.T]
    return np.stack(columns, axis=1)


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, _AT_ONCE):
        yield slice(start, min(n, start + _AT_ONCE))


def tree_of(points: Floats) -> Any:  # noqa: ANN401 - of scipy
    """Return a tree of points (n, d)."""
    try:
        from scipy.spatial import cKDTree
    except ImportError as error:
        raise MissingExtraError(
            "Attacks by distance need scipy: pip install 'veil[tables]'."
        ) from error
    return cKDTree(points)


_BRUTE = 200_000  # pairs up to which numbers are compared one by one


class Mixed:
    """For patterns asked of, the nearest across, where some columns are numbers on both sides."""

    def __init__(
        self, aparts: Sequence[LabelDistance], asked: Ids, across: Ids, *, released: bool
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
        return add_weights(lists, held)

    def _tree(self, pattern: int, others: Floats) -> Any:  # noqa: ANN401 - of scipy
        if pattern not in self._trees:
            self._trees[pattern] = tree_of(others)
        return self._trees[pattern]


def line_columns(
    aparts: Sequence[LabelDistance], asked: Ids, across: Ids, *, released: bool
) -> list[int]:
    """Return the columns that are numbers on both sides, with nothing missing."""
    made = []
    for column, one in enumerate(aparts):
        mine, theirs = (one.values, one.labels) if released else (one.labels, one.values)
        whole = (asked[:, column] < mine).all() and (across[:, column] < theirs).all()
        if one.squared and one.points() is not None and whole:
            made.append(column)
    return made


def _placed(
    aparts: Sequence[LabelDistance], codes: Ids, columns: list[int], *, labels: bool
) -> Floats:
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


_MUCH = 50_000_000  # steps beyond which numbers and categories are searched apart


class Nearest:
    """For patterns that are asked of, the nearest patterns across.

    Numbers without intervals are searched by trees, few different values by halves of the columns,
    and n x n is never held. `released` says whether what lies across are released labels.
    """

    def __init__(
        self, aparts: Sequence[LabelDistance], asked: Patterns, across: Patterns, *, released: bool
    ) -> None:
        self._aparts, self._asked, self._across = aparts, asked, across
        self._released = released
        self._search = _search(aparts, asked.codes, across.codes, released=released)
        self.best = self._found()
        self._limit = within(self.best)

    def holds(self, asked: Ids, across: Ids) -> Bools:
        """Tell of pairs of patterns whether the second is among the nearest of the first."""
        labels, values = self._asked.codes[asked], self._across.codes[across]
        if self._released:
            labels, values = values, labels
        total = np.zeros(len(asked))
        for part in described_values(self._aparts, labels, values):
            total += part
        found: Bools = total <= self._limit[asked]
        return found

    def sums(self, which: Ids, weights: Floats) -> Floats:
        """Add up weights (across, v) over all nearest of some patterns."""
        return self._search.sums(which, self._limit[which], weights)

    def _found(self) -> Floats:
        """Return the sum of squares (Gower: of distances) of the nearest (asked,)."""
        if not isinstance(self._search, Halves):
            return self._search.best()
        made = np.zeros(len(self._asked))
        todo = np.flatnonzero(~self._equal())
        made[todo] = self._search.least(todo)
        return made

    def _equal(self) -> Bools:
        """Tell which patterns have an equal one across: nothing can be nearer."""
        labels, values = self._asked.codes, self._across.codes
        if self._released:
            labels, values = values, labels
        columns = [one.equal()[labels[:, at]] for at, one in enumerate(self._aparts)]
        matched = np.stack(columns, axis=1)
        both = np.concatenate([matched, values])
        classes = row_classes(list(both.T), len(both))
        mine, theirs = classes[: len(matched)], classes[len(matched) :]
        mine = np.where((matched < 0).any(axis=1), -1, mine)
        if self._released:
            mine, theirs = theirs, mine
        return np.isin(mine, theirs[theirs >= 0])


def _search(
    aparts: Sequence[LabelDistance], asked: Ids, across: Ids, *, released: bool
) -> Trees | Mixed | Halves:
    """Choose how to search: numbers by trees, few different values by halves of the columns."""
    trees = Trees.of(aparts, asked, across, released=released)
    if trees is not None:
        return trees
    halves = Halves(aparts, asked, across, released=released)
    if halves.cost > _MUCH and line_columns(aparts, asked, across, released=released):
        mixed = Mixed(aparts, asked, across, released=released)
        if mixed.cost < halves.cost:
            return mixed
    return halves
