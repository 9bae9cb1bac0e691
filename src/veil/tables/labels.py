"""What the labels of a released column cover of the original's values."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.spans import Sets, Span, read_spans

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
