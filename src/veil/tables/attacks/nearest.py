"""The known records that a released row covers or is nearest to.

Agreements: which columns of a released row and an original agree, as a number whose bit j stands
for column j. A tally lists, for some released patterns, their agreements and the number of
originals with each. No n x n array is ever stored.

Sums over columns, by halves: `targets` has R distinct patterns, `candidates` has N. If
the first half of the columns has K1 distinct patterns among the targets and the second half K2
among the candidates, the smallest sum of a half takes K1 N steps and the smallest total R K2 more:
far fewer than R N if columns repeat their values.

Numbers and categories together: for every pattern of categories, the candidates' patterns are
sorted by distance. Numbers are searched in the nearest pattern first, then only in those whose
categories are nearer than the best match so far.
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

_EXACT = 2**24  # single precision counts exactly up to this


class Compatible:
    """Which patterns of released labels cover which patterns of known values.

    If a single label of its column covers each value, values are replaced by their labels, and
    equal rows are compatible. Otherwise all pairs of patterns are compared, in blocks.
    """

    def __init__(self, covers: Sequence[Cover], released: Patterns, originals: Patterns) -> None:
        self._covers, self._released, self._originals = covers, released, originals
        self._classes = self._joined()

    def holds(self, released: Ids, originals: Ids) -> Bools:
        """Return which pairs of patterns, by index, are compatible."""
        pairs = described_values(
            self._covers, self._released.codes[released], self._originals.codes[originals]
        )
        compatible: Bools = np.logical_and.reduce(pairs)
        return compatible

    def over_released(self, weights: Floats) -> Floats:
        """Return sums of weights (released, v) over patterns compatible with each known one."""
        return self._sums(weights, over_released=True)

    def over_known(self, weights: Floats) -> Floats:
        """Return sums of weights (known, v) over patterns compatible with each released one."""
        return self._sums(weights, over_released=False)

    def _sums(self, weights: Floats, *, over_released: bool) -> Floats:
        if self._classes is not None:
            labels, values = self._classes
            over, to = (labels, values) if over_released else (values, labels)
            return _by_class(weights, over, to)
        candidates, targets = self._released.codes, self._originals.codes
        if not over_released:
            candidates, targets = targets, candidates
        grid = Grid(self._covers, candidates, np.logical_and, released=over_released)
        sums = np.empty((len(targets), weights.shape[1]))
        short = bool(weights.sum(axis=0).max(initial=0.0) < _EXACT)
        factors: NDArray[Any] = weights.astype(np.float32 if short else np.float64)
        for part in grid.blocks(len(targets)):
            sums[part] = grid.block(targets[part]).astype(factors.dtype).T @ factors
        return sums

    def _joined(self) -> tuple[Ids, Ids] | None:
        coded = []
        for column, cover in enumerate(self._covers):
            labels_of = cover.sole_labels(self._released.codes[:, column])
            if labels_of is None:
                return None
            coded.append(labels_of[self._originals.codes[:, column]])
        values = np.stack(coded, axis=1)
        rows = np.concatenate([self._released.codes, values])
        classes = row_classes(list(rows.T), len(rows))
        labels = classes[: len(self._released)]
        return labels, np.where(
            (values == UNCOVERED).any(axis=1), -1, classes[len(self._released) :]
        )


def _by_class(weights: Floats, over: Ids, to: Ids) -> Floats:
    """Return the sums of weights by class, for the rows `to`; 0 for class -1."""
    count = max(int(over.max(initial=-1)), int(to.max(initial=-1))) + 1
    covered = over >= 0
    sums = np.stack(
        [np.bincount(over[covered], column[covered], minlength=count) for column in weights.T],
        axis=1,
    )
    return np.where(to[:, None] >= 0, sums[to], 0.0)


Counts = NDArray[np.int32]
_SHORT = 16  # columns whose bits fit into 16 bits
_DENSE = 12  # up to this many columns, all agreements are counted at once
_ENTRIES = 2**25  # counts of subsets in memory: 128 MB
_PAIR, _ROW = 4.0, 80.0  # nanoseconds per column of a pair, and per row of a subset


class Tally(NamedTuple):
    """Released patterns (t,) in order, an agreement of each (t,), and its originals (t,)."""

    rows: Ids
    agreements: Ids
    counts: Floats


class Bit:
    """Whether a pair agrees in a column, as one bit of an agreement."""

    def __init__(self, cover: Cover, column: int, wide: int) -> None:
        self.labels, self.values = cover.labels, cover.values
        self._cover = cover
        self._bit = np.array(1 << column, dtype=np.uint16 if wide <= _SHORT else np.int64)

    def between(self, labels: Ids, values: Ids) -> NDArray[Any]:
        """Return the bit of the column where labels cover values, otherwise 0."""
        return self._cover.between(labels, values) * self._bit


class Tallies:
    """Counts the agreements of released patterns with known ones."""

    def __init__(self, covers: Sequence[Cover], released: Patterns, originals: Patterns) -> None:
        self._covers, self._released, self._originals = covers, released, originals
        self._wide = len(covers)
        self._subsets: Counts | None = None
        codes = self._labelled() if self._short() else None
        if codes is not None:
            self._subsets = _exactly(_at_least(released.codes, codes, originals.sizes), self._wide)

    def __iter__(self) -> Iterator[Tally]:
        """Yield the tallies of all released patterns, in blocks."""
        if self._subsets is not None:
            step = max(1, BLOCK // (8 << self._wide))
            for start in range(0, len(self._released), step):
                yield _listed(self._subsets[:, start : start + step].T, start)
            return
        bits = [Bit(cover, column, self._wide) for column, cover in enumerate(self._covers)]
        grid = Grid(bits, self._originals.codes, np.bitwise_or, released=False)
        count = _dense if self._wide <= _DENSE else _sorted
        for part in grid.blocks(len(self._released)):
            pairs = grid.block(self._released.codes[part])
            yield count(pairs, self._originals.sizes, part.start, self._wide)

    def agreements(self, released: Ids, originals: Ids) -> Bools:
        """Return which columns (n, columns) agree in pairs of patterns."""
        labels, values = self._released.codes[released], self._originals.codes[originals]
        columns = [
            cover.between(labels[:, j], values[:, j]) for j, cover in enumerate(self._covers)
        ]
        return np.stack(columns, axis=1)

    def _short(self) -> bool:
        """Return whether counting by subsets of columns is faster than by pairs, and fits."""
        rows, candidates = len(self._released), len(self._originals)
        if self._wide > _DENSE or rows << self._wide > _ENTRIES:
            return False
        return (
            _ROW * (rows + candidates) * (1 << self._wide) < _PAIR * self._wide * rows * candidates
        )

    def _labelled(self) -> Ids | None:
        """Return known patterns by the single label of each value; None if there are several."""
        columns = []
        for column, cover in enumerate(self._covers):
            used = self._released.codes[:, column]
            labels_of = cover.sole_labels(used[used < cover.labels])
            if labels_of is None:
                return None
            columns.append(labels_of[self._originals.codes[:, column]])
        return np.stack(columns, axis=1)


def _at_least(released: Ids, originals: Ids, sizes: Floats) -> Counts:
    """Count the originals that agree in all columns of each subset (subsets, released)."""
    count, wide = released.shape
    rows = np.concatenate([released, originals])
    counts: Counts = np.empty((1 << wide, count), dtype=np.int32)

    def visit(subset: int, numbers: Ids, start: int) -> None:
        sums = np.bincount(numbers[count:], sizes, minlength=int(numbers.max()) + 1)
        counts[subset] = sums[numbers[:count]]
        for column in range(start, wide):
            finer = row_classes([numbers, rows[:, column]], len(rows))
            visit(subset | 1 << column, finer, column + 1)

    visit(0, np.zeros(len(rows), dtype=np.int64), 0)
    return counts


def _exactly(counts: Counts, wide: int) -> Counts:
    """Convert counts of agreement in at least a subset into agreement in exactly that subset."""
    for column in range(wide):
        cube = counts.reshape(-1, 2, 1 << column, counts.shape[1])
        cube[:, 0] -= cube[:, 1]
    return counts


def _listed(table: NDArray[Any], start: int) -> Tally:
    rows, agreements = np.nonzero(table)
    return Tally(rows + start, agreements, table[rows, agreements].astype(np.float64))


def _dense(pairs: NDArray[Any], sizes: Floats, start: int, wide: int) -> Tally:
    """Count agreements (known, b) in a table of all possible ones."""
    count = pairs.shape[1]
    keys = pairs + (np.arange(count) << wide)
    weights = np.broadcast_to(sizes[:, None], pairs.shape).ravel()
    table = np.bincount(keys.ravel(), weights, minlength=count << wide)
    return _listed(table.reshape(count, 1 << wide), start)


def _sorted(pairs: NDArray[Any], sizes: Floats, start: int, wide: int) -> Tally:
    """Count agreements (known, b) in many columns by sorting, one released pattern at a time."""
    del wide
    tallies = []
    for row, column in enumerate(pairs.T):
        agreements, places = np.unique(column, return_inverse=True)
        rows = np.full(len(agreements), start + row)
        counts = np.bincount(places, sizes).astype(np.float64)
        tallies.append(Tally(rows, agreements.astype(np.int64), counts))
    return Tally(*(np.concatenate(part) for part in zip(*tallies, strict=True)))


SAME = 1e-10  # relative difference up to which squared distances are equal
_ZERO = 1e-20  # absolute difference, in squares of the scale


def tie_threshold(best: Floats) -> Floats:
    """Return the squared distance up to which a candidate ties with the best one."""
    return best * (1 + SAME) + _ZERO


class _Sweep(NamedTuple):
    """A block of patterns of the first half."""

    rows: Ids  # targets
    at: Ids  # pattern of each target, within the block
    sums: Floats  # (candidates, b), by patterns of the second half
    lowest: Floats  # (candidate patterns of the second half, b)


class Halves:
    """Smallest distances of targets (R, columns) from candidates (N, columns), by halves."""

    def __init__(
        self, distances: Sequence[LabelDistance], targets: Ids, candidates: Ids, *, released: bool
    ) -> None:
        self._distances, self._released = distances, released
        self.cost, self._columns = _split(targets, candidates)
        self._targets = [_patterns(targets, columns) for columns in self._columns]
        self._candidates = [_patterns(candidates, columns) for columns in self._columns]
        self._order = np.argsort(self._candidates[1].at, kind="stable")
        self._starts = np.flatnonzero(np.diff(self._candidates[1].at[self._order], prepend=-1))
        self._sizes = np.bincount(self._candidates[1].at)

    def least(self, which: Ids) -> Floats:
        """Return the smallest sum of some targets."""
        lowest = np.empty(len(which))
        for sweep in self._sweeps(which):
            for selected, total in self._totals(which, sweep):
                lowest[selected] = total.min(axis=0)
        return lowest

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Return the sums of weights (N, v) within a limit that only the nearest ones meet."""
        totals = np.empty((len(which), weights.shape[1]))
        ordered = weights[self._order]
        for sweep in self._sweeps(which):
            near = sweep.sums <= np.repeat(tie_threshold(sweep.lowest), self._sizes, axis=0)
            tied = [
                np.add.reduceat(near * weight[:, None], self._starts, axis=0)
                for weight in ordered.T
            ]
            for selected, total in self._totals(which, sweep):
                reached = total <= limit[selected]
                at = sweep.at[selected]
                for column, weight in enumerate(tied):
                    totals[selected, column] = (weight.take(at, axis=1) * reached).sum(axis=0)
        return totals

    def _sweeps(self, which: Ids) -> Iterator["_Sweep"]:
        patterns = self._targets[0].at[which]
        first = self._candidates[0].at[self._order]
        for part in _blocks(len(self._targets[0]), len(first)):
            rows = np.flatnonzero((patterns >= part.start) & (patterns < part.stop))
            if len(rows):
                table = self._table(0, self._targets[0].codes[part])
                sums = table.take(first, axis=0)
                lowest = np.minimum.reduceat(sums, self._starts, axis=0)
                yield _Sweep(rows, patterns - part.start, sums, lowest)

    def _totals(self, which: Ids, sweep: "_Sweep") -> Iterator[tuple[Ids, Floats]]:
        for part in _blocks(len(sweep.rows), len(sweep.lowest)):
            selected = sweep.rows[part]
            total = self._table(1, self._targets[1].codes[self._targets[1].at[which[selected]]])
            total += sweep.lowest.take(sweep.at[selected], axis=1)
            yield selected, total

    def _table(self, half: int, codes: Ids) -> Floats:
        candidates = self._candidates[half].codes
        total = np.zeros((len(candidates), len(codes)))
        for place, column in enumerate(self._columns[half]):
            rows = rows_across(self._distances[column], codes[:, place], released=self._released)
            total += rows.take(candidates[:, place], axis=0)
        return total


def _split(targets: Ids, candidates: Ids) -> tuple[int, tuple[list[int], list[int]]]:
    """Return the cost of the cheapest split of the columns into halves, and the split."""
    pairs = zip(targets.T, candidates.T, strict=True)
    order = np.argsort([len(np.unique(a)) / len(np.unique(b)) for a, b in pairs], kind="stable")
    splits = []
    for cut in range(len(order) + 1):
        first, second = order[:cut].tolist(), order[cut:].tolist()
        cost = len(_patterns(targets, first)) * len(candidates)
        cost += len(targets) * len(_patterns(candidates, second))
        splits.append((cost, (first, second)))
    return min(splits)


def _patterns(codes: Ids, columns: Sequence[int]) -> Patterns:
    return Patterns.of_codes(codes[:, list(columns)])


def _blocks(n: int, wide: int) -> Iterator[slice]:
    step = max(1, BLOCK // (8 * max(1, wide)))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


_AT_ONCE = 4096  # points whose neighbours are listed at once


class Trees:
    """For each set of missing columns, a tree over the present ones.

    A missing value is equally far from everything, and adds the same to every distance.
    """

    def __init__(self, targets: Floats, candidates: Floats, stars: Floats) -> None:
        self._targets, self._candidates = targets, candidates
        blank = np.isnan(targets)
        masks, self._at = np.unique(blank, axis=0, return_inverse=True)
        self._at = self._at.ravel()
        self._masks = masks
        self._more = masks @ stars  # what missing columns add, per mask
        self._made = [tree_of(candidates[:, ~mask]) if not mask.all() else None for mask in masks]

    @classmethod
    def of(
        cls, distances: Sequence[LabelDistance], targets: Ids, candidates: Ids, *, released: bool
    ) -> "Trees | None":
        """Return the trees if all columns are squared numbers, and no candidate misses values."""
        lines = [distance.points() if distance.squared else None for distance in distances]
        pairs: list[tuple[Floats, Floats]] = []
        for column, line in enumerate(lines):
            if line is None:
                return None
            labels, values = line
            theirs, mine = (labels, values) if released else (values, labels)
            pairs.append((mine[targets[:, column]], theirs[candidates[:, column]]))
        points = np.stack([pair[0] for pair in pairs], axis=1)
        others = np.stack([pair[1] for pair in pairs], axis=1)
        if np.isnan(others).any():
            return None
        return cls(points, others, np.array([distance.star for distance in distances]))

    def best(self) -> Floats:
        """Return the squared distance of the nearest candidate."""
        distances = np.empty(len(self._targets))
        for number, tree in enumerate(self._made):
            mine = np.flatnonzero(self._at == number)
            distances[mine] = self._more[number]
            if tree is not None:
                _, nearest = tree.query(self._present(mine, number))
                gaps = self._present(mine, number) - tree.data[nearest]
                distances[mine] += np.square(gaps).sum(axis=1)
        return distances

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Return the sums of weights (candidates, v) within the limit, a squared distance."""
        totals = np.empty((len(which), weights.shape[1]))
        for number, tree in enumerate(self._made):
            mine = np.flatnonzero(self._at[which] == number)
            if tree is None:
                totals[mine] = weights.sum(axis=0)
                continue
            reach = np.sqrt(np.maximum(0.0, limit[mine] - self._more[number]))
            for part in _parts(len(mine)):
                rows = mine[part]
                lists = tree.query_ball_point(self._present(which[rows], number), reach[part])
                totals[rows] = add_weights(lists, weights)
        return totals

    def _present(self, rows: Ids, number: int) -> Floats:
        return self._targets[rows][:, ~self._masks[number]]


def add_weights(lists: Sequence[list[int]], weights: Floats) -> Floats:
    """Return the sums of the weights at each list of indices."""
    sizes = np.array([len(indices) for indices in lists])
    owners = np.repeat(np.arange(len(lists)), sizes)
    places = np.fromiter(
        (index for indices in lists for index in indices), np.int64, int(sizes.sum())
    )
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


_BRUTE = 200_000  # up to this many pairs, numbers are compared one by one


class Mixed:
    """The nearest candidates of targets, if some columns are numbers on both sides."""

    def __init__(
        self, distances: Sequence[LabelDistance], targets: Ids, candidates: Ids, *, released: bool
    ) -> None:
        numbers = line_columns(distances, targets, candidates, released=released)
        others = [at for at in range(len(distances)) if at not in numbers]
        self._targets = Patterns.of_codes(targets[:, others])
        self._candidates = Patterns.of_codes(candidates[:, others])
        self._grid = Grid(
            [distances[at] for at in others], self._candidates.codes, np.add, released=released
        )
        self._points = _placed(distances, targets, numbers, labels=not released)
        self._rows = np.argsort(self._candidates.at, kind="stable")  # by pattern
        self._others = _placed(distances, candidates[self._rows], numbers, labels=released)
        self._starts = np.concatenate([[0], np.cumsum(self._candidates.sizes).astype(np.int64)])
        self._trees: dict[int, Any] = {}

    @property
    def cost(self) -> int:
        """Number of pairs of patterns to compare."""
        return len(self._targets) * len(self._candidates)

    def best(self) -> Floats:
        """Return the squared distance of the nearest candidate."""
        distances = np.empty(len(self._points))
        for rows, far in self._groups(np.arange(len(distances))):
            distances[rows] = self._nearest(self._points[rows], far)
        return distances

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Return the sums of weights (candidates, v) within the limit, a squared distance."""
        totals = np.zeros((len(which), weights.shape[1]))
        for rows, far in self._groups(which):
            for pattern in np.flatnonzero(far <= limit[rows].max()):
                radius = limit[rows] - far[pattern]
                near = np.flatnonzero(radius >= 0)
                points = self._points[which[rows[near]]]
                totals[rows[near]] += self._within(points, int(pattern), radius[near], weights)
        return totals

    def _groups(self, which: Ids) -> Iterator[tuple[Ids, Floats]]:
        """Yield rows of `which` with equal categories, and the distances of all patterns."""
        at = self._targets.at[which]
        order = np.argsort(at, kind="stable")
        present, starts = np.unique(at[order], return_index=True)
        ends = np.append(starts[1:], len(order))
        for part in self._grid.blocks(len(present)):
            block = self._grid.block(self._targets.codes[present[part]])
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
                distances = far[pattern] + self._least(points[open_rows], int(pattern))
                best[open_rows] = np.minimum(best[open_rows], distances)
        return best

    def _least(self, points: Floats, pattern: int) -> Floats:
        """Return the smallest squared distance of numbers within a candidate pattern."""
        others = self._others[self._starts[pattern] : self._starts[pattern + 1]]
        if len(points) * len(others) <= _BRUTE:
            least: Floats = _squares(points, others).min(axis=1)
            return least
        _, nearest = self._tree(pattern, others).query(points)
        return np.asarray(np.square(points - others[nearest]).sum(axis=1), dtype=np.float64)

    def _within(self, points: Floats, pattern: int, radius: Floats, weights: Floats) -> Floats:
        """Return the sums of weights within a squared radius, in a candidate pattern."""
        part = slice(self._starts[pattern], self._starts[pattern + 1])
        others, inside = self._others[part], weights[self._rows[part]]
        if len(points) * len(others) <= _BRUTE:
            total: Floats = (_squares(points, others) <= radius[:, None]).astype(
                np.float64
            ) @ inside
            return total
        lists = self._tree(pattern, others).query_ball_point(points, np.sqrt(radius))
        return add_weights(lists, inside)

    def _tree(self, pattern: int, others: Floats) -> Any:  # noqa: ANN401 - of scipy
        if pattern not in self._trees:
            self._trees[pattern] = tree_of(others)
        return self._trees[pattern]


def line_columns(
    distances: Sequence[LabelDistance], targets: Ids, candidates: Ids, *, released: bool
) -> list[int]:
    """Return the columns that are numbers on both sides, without missing values."""
    columns = []
    for column, distance in enumerate(distances):
        mine, theirs = (
            (distance.values, distance.labels) if released else (distance.labels, distance.values)
        )
        whole = (targets[:, column] < mine).all() and (candidates[:, column] < theirs).all()
        if distance.squared and distance.points() is not None and whole:
            columns.append(column)
    return columns


def _placed(
    distances: Sequence[LabelDistance], codes: Ids, columns: list[int], *, labels: bool
) -> Floats:
    """Return the coordinates of patterns (n, columns)."""
    coordinates = []
    for column in columns:
        lines = distances[column].points()
        assert lines is not None  # noqa: S101 - they are numbers
        coordinates.append(lines[0 if labels else 1][codes[:, column]])
    return np.stack(coordinates, axis=1)


def _squares(points: Floats, others: Floats) -> Floats:
    total = np.zeros((len(points), len(others)))
    for mine, theirs in zip(points.T, others.T, strict=True):
        gap = mine[:, None] - theirs[None, :]
        total += gap * gap
    return total


def _ranges(starts: Ids, ends: Ids) -> Ids:
    sizes = ends - starts
    offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    integers: Ids = np.repeat(starts, sizes) + offsets
    return integers


_MUCH = 50_000_000  # beyond this many steps, numbers and categories are searched separately


class Nearest:
    """The nearest candidate patterns of each target pattern.

    Numbers without intervals are searched by trees, few distinct values by halves of the columns.
    No n x n array is stored. `released` means that the candidates are released labels.
    """

    def __init__(
        self,
        distances: Sequence[LabelDistance],
        targets: Patterns,
        candidates: Patterns,
        *,
        released: bool,
    ) -> None:
        self._distances, self._targets, self._candidates = distances, targets, candidates
        self._released = released
        self._search = _search(distances, targets.codes, candidates.codes, released=released)
        self.best = self._smallest()
        self._limit = tie_threshold(self.best)

    def holds(self, targets: Ids, candidates: Ids) -> Bools:
        """Return whether the second pattern of each pair is among the nearest of the first."""
        labels, values = self._targets.codes[targets], self._candidates.codes[candidates]
        if self._released:
            labels, values = values, labels
        total = np.zeros(len(targets))
        for part in described_values(self._distances, labels, values):
            total += part
        ties: Bools = total <= self._limit[targets]
        return ties

    def sums(self, which: Ids, weights: Floats) -> Floats:
        """Return the sums of weights (candidates, v) over the nearest ones of some targets."""
        return self._search.sums(which, self._limit[which], weights)

    def _smallest(self) -> Floats:
        """Return the sum of squares (Gower: of distances) of the nearest candidate (targets,)."""
        if not isinstance(self._search, Halves):
            return self._search.best()
        distances = np.zeros(len(self._targets))
        todo = np.flatnonzero(~self._equal())
        distances[todo] = self._search.least(todo)
        return distances

    def _equal(self) -> Bools:
        labels, values = self._targets.codes, self._candidates.codes
        if self._released:
            labels, values = values, labels
        columns = [distance.equal()[labels[:, at]] for at, distance in enumerate(self._distances)]
        matched = np.stack(columns, axis=1)
        rows = np.concatenate([matched, values])
        classes = row_classes(list(rows.T), len(rows))
        mine, theirs = classes[: len(matched)], classes[len(matched) :]
        mine = np.where((matched < 0).any(axis=1), -1, mine)
        if self._released:
            mine, theirs = theirs, mine
        return np.isin(mine, theirs[theirs >= 0])


def _search(
    distances: Sequence[LabelDistance], targets: Ids, candidates: Ids, *, released: bool
) -> Trees | Mixed | Halves:
    """Choose a search: numbers by trees, few distinct values by halves of the columns."""
    trees = Trees.of(distances, targets, candidates, released=released)
    if trees is not None:
        return trees
    halves = Halves(distances, targets, candidates, released=released)
    if halves.cost > _MUCH and line_columns(distances, targets, candidates, released=released):
        mixed = Mixed(distances, targets, candidates, released=released)
        if mixed.cost < halves.cost:
            return mixed
    return halves
