"""Distinct rows of columns, and how released labels compare with original values.

Attacks compare `Patterns`, the distinct rows of labels and of values, instead of all rows. A
`Grid` joins the relations of single columns, and `LabelDistance` is the distance of labels and
values of one column.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from veil.core.types import Floats, Ids
from veil.tables.column import MISSING, Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.labels import Bools, Cover, Span, members, read_spans, star_codes
from veil.tables.table import row_classes

BLOCK = 8 * 2**20  # bytes of one block of pairs


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct rows of some columns.

    Attributes
    ----------
    codes
        (m, columns) categories; the number of categories stands for a missing value.
    sizes
        (m,) number of rows with each pattern.
    at
        (n,) pattern of each row.
    """

    codes: Ids
    sizes: Floats
    at: Ids

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Patterns":
        """Return the distinct rows of columns."""
        coded = [codes_with_missing(column) for column in columns]
        return cls.of_codes(np.stack(coded, axis=1))

    @classmethod
    def of_codes(cls, codes: Ids) -> "Patterns":
        """Return the distinct rows of codes (n, columns)."""
        at = row_classes(list(codes.T), len(codes))
        sizes = np.bincount(at).astype(np.float64)
        first = np.empty(len(sizes), dtype=np.int64)
        first[at[::-1]] = np.arange(len(at))[::-1]
        return cls(codes[first], sizes, at)


def codes_with_missing(column: Column) -> Ids:
    """Return the codes of a column; the number of categories stands for a missing value."""
    codes = column.codes
    return np.where(codes == MISSING, len(column.categories), codes)


class Pairing(Protocol):
    """A relation between the labels of a released column and the values of the original."""

    labels: int
    values: int

    def between(self, labels: Ids, values: Ids) -> NDArray[Any]:
        """Return the relation of codes that are broadcast."""
        ...


class Grid:
    """All pairs of some patterns on one side with all patterns `across`, over all columns.

    `joined` combines the relations of single columns: a sum, or a conjunction. A block has shape
    (across, b), which makes taking whole rows fast.
    """

    def __init__(
        self, pairings: Sequence[Pairing], across: Ids, joined: np.ufunc, *, released: bool
    ) -> None:
        self._pairings, self._across, self._joined = pairings, across, joined
        self._released = released  # whether `across` are labels, and blocks are of values

    def block(self, codes: Ids) -> NDArray[Any]:
        """Return the combined relation (across, b) of patterns (b, columns)."""
        total: NDArray[Any] | None = None
        buffer: NDArray[Any] | None = None
        for column, pairing in enumerate(self._pairings):
            rows = rows_across(pairing, codes[:, column], released=self._released)
            across = self._across[:, column]
            if total is None:
                total = rows.take(across, axis=0)
                buffer = np.empty_like(total)
            else:
                np.take(rows, across, axis=0, out=buffer, mode="clip")
                self._joined(total, buffer, out=total)
        assert total is not None  # noqa: S101 - there is at least one column
        return total

    def blocks(self, n: int, itemsize: int = 8) -> Iterator[slice]:
        """Yield slices of n patterns that fit into memory."""
        step = max(1, BLOCK // (itemsize * max(1, len(self._across))))
        for start in range(0, n, step):
            yield slice(start, min(n, start + step))


def rows_across(pairing: Pairing, codes: Ids, *, released: bool) -> NDArray[Any]:
    """Return the relation (labels or values + 1, b) between all codes and codes (b,)."""
    if released:
        return pairing.between(np.arange(pairing.labels + 1)[:, None], codes[None, :])
    return pairing.between(codes[None, :], np.arange(pairing.values + 1)[:, None])


def described_values(pairings: Sequence[Pairing], labels: Ids, values: Ids) -> list[NDArray[Any]]:
    """Return the relation of n pairs of patterns (n, columns) in each column."""
    return [
        pairing.between(labels[:, column], values[:, column])
        for column, pairing in enumerate(pairings)
    ]


Metric = Literal["euclidean", "gower"]
_HALF = 0.5  # distance of a star from everything, as a share of the largest


class LabelDistance:
    """The distance between labels and values of a column, by codes (the last one is missing)."""

    def __init__(self, labels: int, values: int, *, squared: bool) -> None:
        self.labels, self.values, self.squared = labels, values, squared

    def between(self, labels: Ids, values: Ids) -> Floats:
        """Return distances, or their squares, of codes that are broadcast."""
        distances = self.distance(labels, values)
        if self.squared:
            distances *= distances
        return distances

    @abstractmethod
    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Return the distances of codes that are broadcast, as a new array."""

    @abstractmethod
    def equal(self) -> Ids:
        """Return the value that each label (labels + 1,) equals, at distance 0, or -1."""

    def points(self) -> tuple[Floats, Floats] | None:
        """Return labels and values as numbers, nan if missing; None if they are not numbers."""
        return None

    @property
    def star(self) -> float:
        """Distance of a star from everything, squared if distances are."""
        return _HALF**2 if self.squared else _HALF


class Numbers(LabelDistance):
    """Numbers or intervals, in units of `scale`; an interval is at distance 0 from its numbers."""

    def __init__(self, ends: Floats, values: Floats, scale: float, *, squared: bool) -> None:
        super().__init__(len(ends), len(values), squared=squared)
        blank = np.full((1, 2), np.nan)
        ends = _bounded(ends, values)
        self._ends = np.concatenate([ends, blank]) / scale  # (labels + 1, 2)
        self._values = np.append(values, np.nan) / scale
        self._exact = bool((ends[:, 0] == ends[:, 1]).all())
        present = np.concatenate([self._ends.ravel(), self._values])
        present = present[~np.isnan(present)]
        self._star = _HALF * float(np.ptp(present)) if len(present) else 0.0

    @override
    def distance(self, labels: Ids, values: Ids) -> Floats:
        numbers = self._values[values]
        gap: Floats = self._ends[labels, 0] - numbers
        if self._exact:
            np.abs(gap, out=gap)
        else:
            np.maximum(gap, numbers - self._ends[labels, 1], out=gap)
            np.maximum(gap, 0.0, out=gap)
        gap[np.isnan(gap)] = self._star
        return gap

    @override
    def equal(self) -> Ids:
        at = np.searchsorted(self._values[:-1], self._ends[:, 0])  # nan comes last
        same = (self._values[at] == self._ends[:, 0]) & (self._ends[:, 0] == self._ends[:, 1])
        return np.where(same, at, -1)

    @property
    @override
    def star(self) -> float:
        return self._star**2 if self.squared else self._star

    @override
    def points(self) -> tuple[Floats, Floats] | None:
        return (self._ends[:, 0], self._values) if self._exact else None


class Levels(LabelDistance):
    """Level of the lowest common ancestor, as a share of the height of the hierarchy."""

    def __init__(
        self,
        labels: Column,
        values: Column,
        hierarchy: Hierarchy,
        level: int | None,
        *,
        squared: bool,
    ) -> None:
        super().__init__(len(labels.categories), len(values.categories), squared=squared)
        self._height = hierarchy.height
        self._above_labels = _ancestors(labels, hierarchy, level, absent=-1)
        self._above_values = _ancestors(values, hierarchy, 0, absent=-2)
        self._stars = _flags(self.labels, star_codes(labels))
        leaves = self._above_labels[0]
        self._equal = np.where((leaves >= 0) & ~self._stars, _same_text(labels, values), -1)

    @override
    def equal(self) -> Ids:
        return self._equal

    @override
    def distance(self, labels: Ids, values: Ids) -> Floats:
        shape = np.broadcast_shapes(labels.shape, values.shape)
        distances = np.full(shape, float(self._height + 1))
        for mine, theirs in zip(self._above_labels, self._above_values, strict=True):
            distances -= mine[labels] == theirs[values]
        distances = np.minimum(distances / max(1, self._height), 1.0)
        distances[np.broadcast_to(self._stars[labels] | (values == self.values), shape)] = _HALF
        return distances


class Alike(LabelDistance):
    """0 if a label covers a value, else 1."""

    def __init__(self, labels: Column, values: Column, cover: Cover, *, squared: bool) -> None:
        super().__init__(cover.labels, cover.values, squared=squared)
        self._cover = cover
        self._stars = _flags(self.labels, star_codes(labels))
        self._equal = np.where(self._stars, -1, _same_text(labels, values))

    @override
    def equal(self) -> Ids:
        return self._equal

    @override
    def distance(self, labels: Ids, values: Ids) -> Floats:
        distances = 1.0 - self._cover.between(labels, values).astype(np.float64)
        distances[
            np.broadcast_to(self._stars[labels] | (values == self.values), distances.shape)
        ] = _HALF
        return distances


def label_distance(
    labels: Column,
    values: Column,
    hierarchy: Hierarchy | None = None,
    level: int | None = None,
    metric: Metric = "euclidean",
) -> LabelDistance:
    """Return the distance between the labels of a released column and values of the original.

    Euclidean: numbers in sample standard deviations of the original, and squares are summed.
    Gower: numbers as a share of their range. Categories: the level of the lowest common ancestor
    over the height of the hierarchy, or 0 and 1 without one. A star or a missing value has half
    the largest distance from everything.
    """
    squared = metric == "euclidean"
    if labels.numeric and values.numeric:
        ends = np.stack([labels.numbers, labels.numbers], axis=1)
        return Numbers(ends, values.numbers, _scale(values, ends, metric), squared=squared)
    if hierarchy is not None and all(
        label in hierarchy.label_levels for label in labels.categories
    ):
        return Levels(labels, values, hierarchy, level, squared=squared)
    if values.numeric:
        ends = _ends(labels)
        return Numbers(ends, values.numbers, _scale(values, ends, metric), squared=squared)
    return Alike(labels, values, Cover(labels, values, hierarchy, level), squared=squared)


def _scale(values: Column, ends: Floats, metric: Metric) -> float:
    present = values.values[~values.missing]
    if metric == "euclidean":
        spread = float(present.std(ddof=1)) if len(present) > 1 else 0.0
    else:
        numbers = np.concatenate([present, ends[np.isfinite(ends)]])
        spread = float(np.ptp(numbers)) if len(numbers) else 0.0
    return spread if spread > 0 else np.inf  # a constant carries no information


def _ends(labels: Column) -> Floats:
    """Return the lowest and highest number of each label; nan if it has none."""
    spans = read_spans(labels.categories)
    bounds = np.full((len(spans), 2), np.nan)
    for code, (label, own) in enumerate(zip(labels.categories, spans, strict=True)):
        intervals = [own] if own is not None else _members(label)
        if label != TOP and intervals:
            bounds[code] = (
                min(span.low for span in intervals),
                max(span.high for span in intervals),
            )
    return bounds


def _bounded(ends: Floats, values: Floats) -> Floats:
    """Clip infinite bounds to the range of all numbers."""
    numbers = np.concatenate([ends[np.isfinite(ends)], values])
    low, high = (numbers.min(), numbers.max()) if len(numbers) else (0.0, 0.0)
    return np.clip(ends, low, high)


def _members(label: str) -> list[Span]:
    return [span for span in read_spans(members(label) or ()) if span is not None]


def _ancestors(column: Column, hierarchy: Hierarchy, level: int | None, absent: int) -> list[Ids]:
    ancestors = [np.full(len(column.categories) + 1, absent) for _ in range(hierarchy.height + 1)]
    places = [{label: code for code, label in enumerate(labels)} for labels in hierarchy.labels]
    for code, label in enumerate(column.categories):
        lowest = hierarchy.label_levels.get(label)
        if level is not None and label in places[level]:
            lowest = level, places[level][label]
        if lowest is None:
            continue
        height, place = lowest
        ancestors[height][code] = place
        for above in range(height, hierarchy.height):
            place = int(hierarchy.parents[above][place])
            ancestors[above + 1][code] = place
    return ancestors


def _same_text(labels: Column, values: Column) -> Ids:
    place = {label: code for code, label in enumerate(values.categories)}
    return np.array([*(place.get(label, -1) for label in labels.categories), -1], dtype=np.int64)


def _flags(count: int, codes: list[int]) -> Bools:
    flags = np.zeros(count + 1, dtype=np.bool_)
    flags[codes] = True
    return flags
