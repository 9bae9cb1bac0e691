"""Labels of a released column: intervals, sets and stars, and the values that they cover."""

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
_SAME = 1e-9  # widths of a grid differ by no more, as a share of the width


class Span(NamedTuple):
    """An interval of numbers, and which of its ends belong to it."""

    low: float
    high: float
    from_low: bool = True
    to_high: bool = True


def read_span(label: str) -> Span | None:
    """Return the numbers that a label stands for, or None if it is no such label.

    >>> read_span("[20-29]"), read_span(">65")
    (Span(low=20.0, high=29.0, from_low=True, to_high=True), \
Span(low=65.0, high=inf, from_low=False, to_high=True))
    >>> read_span("[-5--1[").to_high, read_span("flu")
    (False, None)
    """
    found = _INTERVAL.fullmatch(label.strip())
    if found is not None:
        low, high = float(found[2]), float(found[3])
        if low > high or bool(found[1]) != bool(found[4]):
            return None
        return Span(low, high, found[1] in ("", "["), found[4] in ("", "]"))
    tail = _TAIL.fullmatch(label.strip())
    if tail is not None:
        sign, end = tail[1], float(tail[2])
        closed = sign in (">=", "<=", "≥", "≤")
        if sign[0] in ">≥":
            return Span(end, np.inf, closed)
        return Span(-np.inf, end, to_high=closed)
    return _point(label)


def read_spans(labels: Iterable[str], *, closed: bool = False) -> list[Span | None]:
    """Read all labels of a column; intervals of one width that touch are open above.

    [0-10] and [10-20] are printed for real numbers, and 10 is in the second alone; unless it is
    known that they are `closed`, as those are that tell the least and the most of a class.
    """
    spans = [read_span(label) for label in labels]
    if closed or not _touching(spans):
        return spans
    return [
        span._replace(to_high=False) if span is not None and _bounded(span) else span
        for span in spans
    ]


def members(label: str) -> tuple[str, ...] | None:
    """Return the members of a set as it is written, ``{a, b}``, or None."""
    if label.startswith("{") and label.endswith("}"):
        return tuple(part.strip() for part in label[1:-1].split(","))
    return None


class Sets:
    """Finds the members of sets among the values of a column, which may have commas themselves.

    >>> Sets({"clerk": 0, "clerk, senior": 1, "nurse": 2}).of("{clerk, senior, nurse}")
    ([0, 1, 2], True)
    """

    def __init__(self, place: Mapping[str, int]) -> None:
        self._place = place
        self._longest = 1 + max((value.count(",") for value in place), default=0)

    def of(self, label: str) -> tuple[list[int], bool] | None:
        """Return the places of all values that a set may have, and whether they are all of it.

        Where it can be read in two ways, it has what either says. None: it is no set.
        """
        if not (label.startswith("{") and label.endswith("}")):
            return None
        parts = label[1:-1].split(",")
        found, read = set(), [False] * len(parts)
        for start in range(len(parts)):
            for end in range(start + 1, min(start + self._longest, len(parts)) + 1):
                value = ",".join(parts[start:end]).removeprefix(" ")
                value = value if value in self._place else value.strip()
                if value in self._place:
                    found.add(self._place[value])
                    read[start:end] = [True] * (end - start)
        return sorted(found), all(read)


def ends(spans: Iterable[Span | None]) -> Floats:
    """Return the lowest and the highest number of each span (n, 2); nan where there is none."""
    pairs = [(span.low, span.high) if span is not None else (np.nan, np.nan) for span in spans]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def _point(label: str) -> Span | None:
    if re.fullmatch(_NUMBER, label.strip()) is None:
        return None
    return Span(float(label), float(label))


def _bounded(span: Span) -> bool:
    return bool(np.isfinite(span.low) and np.isfinite(span.high) and span.low < span.high)


def _touching(spans: Iterable[Span | None]) -> bool:
    """Whether intervals have one width, do not overlap, and touch somewhere."""
    held = sorted({(span.low, span.high) for span in spans if span is not None and _bounded(span)})
    if len(held) < 2:
        return False
    lows, highs = np.array(held).T
    widths = highs - lows
    even = np.ptp(widths) <= _SAME * max(widths.max(), float(np.abs(highs).max()))
    gaps = lows[1:] - highs[:-1]
    slack = _SAME * np.abs(highs).max()
    return bool(even and (gaps >= -slack).all() and (gaps <= slack).any())


Bools = NDArray[np.bool_]
Missing = Literal["star", "equal", "any", "never"]
UNCOVERED = -2  # of a value that no label covers


class Cover:
    """Which values of an original column each label of a released one may stand for.

    A label covers the value that it equals, all leaves below it in the hierarchy, the numbers of
    its interval ([20-29], >65), the members of its set ({a, b}), or everything if it is a star.

    `missing` says what a missing value is: a "star", which covers everything when it is released,
    and which only a star covers when it is original; "equal" to a missing value alone; equal to
    "any" value on both sides; or "never" covering anything. Codes are those of the columns, the
    last one (their number of categories) stands for what is missing.
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
        """Return what a released missing value covers."""
        return {"equal": (self.values, self.values + 1), "never": (0, 0)}.get(missing, (0, -1))

    def between(self, labels: Ids, values: Ids) -> Bools:
        """Tell which labels cover which values, by codes that are broadcast together."""
        found: Bools = (self._first[labels] <= values) & (values < self._last[labels])
        if len(self._sets) > 1:
            found = found | self._sets[self._slot[labels], values]
        return found | (values == self.values) if self._anywhere else found

    def sums(self, counts: Floats) -> Floats:
        """Add up counts of values (values + 1,) over what each label covers (labels + 1,)."""
        sums = np.concatenate([[0.0], np.cumsum(counts)])
        listed: Floats = self._sets @ counts
        ranges: Floats = sums[self._last] - sums[self._first]
        return ranges + listed[self._slot]

    def alone(self, used: Ids) -> Ids | None:
        """Return for each value the one label of those `used` that covers it, or None.

        None is the answer if some value is covered by several. `UNCOVERED` is the code of what no
        label covers.
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
        made = np.full(self.values + 1, UNCOVERED, dtype=np.int64)
        for code in listed:
            made[self._sets[self._slot[code]]] = code
        sizes = np.maximum(self._last[codes] - self._first[codes], 0)
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        made[np.repeat(self._first[codes], sizes) + offsets] = np.repeat(codes, sizes)
        return made


def _covered(
    labels: Column,
    values: Column,
    hierarchy: Hierarchy | None,
    level: int | None,
    *,
    closed: bool,
) -> Sequence[tuple[int, int] | Ids]:
    """Return per label a range of codes (first, last), last = -1 for all, or codes."""
    if labels.numeric and values.numeric:
        return _equal_numbers(labels, values)
    place = {label: code for code, label in enumerate(values.categories)}
    sets = Sets(place)
    below = {} if hierarchy is None else _below(hierarchy, place, level)
    spans: Sequence[Span | None] = [None] * len(labels.categories)
    if values.numeric:
        spans = read_spans(labels.categories, closed=closed)
    return [
        _one(label, values, place, below, span, sets)
        for label, span in zip(labels.categories, spans, strict=True)
    ]


def _equal_numbers(labels: Column, values: Column) -> list[tuple[int, int]]:
    at = np.searchsorted(values.numbers, labels.numbers)
    there = np.append(values.numbers, np.nan)[at] == labels.numbers
    return list(zip(at.tolist(), (at + there).tolist(), strict=True))


def _below(hierarchy: Hierarchy, place: dict[str, int], level: int | None) -> dict[str, Ids]:
    """Return by label the codes of the values below it, at a level or wherever it occurs."""
    known = np.array([place.get(leaf, -1) for leaf in hierarchy.leaves], dtype=np.int64)
    levels = range(hierarchy.height + 1) if level is None else (level,)
    made: dict[str, Ids] = {}
    for height in levels:
        order = np.argsort(hierarchy.codes[height], kind="stable")
        cuts = np.flatnonzero(np.diff(hierarchy.codes[height][order])) + 1
        for leaves in np.split(order, cuts):
            label = hierarchy.labels[height][int(hierarchy.codes[height][leaves[0]])]
            codes = np.sort(known[leaves][known[leaves] >= 0])
            made[label] = np.union1d(made[label], codes) if label in made else codes
    return made


def _one(
    label: str,
    values: Column,
    place: dict[str, int],
    below: dict[str, Ids],
    span: Span | None,
    sets: Sets,
) -> tuple[int, int] | Ids:
    """Return what one label covers."""
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
    """Return codes without a gap as a range."""
    if len(codes) and int(codes[-1]) - int(codes[0]) + 1 == len(codes):
        return int(codes[0]), int(codes[-1]) + 1
    return codes


def _range(values: Column, span: Span) -> tuple[int, int]:
    first = np.searchsorted(values.numbers, span.low, "left" if span.from_low else "right")
    last = np.searchsorted(values.numbers, span.high, "right" if span.to_high else "left")
    return int(first), max(int(first), int(last))


def _listed(label: str, place: dict[str, int], sets: Sets) -> Ids:
    """Return the members of a set, or what begins as a cut code (123**) does."""
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
    """Return the codes of a column that tell nothing: missing, and the star if there is one."""
    stars = [code for code, label in enumerate(column.categories) if label == TOP]
    return [len(column.categories), *stars]


def observed_labels(
    released: Table, original: Table, told: Mapping[str, int], rows: Ids | None
) -> tuple[Table, dict[str, int]]:
    """Return the level of each column that stands above its values, and labels as texts.

    `told` are the levels that a release knows of. Else a column stands at the lowest level that
    has all its labels, each above the value that its row had (`rows`, where they are known): 30
    may be a value, or all from 30 to 39. A label that is written as a number is none then.
    """
    found: dict[str, int] = {}
    for name in released:
        if name in original and name in original.hierarchies:
            places = _Places(released.column(name), original.hierarchies[name])
            level = told.get(name)
            if level is None:
                level = places.guessed(original.column(name), rows)
            found |= {name: level} if level and places.at(level) is not None else {}
    texts = {name for name in found if released.column(name).numeric}
    if texts:
        held = released.held.items()
        made = {name: Column(one.texts) if name in texts else one for name, one in held}
        released = replace(released, held=made)
    return released, found


def closed_columns(released: Table, original: Table, rows: Ids | None) -> frozenset[str]:
    """Return the columns in which a row has the upper end of an interval that looks open there.

    [0-2] and [2-4] may be cut at 2, which is in the second alone, or tell the least and the most
    of two classes.
    """
    if rows is None:
        return frozenset()
    return frozenset(
        name
        for name in released
        if name in original
        and original.column(name).numeric
        and not released.column(name).numeric
        and _reached(released.column(name), original[name][rows])
    )


def _reached(labels: Column, values: Floats) -> bool:
    """Tell whether some value is the upper end of its interval, which looks open there."""
    spans = read_spans(labels.categories)
    ends = [span.high if span and not span.to_high else np.nan for span in spans]
    return bool((np.append(ends, np.nan)[labels.codes] == values).any())


class _Places:
    """Where the labels of a column are in its hierarchy."""

    def __init__(self, labels: Column, hierarchy: Hierarchy) -> None:
        self._labels, self._hierarchy = labels, hierarchy

    def at(self, level: int) -> Ids | None:
        """Return the place of each label at a level, -1 for a star and what is missing; or None.

        None: the level does not have all of them.
        """
        place = {label: code for code, label in enumerate(self._hierarchy.labels[level])}
        place.setdefault(TOP, -1)
        texts = self._labels.categories
        if any(text not in place for text in texts):
            return None
        return np.array([*(place[text] for text in texts), -1], dtype=np.int64)

    def guessed(self, values: Column, rows: Ids | None) -> int:
        """Return the lowest level that fits all rows, else the lowest that has all labels."""
        fitting = []
        for level in range(self._hierarchy.height + 1):
            places = self.at(level)
            if places is not None:
                fitting.append(level)
                if rows is None or self._holds(places, level, values, rows):
                    return level
        return fitting[0] if fitting else 0

    def _holds(self, places: Ids, level: int, values: Column, rows: Ids) -> bool:
        """Tell whether each label is above the value that its row had."""
        above = self._hierarchy.codes[level][self._hierarchy.at(values)]
        mine, true = places[self._labels.codes], np.append(above, -1)[values.codes[rows]]
        return bool(((mine == true) | (mine < 0) | (true < 0)).all())


class Matching:
    """Rows of codes (n, columns), which may be blanked one by one.

    Rows that are alike are counted as one pattern; the patterns are few where tables are coarse.
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
        """Return how many rows (or how much weight) match one."""
        match = np.ones(self._used, dtype=np.bool_)
        for column, code in zip(self._patterns, row, strict=True):
            if code != MISSING:
                known = column[: self._used]
                match &= (known == code) | (known == MISSING)
        return float(self._sizes[: self._used][match].sum())

    def counts(self) -> Floats:
        """Return how many rows (or how much weight) match each row (n,)."""
        patterns, at = np.unique(self._codes, axis=0, return_inverse=True)
        found = np.array([self.count(pattern) for pattern in patterns])
        return found[at.ravel()]

    def change(self, row: int, column: int, code: int) -> None:
        """Give a cell another code."""
        before = self._place(row)
        self._sizes[before] -= self._weight[row]
        self._codes[row, column] = code
        after = self._place(row)  # may make room: not within the sum
        self._sizes[after] += self._weight[row]

    def _place(self, row: int) -> int:
        key = tuple(self._codes[row].tolist())
        found = self._number.get(key)
        if found is None:
            if self._used == self._patterns.shape[1]:
                self._patterns = np.concatenate([self._patterns, self._patterns], axis=1)
                self._sizes = np.concatenate([self._sizes, np.zeros(len(self._sizes))])
            found = self._number[key] = self._used
            self._patterns[:, found] = self._codes[row]
            self._sizes[found] = 0.0
            self._used += 1
        return found
