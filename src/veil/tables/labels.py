"""Labels of a released column (intervals, sets, stars), and the values that they cover."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.tables.column import MISSING, Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.table import Table

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INTERVAL = re.compile(rf"([\[\](]?)\s*({_NUMBER})\s*(?:-|,|;|\.\.|–)\s*({_NUMBER})\s*([\])\[]?)")
_TAIL = re.compile(rf"(>=|<=|>|<|≥|≤)\s*({_NUMBER})")
_SAME = 1e-9  # relative difference up to which widths are equal


class Span(NamedTuple):
    """An interval of numbers, and which of its bounds are closed."""

    low: float
    high: float
    from_low: bool = True
    to_high: bool = True


def read_span(label: str) -> Span | None:
    """Return the numbers that a label covers, or None if it is not numeric.

    >>> read_span("[20-29]"), read_span(">65")
    (Span(low=20.0, high=29.0, from_low=True, to_high=True), \
Span(low=65.0, high=inf, from_low=False, to_high=True))
    >>> read_span("[-5--1[").to_high, read_span("flu")
    (False, None)
    """
    match = _INTERVAL.fullmatch(label.strip())
    if match is not None:
        low, high = float(match[2]), float(match[3])
        if low > high or bool(match[1]) != bool(match[4]):
            return None
        return Span(low, high, match[1] in ("", "["), match[4] in ("", "]"))
    tail = _TAIL.fullmatch(label.strip())
    if tail is not None:
        sign, end = tail[1], float(tail[2])
        closed = sign in (">=", "<=", "≥", "≤")
        if sign[0] in ">≥":
            return Span(end, np.inf, closed)
        return Span(-np.inf, end, to_high=closed)
    return _point(label)


def read_spans(labels: Iterable[str], *, closed: bool = False) -> list[Span | None]:
    """Return the interval of each label; adjacent intervals of equal width are half-open.

    With [0-10] and [10-20], 10 belongs only to the second. `closed` intervals include both bounds,
    such as those of the smallest and largest value of a class.
    """
    spans = [read_span(label) for label in labels]
    if closed or not _touching(spans):
        return spans
    return [
        span._replace(to_high=False) if span is not None and _bounded(span) else span
        for span in spans
    ]


def members(label: str) -> tuple[str, ...] | None:
    """Return the members of a set such as ``{a, b}``, or None."""
    if label.startswith("{") and label.endswith("}"):
        return tuple(part.strip() for part in label[1:-1].split(","))
    return None


class Sets:
    """Parses sets of values that may contain commas.

    >>> Sets({"clerk": 0, "clerk, senior": 1, "nurse": 2}).of("{clerk, senior, nurse}")
    ([0, 1, 2], True)
    """

    def __init__(self, place: Mapping[str, int]) -> None:
        self._place = place
        self._longest = 1 + max((value.count(",") for value in place), default=0)

    def of(self, label: str) -> tuple[list[int], bool] | None:
        """Return the codes of all values in a set, and whether they account for all of it.

        An ambiguous set includes the values of every reading. None means that it is not a set.
        """
        if not (label.startswith("{") and label.endswith("}")):
            return None
        parts = label[1:-1].split(",")
        codes, read = set(), [False] * len(parts)
        for start in range(len(parts)):
            for end in range(start + 1, min(start + self._longest, len(parts)) + 1):
                value = ",".join(parts[start:end]).removeprefix(" ")
                value = value if value in self._place else value.strip()
                if value in self._place:
                    codes.add(self._place[value])
                    read[start:end] = [True] * (end - start)
        return sorted(codes), all(read)


def ends(spans: Iterable[Span | None]) -> Floats:
    """Return the bounds of each interval (n, 2); nan for None."""
    pairs = [(span.low, span.high) if span is not None else (np.nan, np.nan) for span in spans]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def _point(label: str) -> Span | None:
    if re.fullmatch(_NUMBER, label.strip()) is None:
        return None
    return Span(float(label), float(label))


def _bounded(span: Span) -> bool:
    return bool(np.isfinite(span.low) and np.isfinite(span.high) and span.low < span.high)


def _touching(spans: Iterable[Span | None]) -> bool:
    bounds = sorted(
        {(span.low, span.high) for span in spans if span is not None and _bounded(span)}
    )
    if len(bounds) < 2:
        return False
    lows, highs = np.array(bounds).T
    widths = highs - lows
    even = np.ptp(widths) <= _SAME * max(widths.max(), float(np.abs(highs).max()))
    gaps = lows[1:] - highs[:-1]
    slack = _SAME * np.abs(highs).max()
    return bool(even and (gaps >= -slack).all() and (gaps <= slack).any())


Bools = NDArray[np.bool_]
Missing = Literal["star", "equal", "any", "never"]
UNCOVERED = -2  # code of a value that no label covers


class Cover:
    """The values of an original column that each label of a released one covers.

    A label covers the value that it equals, all leaves below it in the hierarchy, the numbers of
    its interval ([20-29], >65), the members of its set ({a, b}), or everything if it is a star.

    `missing` is the meaning of a missing value: a "star", which covers everything if it is
    released, and which only a star covers if it is original; "equal" to missing values only; equal
    to "any" value on both sides; or "never" covering anything. Codes are those of the columns; the
    last one (their number of categories) is a missing value.
    """

    def __init__(
        self,
        labels: Column,
        values: Column,
        hierarchy: Hierarchy | None = None,
        level: int | None = None,
        missing: Missing = "star",
        *,
        closed: bool = False,
    ) -> None:
        self.labels, self.values = len(labels.categories), len(values.categories)
        self._anywhere = missing == "any"
        first = np.zeros(self.labels + 1, dtype=np.int64)
        last = np.zeros(self.labels + 1, dtype=np.int64)
        spread: dict[int, Ids] = {}
        for code, range_or_set in enumerate(
            _covered(labels, values, hierarchy, level, closed=closed)
        ):
            if isinstance(range_or_set, tuple):
                first[code], last[code] = range_or_set
            else:
                spread[code] = range_or_set
        first[-1], last[-1] = self._blank(missing)
        last[last == -1] = self.values + 1
        self._first, self._last = first, last
        self._slot = np.zeros(self.labels + 1, dtype=np.int64)
        self._sets = np.zeros((len(spread) + 1, self.values + 1), dtype=np.bool_)
        for slot, (code, which) in enumerate(spread.items(), 1):
            self._slot[code] = slot
            self._sets[slot, which] = True

    def _blank(self, missing: Missing) -> tuple[int, int]:
        return {"equal": (self.values, self.values + 1), "never": (0, 0)}.get(missing, (0, -1))

    def between(self, labels: Ids, values: Ids) -> Bools:
        """Return which labels cover which values, by codes that are broadcast."""
        covered: Bools = (self._first[labels] <= values) & (values < self._last[labels])
        if len(self._sets) > 1:
            covered = covered | self._sets[self._slot[labels], values]
        return covered | (values == self.values) if self._anywhere else covered

    def sums(self, counts: Floats) -> Floats:
        """Return the sums of counts (values + 1,) over the values of each label (labels + 1,)."""
        sums = np.concatenate([[0.0], np.cumsum(counts)])
        listed: Floats = self._sets @ counts
        ranges: Floats = sums[self._last] - sums[self._first]
        return ranges + listed[self._slot]

    def sole_labels(self, used: Ids) -> Ids | None:
        """Return the only one of the `used` labels that covers each value.

        Returns None if several cover a value. `UNCOVERED` marks values that no label covers.
        """
        if self._anywhere:
            return None
        codes = np.unique(used)
        counts = np.zeros(self.values + 2, dtype=np.int64)
        np.add.at(counts, self._first[codes], 1)
        np.add.at(counts, self._last[codes], -1)
        listed = codes[self._slot[codes] > 0]
        total = np.cumsum(counts)[:-1] + self._sets[self._slot[listed]].sum(axis=0)
        if (total > 1).any():
            return None
        labels = np.full(self.values + 1, UNCOVERED, dtype=np.int64)
        for code in listed:
            labels[self._sets[self._slot[code]]] = code
        sizes = np.maximum(self._last[codes] - self._first[codes], 0)
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        labels[np.repeat(self._first[codes], sizes) + offsets] = np.repeat(codes, sizes)
        return labels


def _covered(
    labels: Column,
    values: Column,
    hierarchy: Hierarchy | None,
    level: int | None,
    *,
    closed: bool,
) -> Sequence[tuple[int, int] | Ids]:
    if labels.numeric and values.numeric:
        return _equal_numbers(labels, values)
    place = {label: code for code, label in enumerate(values.categories)}
    sets = Sets(place)
    below = {} if hierarchy is None else _below(hierarchy, place, level)
    spans: Sequence[Span | None] = [None] * len(labels.categories)
    if values.numeric:
        spans = read_spans(labels.categories, closed=closed)
    return [
        _covered_by(label, values, place, below, span, sets)
        for label, span in zip(labels.categories, spans, strict=True)
    ]


def _equal_numbers(labels: Column, values: Column) -> list[tuple[int, int]]:
    at = np.searchsorted(values.numbers, labels.numbers)
    present = np.append(values.numbers, np.nan)[at] == labels.numbers
    return list(zip(at.tolist(), (at + present).tolist(), strict=True))


def _below(hierarchy: Hierarchy, place: dict[str, int], level: int | None) -> dict[str, Ids]:
    code_of_leaf = np.array([place.get(leaf, -1) for leaf in hierarchy.leaves], dtype=np.int64)
    levels = range(hierarchy.height + 1) if level is None else (level,)
    below: dict[str, Ids] = {}
    for height in levels:
        order = np.argsort(hierarchy.codes[height], kind="stable")
        cuts = np.flatnonzero(np.diff(hierarchy.codes[height][order])) + 1
        for leaves in np.split(order, cuts):
            label = hierarchy.labels[height][int(hierarchy.codes[height][leaves[0]])]
            codes = np.sort(code_of_leaf[leaves][code_of_leaf[leaves] >= 0])
            below[label] = np.union1d(below[label], codes) if label in below else codes
    return below


def _covered_by(
    label: str,
    values: Column,
    place: dict[str, int],
    below: dict[str, Ids],
    span: Span | None,
    sets: Sets,
) -> tuple[int, int] | Ids:
    if label == TOP:
        return 0, -1
    if label in below:
        return _run(below[label])
    if label in place:
        return place[label], place[label] + 1
    if span is not None:
        return _range(values, span)
    return _listed(label, place, sets)


def _run(codes: Ids) -> tuple[int, int] | Ids:
    """Return consecutive codes as a range."""
    if len(codes) and int(codes[-1]) - int(codes[0]) + 1 == len(codes):
        return int(codes[0]), int(codes[-1]) + 1
    return codes


def _range(values: Column, span: Span) -> tuple[int, int]:
    first = np.searchsorted(values.numbers, span.low, "left" if span.from_low else "right")
    last = np.searchsorted(values.numbers, span.high, "right" if span.to_high else "left")
    return int(first), max(int(first), int(last))


def _listed(label: str, place: dict[str, int], sets: Sets) -> Ids:
    listed = sets.of(label)
    if listed is not None:
        return np.array(listed[0], dtype=np.int64)
    stem = label.rstrip(TOP)
    if not stem or stem == label:
        return np.empty(0, dtype=np.int64)
    return np.array(
        [
            code
            for text, code in place.items()
            if text.startswith(stem) and len(text) <= len(label)
        ],
        dtype=np.int64,
    )


def star_codes(column: Column) -> list[int]:
    """Return the codes of a column without information: missing values, and the star."""
    stars = [code for code, label in enumerate(column.categories) if label == TOP]
    return [len(column.categories), *stars]


def observed_labels(
    released: Table, original: Table, known: Mapping[str, int], rows: Ids | None
) -> tuple[Table, dict[str, int]]:
    """Return the release with its generalised columns as text, and their hierarchy levels.

    A level in `known` (from the release) takes precedence. Otherwise it is the lowest one that
    contains every label of the column and, if `rows` maps released to original rows, generalises
    every original value. The rows settle what a label such as ``30`` means: the value 30, or all
    values from 30 to 39. Columns at level 0 are omitted.
    """
    levels: dict[str, int] = {}
    for name in released:
        if name in original and name in original.hierarchies:
            labels = _Labels(released.column(name), original.hierarchies[name])
            level = known.get(name)
            if level is None:
                level = labels.infer_level(original.column(name), rows)
            if level and labels.codes(level) is not None:
                levels[name] = level
    numeric = {name for name in levels if released.column(name).numeric}
    if numeric:
        columns = {
            name: Column(column.texts) if name in numeric else column
            for name, column in released.held.items()
        }
        released = replace(released, held=columns)
    return released, levels


def closed_columns(released: Table, original: Table, rows: Ids | None) -> frozenset[str]:
    """Return the columns whose intervals include their upper bound.

    [0-2] and [2-4] may be cut at 2, which belongs only to the second, or be the smallest and
    largest values of two classes.
    """
    if rows is None:
        return frozenset()
    return frozenset(
        name
        for name in released
        if name in original
        and original.column(name).numeric
        and not released.column(name).numeric
        and _reaches_upper_bound(released.column(name), original[name][rows])
    )


def _reaches_upper_bound(labels: Column, values: Floats) -> bool:
    """Return whether a value equals the upper bound of its half-open interval."""
    spans = read_spans(labels.categories)
    ends = [span.high if span and not span.to_high else np.nan for span in spans]
    return bool((np.append(ends, np.nan)[labels.codes] == values).any())


class _Labels:
    """The labels of a released column, looked up in its hierarchy."""

    def __init__(self, labels: Column, hierarchy: Hierarchy) -> None:
        self._labels, self._hierarchy = labels, hierarchy

    def codes(self, level: int) -> Ids | None:
        """Return each label's code at `level`, or None if that level lacks one of the labels.

        Stars and missing values have code -1.
        """
        place = {label: code for code, label in enumerate(self._hierarchy.labels[level])}
        place.setdefault(TOP, -1)
        texts = self._labels.categories
        if any(text not in place for text in texts):
            return None
        return np.array([*(place[text] for text in texts), -1], dtype=np.int64)

    def infer_level(self, values: Column, rows: Ids | None) -> int:
        """Return the lowest level that agrees with every row, else the lowest with all labels."""
        fitting = []
        for level in range(self._hierarchy.height + 1):
            places = self.codes(level)
            if places is not None:
                fitting.append(level)
                if rows is None or self._generalises(places, level, values, rows):
                    return level
        return fitting[0] if fitting else 0

    def _generalises(self, places: Ids, level: int, values: Column, rows: Ids) -> bool:
        """Return whether every label generalises the original value in its row."""
        above = self._hierarchy.codes[level][self._hierarchy.at(values)]
        actual, expected = places[self._labels.codes], np.append(above, -1)[values.codes[rows]]
        return bool(((actual == expected) | (actual < 0) | (expected < 0)).all())


class Matching:
    """Counts matches among rows of codes (n, columns), whose cells can be blanked one by one.

    Equal rows are counted as one pattern; coarse tables have few patterns.
    """

    def __init__(self, codes: Ids, weights: Floats | None = None) -> None:
        self._codes = codes  # changed in place by `change`
        weight = np.ones(len(codes)) if weights is None else weights
        patterns, at = np.unique(codes, axis=0, return_inverse=True)
        self._number = {tuple(pattern): i for i, pattern in enumerate(patterns.tolist())}
        self._patterns = patterns.T.copy()  # (columns, patterns)
        self._sizes = np.bincount(at.ravel(), weight, minlength=len(patterns))
        self._weight = weight
        self._used = len(patterns)

    def count(self, row: Ids) -> float:
        """Return the number (or weight) of rows that match a row."""
        match = np.ones(self._used, dtype=np.bool_)
        for column, code in zip(self._patterns, row, strict=True):
            if code != MISSING:
                used = column[: self._used]
                match &= (used == code) | (used == MISSING)
        return float(self._sizes[: self._used][match].sum())

    def counts(self) -> Floats:
        """Return the number (or weight) of rows that match each row (n,)."""
        patterns, at = np.unique(self._codes, axis=0, return_inverse=True)
        matches = np.array([self.count(pattern) for pattern in patterns])
        return matches[at.ravel()]

    def change(self, row: int, column: int, code: int) -> None:
        """Change the code of a cell."""
        before = self._place(row)
        self._sizes[before] -= self._weight[row]
        self._codes[row, column] = code
        after = self._place(row)  # may reallocate the sizes
        self._sizes[after] += self._weight[row]

    def _place(self, row: int) -> int:
        key = tuple(self._codes[row].tolist())
        index = self._number.get(key)
        if index is None:
            if self._used == self._patterns.shape[1]:
                self._patterns = np.concatenate([self._patterns, self._patterns], axis=1)
                self._sizes = np.concatenate([self._sizes, np.zeros(len(self._sizes))])
            index = self._number[key] = self._used
            self._patterns[:, index] = self._codes[row]
            self._sizes[index] = 0.0
            self._used += 1
        return index
