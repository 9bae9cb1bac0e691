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
    """A relation of the labels of a released column and the values of the original one."""

    labels: int
    values: int

    def between(self, labels: Ids, values: Ids) -> NDArray[Any]:
        """Return the relation of codes, broadcast together."""
        ...


class Grid:
    """All pairs of some patterns of one side with all patterns `across`, over all columns.

    The relations of single columns are joined by `joined`: a sum, or a conjunction. A block is
    (across, b), so that taking whole rows of it is fast.
    """

    def __init__(
        self, pairings: Sequence[Pairing], across: Ids, joined: np.ufunc, *, released: bool
    ) -> None:
        self._pairings, self._across, self._joined = pairings, across, joined
        self._released = released  # whether `across` are labels, and blocks are of values

    def block(self, codes: Ids) -> NDArray[Any]:
        """Return the joined relation (across, b) of patterns (b, columns)."""
        total: NDArray[Any] | None = None
        room: NDArray[Any] | None = None
        for column, pairing in enumerate(self._pairings):
            rows = rows_across(pairing, codes[:, column], released=self._released)
            across = self._across[:, column]
            if total is None:
                total = rows.take(across, axis=0)
                room = np.empty_like(total)
            else:
                np.take(rows, across, axis=0, out=room, mode="clip")
                self._joined(total, room, out=total)
        assert total is not None  # noqa: S101 - there is at least one column
        return total

    def blocks(self, n: int, itemsize: int = 8) -> Iterator[slice]:
        """Cut n patterns into blocks that fit."""
        step = max(1, BLOCK // (itemsize * max(1, len(self._across))))
        for start in range(0, n, step):
            yield slice(start, min(n, start + step))


def rows_across(pairing: Pairing, codes: Ids, *, released: bool) -> NDArray[Any]:
    """Return the relation (labels or values + 1, b) of codes (b,) and all labels or values."""
    if released:
        return pairing.between(np.arange(pairing.labels + 1)[:, None], codes[None, :])
    return pairing.between(codes[None, :], np.arange(pairing.values + 1)[:, None])


def described_values(pairings: Sequence[Pairing], labels: Ids, values: Ids) -> list[NDArray[Any]]:
    """Return the relation in each column of n pairs of patterns (n, columns)."""
    return [
        pairing.between(labels[:, column], values[:, column])
        for column, pairing in enumerate(pairings)
    ]


Metric = Literal["euclidean", "gower"]
_HALF = 0.5  # of the largest distance: how far a star is from everything


class LabelDistance:
    """The distance of labels and values of one column, by codes (the last one: missing)."""

    def __init__(self, labels: int, values: int, *, squared: bool) -> None:
        self.labels, self.values, self.squared = labels, values, squared

    def between(self, labels: Ids, values: Ids) -> Floats:
        """Return distances, or their squares, of codes that are broadcast together."""
        found = self.distance(labels, values)
        if self.squared:
            found *= found
        return found

    @abstractmethod
    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Return distances of codes that are broadcast together, as a new array."""

    @abstractmethod
    def equal(self) -> Ids:
        """Return for each label (labels + 1,) a value at distance 0 that it equals, or -1."""

    def points(self) -> tuple[Floats, Floats] | None:
        """Return where labels and values lie on a line, nan for what is missing, or None."""
        return None

    @property
    def star(self) -> float:
        """How far a star is from everything, squared if distances are."""
        return _HALF**2 if self.squared else _HALF


class Numbers(LabelDistance):
    """Numbers, or labels of numbers, in units of `scale`; a label is 0 from what it covers."""

    def __init__(self, ends: Floats, values: Floats, scale: float, *, squared: bool) -> None:
        super().__init__(len(ends), len(values), squared=squared)
        blank = np.full((1, 2), np.nan)
        ends = _bounded(ends, values)
        self._ends = np.concatenate([ends, blank]) / scale  # (labels + 1, 2)
        self._values = np.append(values, np.nan) / scale
        self._exact = bool((ends[:, 0] == ends[:, 1]).all())
        known = np.concatenate([self._ends.ravel(), self._values])
        known = known[~np.isnan(known)]
        self._star = _HALF * float(np.ptp(known)) if len(known) else 0.0

    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Return the gap between a value and the interval of a label."""
        numbers = self._values[values]
        gap: Floats = self._ends[labels, 0] - numbers
        if self._exact:
            np.abs(gap, out=gap)
        else:
            np.maximum(gap, numbers - self._ends[labels, 1], out=gap)
            np.maximum(gap, 0.0, out=gap)
        gap[np.isnan(gap)] = self._star
        return gap

    def equal(self) -> Ids:
        """Look the numbers up."""
        at = np.searchsorted(self._values[:-1], self._ends[:, 0])  # nan comes last
        same = (self._values[at] == self._ends[:, 0]) & (self._ends[:, 0] == self._ends[:, 1])
        return np.where(same, at, -1)

    @property
    def star(self) -> float:
        """Half the range, squared if distances are."""
        return self._star**2 if self.squared else self._star

    def points(self) -> tuple[Floats, Floats] | None:
        """Return the numbers in units of the scale, unless there are intervals."""
        return (self._ends[:, 0], self._values) if self._exact else None


class Levels(LabelDistance):
    """The level of the lowest common ancestor, as a share of the height of the hierarchy."""

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

    def equal(self) -> Ids:
        """Return the leaf that a label is."""
        return self._equal

    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Count the levels at which two have different ancestors."""
        shape = np.broadcast_shapes(labels.shape, values.shape)
        found = np.full(shape, float(self._height + 1))
        for mine, theirs in zip(self._above_labels, self._above_values, strict=True):
            found -= mine[labels] == theirs[values]
        found = np.minimum(found / max(1, self._height), 1.0)
        found[np.broadcast_to(self._stars[labels] | (values == self.values), shape)] = _HALF
        return found


class Alike(LabelDistance):
    """0 if a label covers a value, else 1."""

    def __init__(self, labels: Column, values: Column, cover: Cover, *, squared: bool) -> None:
        super().__init__(cover.labels, cover.values, squared=squared)
        self._cover = cover
        self._stars = _flags(self.labels, star_codes(labels))
        self._equal = np.where(self._stars, -1, _same_text(labels, values))

    def equal(self) -> Ids:
        """Return the value that a label is."""
        return self._equal

    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Compare."""
        found = 1.0 - self._cover.between(labels, values).astype(np.float64)
        found[np.broadcast_to(self._stars[labels] | (values == self.values), found.shape)] = _HALF
        return found


def label_distance(
    labels: Column,
    values: Column,
    hierarchy: Hierarchy | None = None,
    level: int | None = None,
    metric: Metric = "euclidean",
) -> LabelDistance:
    """Return how far the labels of a released column are from the values of the original one.

    Euclidean: numbers in sample standard deviations of the original, and squares are added up.
    Gower: numbers as a share of their range. Categories: the level of the lowest common ancestor
    by the height of the hierarchy, or 0 and 1 if there is none. A star, or a missing value, is
    half the largest distance from everything.
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
    there = values.values[~values.missing]
    if metric == "euclidean":
        spread = float(there.std(ddof=1)) if len(there) > 1 else 0.0
    else:
        known = np.concatenate([there, ends[np.isfinite(ends)]])
        spread = float(np.ptp(known)) if len(known) else 0.0
    return spread if spread > 0 else np.inf  # a constant tells nothing


def _ends(labels: Column) -> Floats:
    """Return the lowest and highest number of each label; nan where it stands for none."""
    spans = read_spans(labels.categories)
    made = np.full((len(spans), 2), np.nan)
    for code, (label, span) in enumerate(zip(labels.categories, spans, strict=True)):
        held = [span] if span is not None else _members(label)
        if label != TOP and held:
            made[code] = min(one.low for one in held), max(one.high for one in held)
    return made


def _bounded(ends: Floats, values: Floats) -> Floats:
    """Let open ends reach as far as anything does."""
    known = np.concatenate([ends[np.isfinite(ends)], values])
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.clip(ends, low, high)


def _members(label: str) -> list[Span]:
    return [span for span in read_spans(members(label) or ()) if span is not None]


def _ancestors(column: Column, hierarchy: Hierarchy, level: int | None, absent: int) -> list[Ids]:
    """Return per level the ancestor (categories + 1,) of each category, itself included."""
    made = [np.full(len(column.categories) + 1, absent) for _ in range(hierarchy.height + 1)]
    places = [{label: code for code, label in enumerate(labels)} for labels in hierarchy.labels]
    for code, label in enumerate(column.categories):
        lowest = hierarchy.label_levels.get(label)
        if level is not None and label in places[level]:
            lowest = level, places[level][label]
        if lowest is None:
            continue
        height, place = lowest
        made[height][code] = place
        for above in range(height, hierarchy.height):
            place = int(hierarchy.parents[above][place])
            made[above + 1][code] = place
    return made


def _same_text(labels: Column, values: Column) -> Ids:
    """Return the value (labels + 1,) that is written as a label is, or -1."""
    place = {label: code for code, label in enumerate(values.categories)}
    return np.array([*(place.get(label, -1) for label in labels.categories), -1], dtype=np.int64)


def _flags(count: int, codes: list[int]) -> Bools:
    made = np.zeros(count + 1, dtype=np.bool_)
    made[codes] = True
    return made
