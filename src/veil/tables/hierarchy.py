"""Generalisation hierarchies, and builders that derive them from values."""

import csv
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.core.registry import read_spec
from veil.core.types import Ids
from veil.data.lines import read_lines
from veil.tables.column import Column, canonical, format_number

TOP = "*"
Rows = Sequence[Sequence[str]]
Builder = Callable[[Column], Rows]


@brief()
@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The label of each leaf at every level, from the value itself (0) to the top.

    Attributes
    ----------
    leaves
        The values, as strings.
    labels
        Per level, the distinct labels, in the order of the rows.
    codes
        Per level, the label of each leaf (leaves,).
    public
        Whether the leaves were declared, not read from the data by a builder.
    """

    leaves: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: tuple[Ids, ...]
    public: bool = True

    @property
    def height(self) -> int:
        """Level of the top."""
        return len(self.labels) - 1

    @cached_property
    def place(self) -> dict[str, int]:
        """Index of each leaf."""
        return {leaf: i for i, leaf in enumerate(self.leaves)}

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Labels of each leaf, between the value itself and the top."""
        between = [
            [names[code] for code in codes]
            for names, codes in zip(self.labels[1:-1], self.codes[1:-1], strict=True)
        ]
        columns = zip(*between, strict=True) if between else iter([()] * len(self.leaves))
        return dict(zip(self.leaves, columns, strict=True))

    def at(self, column: Column) -> Ids:
        """Return the leaf of each category of a column (categories,)."""
        places = [self.place.get(label, -1) for label in column.categories]
        absent = places.count(-1)
        if absent:
            raise InputError(
                f"A hierarchy lacks {absent:,} values of its column, which come from an earlier"
                " mechanism. Apply the mechanism that generalises first."
            )
        return np.array(places, dtype=np.int64)

    @cached_property
    def parents(self) -> tuple[Ids, ...]:
        """Per level below the top, the parent of each label."""
        parents = []
        for below, above in pairwise(self.codes):
            parent = np.zeros(int(below.max(initial=-1)) + 1, dtype=np.int64)
            parent[below] = above
            parents.append(parent)
        return tuple(parents)

    @cached_property
    def label_levels(self) -> dict[str, tuple[int, int]]:
        """Lowest level of each label, and its code there."""
        levels: dict[str, tuple[int, int]] = {}
        for level, labels in enumerate(self.labels):
            for code, label in enumerate(labels):
                levels.setdefault(label, (level, code))
        return levels

    @classmethod
    def of_rows(cls, rows: Rows, name: str) -> "Hierarchy":
        """Return the hierarchy of rows of (value, level 1, ..., top), after checking them."""
        width = {len(row) for row in rows}
        if not rows or len(width) != 1 or 0 in width:
            raise InputError(
                f"The hierarchy of '{name}' must have rows of equal length: value, level 1, ..."
                " top."
            )
        texts = [[normalize("NFC", str(label)) for label in row] for row in rows]
        if len({row[-1] for row in texts}) > 1:
            texts = [[*row, TOP] for row in texts]
        leaves = tuple(row[0] for row in texts)
        if len(set(leaves)) < len(leaves):
            raise InputError(f"The hierarchy of '{name}' has two rows for one value. Keep one.")
        labels, codes = [], []
        for level in zip(*texts, strict=True):
            numbers: dict[str, int] = {}
            codes.append(
                np.array(
                    [numbers.setdefault(label, len(numbers)) for label in level], dtype=np.int64
                )
            )
            labels.append(tuple(numbers))
        for number, (below, above) in enumerate(pairwise(codes)):
            if len(np.unique(np.stack([below, above]), axis=1).T) != len(labels[number]):
                raise InputError(
                    f"In the hierarchy of '{name}' a label of level {number} has two parents. Each"
                    " label must have one."
                )
        return cls(leaves, tuple(labels), tuple(codes))

    def spelled(self, column: Column, name: str) -> "Hierarchy":
        """Return the hierarchy with leaves in the canonical form of the column: 39 for 39.0."""
        if not column.numeric:
            return self
        leaves = [canonical(leaf, numeric=True) or leaf for leaf in self.leaves]
        if tuple(leaves) == self.leaves:
            return self
        upper = zip(*self.codes[1:], strict=True)
        rows = dict.fromkeys(
            (leaf, *(labels[code] for labels, code in zip(self.labels[1:], codes, strict=True)))
            for leaf, codes in zip(leaves, upper, strict=True)
        )
        return replace(Hierarchy.of_rows(list(rows), name), public=self.public)

    @classmethod
    def of(
        cls, source: "str | Path | Rows | Builder | Hierarchy", column: Column, name: str
    ) -> "Hierarchy":
        """Return a hierarchy from a file, rows or builder, with all values of the column."""
        if isinstance(source, Hierarchy):
            hierarchy = source.spelled(column, name)
        elif isinstance(source, str | Path):
            hierarchy = cls.of_rows(_read(Path(source)), name).spelled(column, name)
        elif callable(source):
            hierarchy = replace(cls.of_rows(source(column), name), public=False)
        else:
            hierarchy = cls.of_rows(source, name).spelled(column, name)
        absent = sum(category not in hierarchy.place for category in column.categories)
        if absent:
            raise InputError(
                f"The hierarchy of '{name}' lacks {absent:,} values of the column. Add them."
            )
        return hierarchy


def _read(path: Path) -> Rows:
    if not path.is_file():
        raise InputError(f"The hierarchy file {path.name} does not exist.")
    lines: Iterable[str] = read_lines(path)
    return [row for row in csv.reader(lines, delimiter=";") if row]


_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


def intervals(width: float = 10, steps: int = 3, origin: float = 0) -> Builder:
    """Return a builder of intervals whose width doubles at each of `steps` levels, then the top.

    >>> intervals(width=5, steps=2)(Column.of([3, 7, 12]))
    [['3', '[0-4]', '[0-9]', '*'], ['7', '[5-9]', '[0-9]', '*'], ['12', '[10-14]', '[10-19]', '*']]
    """
    if not (width > 0 and math.isfinite(width)) or steps < 1:
        raise ParameterError("Intervals need a width > 0 and at least one step.")

    def rows(column: Column) -> Rows:
        if not column.numeric:
            raise InputError("Intervals need a column of numbers.")
        whole = bool((column.numbers == column.numbers.round()).all()) and width == int(width)
        return [
            [
                label,
                *(
                    interval(float(number), width * 2**step, origin, whole=whole)
                    for step in range(steps)
                ),
                TOP,
            ]
            for label, number in zip(column.categories, column.numbers, strict=True)
        ]

    return rows


def interval(number: float, width: float, origin: float = 0, *, whole: bool) -> str:
    """Return the interval of a number: closed for integers, half-open for reals."""
    low = origin + width * math.floor((number - origin) / width)
    high = low + width - (1 if whole else 0)
    return f"[{format_number(low)}-{format_number(high)}]"


def prefix() -> Builder:
    """Return a builder that masks codes from the right: 12345, 1234*, 123**, ... then the top."""

    def rows(column: Column) -> Rows:
        wide = max(map(len, column.categories), default=0)
        padded = [(label, label.ljust(wide, "*")) for label in column.categories]
        return [
            [label, *(full[: wide - cut] + "*" * cut for cut in range(1, wide)), TOP]
            for label, full in padded
        ]

    return rows


def dates() -> Builder:
    """Return a builder from days to decades: 1987-03-21, 1987-03, 1987, 1980-1989, the top."""

    def rows(column: Column) -> Rows:
        hierarchy_rows = []
        for label in column.categories:
            match = _DATE.match(label)
            if match is None:
                raise InputError("Dates must be written as YYYY-MM-DD.")
            year, month, _ = match.groups()
            decade = int(year) // 10 * 10
            hierarchy_rows.append([label, f"{year}-{month}", year, f"{decade}-{decade + 9}", TOP])
        return hierarchy_rows

    return rows


def builder(spec: str) -> Builder | None:
    """Return the builder of a spec such as ``intervals(width=10)``, or None."""
    makers = {"intervals": intervals, "prefix": prefix, "dates": dates}
    if "(" not in spec or spec.partition("(")[0].strip() not in makers:
        return None
    name, parameters = read_spec(spec)
    try:
        return makers[name](**parameters)
    except TypeError:
        raise ParameterError(f"The builder {name} has no such parameter.") from None
