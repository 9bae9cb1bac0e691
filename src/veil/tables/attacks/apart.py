"""How far a released label is from an original value, column by column."""

from abc import abstractmethod
from typing import Literal

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.labels import Bools, Cover, star_codes
from veil.tables.spans import Span, members, read_spans

Metric = Literal["euclidean", "gower"]
_HALF = 0.5  # of the largest distance: how far a star is from everything


class Apart:
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


class Numbers(Apart):
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


class Levels(Apart):
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


class Alike(Apart):
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


def apart(
    labels: Column,
    values: Column,
    hierarchy: Hierarchy | None = None,
    level: int | None = None,
    metric: Metric = "euclidean",
) -> Apart:
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
    if hierarchy is not None and all(label in hierarchy.found for label in labels.categories):
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
        lowest = hierarchy.found.get(label)
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
