"""Coarser values: top and bottom coding, rounding, recoding, generalising, suppressing."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.tables.column import MISSING, Column, format_number
from veil.tables.hierarchy import Hierarchy, interval
from veil.tables.labels import Matching
from veil.tables.mechanism import (
    Alone,
    Kind,
    Masked,
    Mechanism,
    Presets,
    group_sizes,
    nothing,
)
from veil.tables.table import Table, unknown_column


class Coding(Mechanism):
    """Replaces extreme values by a label, or by their mean."""

    family: ClassVar[str] = "Generalisation"
    kind: ClassVar[Kind] = "numeric"
    random: ClassVar[bool] = False
    sign: ClassVar[str] = ">"
    beyond: ClassVar[Callable[[Floats, float], Any]] = np.greater

    value: Annotated[float | None, Field(description="beyond which values are coded")] = None
    share: Annotated[
        float | None,
        Field(gt=0, lt=1, description="of the values, coded instead", json_schema_extra=PRIVATE),
    ] = None
    replace: Annotated[Literal["label", "mean"], Field(description="what takes their place")] = (
        "label"
    )

    def __init__(self, **parameters: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(**parameters)
        if self.value is not None and self.share is not None:
            raise ParameterError(f"{self.name} takes either a value or a share.")

    def at(self, share: float) -> float:
        """Return the quantile that a `share` of the values exceeds."""
        return 1 - share

    @property
    @override
    def alone(self) -> Alone:
        return "value" if self.value is not None and self.replace == "label" else ""

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del rng
        coded = {name: self._coded(table.column(name)) for name in columns}
        return Masked(table.changed(coded), np.arange(len(table)))

    def _coded(self, column: Column) -> Column:
        present = column.values[~column.missing]
        limit = self.value
        if limit is None:
            share = 0.05 if self.share is None else self.share
            limit = float(np.quantile(present, self.at(share))) if len(present) else 0.0
        with np.errstate(invalid="ignore"):
            extreme = type(self).beyond(column.values, limit)
        if not extreme.any():
            return column
        if self.replace == "mean":
            values = column.values.copy()
            values[extreme] = column.values[extreme].mean()
            return Column(values)
        texts = column.texts.copy()
        texts[extreme] = f"{self.sign}{format_number(limit)}"
        return Column(texts)


class Top(Coding):
    """Replace the largest values by one label, or by their mean.

    x > value becomes ">value"; with `share` (default 0.05) the value is the
    (1 - share) quantile, by linear interpolation.
    """

    name: ClassVar[str] = "top"


class Bottom(Coding):
    """Replace the smallest values by one label, or by their mean.

    x < value becomes "<value"; with `share` (default 0.05) the value is the share
    quantile, by linear interpolation.
    """

    name: ClassVar[str] = "bottom"
    sign: ClassVar[str] = "<"
    beyond: ClassVar[Callable[[Floats, float], Any]] = np.less

    @override
    def at(self, share: float) -> float:
        return share


_BASES = 7  # at most


def bases(table: Table) -> list[float]:
    """Return round numbers from a fifth of the smallest to twice the largest column spread."""
    spreads = [
        float(np.nanstd(column.values))
        for column in map(table.column, table.qi)
        if column.numeric and not column.missing.all()
    ]
    finite = [spread for spread in spreads if 0 < spread < math.inf]
    if not finite:
        return [1.0]
    first, last = math.log10(min(finite) / 5), math.log10(2 * max(finite))
    steps = np.linspace(first, last, _BASES)
    return sorted({round_number(10.0**step) for step in steps.tolist()})


def round_number(value: float) -> float:
    """Return the nearest 1, 2 or 5 times a power of ten, by ratio.

    >>> round_number(0.17), round_number(43.0), round_number(8.0)
    (0.2, 50.0, 10.0)
    """
    power = math.floor(math.log10(value))
    share = value / 10.0**power
    step = min((1, 2, 5, 10), key=lambda step: abs(math.log(share / step)))
    return float(f"{step}e{power}")


class Rounding(Mechanism):
    """Round numbers to multiples of a base.

    `nearest`: ties go to the even multiple; `random`: up with the probability of the fraction, so
    that the mean is unbiased.
    """

    name: ClassVar[str] = "rounding"
    family: ClassVar[str] = "Rounding"
    kind: ClassVar[Kind] = "numeric"
    presets: ClassVar[Presets | None] = lambda table: [
        f"rounding(base={base:g})" for base in bases(table)
    ]
    base: Annotated[
        float,
        Field(gt=0, description="values are rounded to its multiples", examples=[5.0],
              json_schema_extra=PRIVATE),
    ]  # fmt: skip
    how: Annotated[Literal["nearest", "random"], Field(description="direction of rounding")] = (
        "nearest"
    )

    @property
    @override
    def random(self) -> bool:  # type: ignore[override]
        return self.how == "random"

    @property
    @override
    def alone(self) -> Alone:
        return "row"

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        rounded = {}
        for name in columns:
            scaled = table[name] / self.base
            if self.how == "nearest":
                steps = np.rint(scaled)
            else:
                below = np.floor(scaled)
                steps = below + (rng.random(len(scaled)) < scaled - below)
            rounded[name] = Column(steps * self.base)
        return Masked(table.changed(rounded), np.arange(len(table)))


class Recode(Mechanism):
    """Replace numbers by intervals of one width.

    x becomes [a-b] with a = origin + width floor((x - origin)/width): closed-open for reals,
    [a-(a + width - 1)] for whole numbers.
    """

    name: ClassVar[str] = "recode"
    family: ClassVar[str] = "Generalisation"
    kind: ClassVar[Kind] = "numeric"
    random: ClassVar[bool] = False
    width: Annotated[
        float, Field(gt=0, description="of an interval", json_schema_extra=PRIVATE)
    ] = 10.0
    origin: Annotated[float, Field(description="where an interval begins")] = 0.0

    @property
    @override
    def alone(self) -> Alone:
        return "value"

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del rng
        recoded = {name: self._recoded(table.column(name)) for name in columns}
        return Masked(table.changed(recoded), np.arange(len(table)))

    def _recoded(self, column: Column) -> Column:
        present = np.flatnonzero(~column.missing)
        values = column.values[present]
        whole = bool((values == np.rint(values)).all())
        whole = whole and float(self.width).is_integer() and float(self.origin).is_integer()
        steps = np.floor((values - self.origin) / self.width)
        _, first, at = np.unique(steps, return_index=True, return_inverse=True)
        labels = np.empty(len(first), dtype=object)
        labels[:] = [
            interval(number, self.width, self.origin, whole=whole)
            for number in values[first].tolist()
        ]
        texts = np.full(len(column), None, dtype=object)
        texts[present] = labels[at]
        return Column(texts)


def relabel(column: Column, labels: Sequence[str | None]) -> Column:
    """Return a column with new category labels; missing values stay missing."""
    table = np.empty(len(labels) + 1, dtype=object)
    table[:] = [*labels, None]  # the code of a missing value, -1, takes the last
    return Column(table[column.codes])


class Generalise(Mechanism):
    """Replace all values of a column by their labels at one level of its hierarchy.

    `levels`, such as 'age=2,sex=1', sets the level of each column; otherwise every column with a
    hierarchy is at `level`. Nothing is proved; `veil.tables.anonymity` measures k.
    """

    name: ClassVar[str] = "generalise"
    family: ClassVar[str] = "Generalisation"
    needs: ClassVar[frozenset[str]] = frozenset({"hierarchies"})
    kind: ClassVar[Kind] = "any"
    random: ClassVar[bool] = False
    level: Annotated[int, Field(ge=0, description="of all columns", json_schema_extra=PRIVATE)] = 1
    levels: Annotated[str, Field(description="per column instead, such as 'age=2,sex=1'")] = ""

    @property
    @override
    def alone(self) -> Alone:
        return "value"

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del rng
        levels = self._levels(table, columns)
        generalised = {
            name: generalise_column(table.column(name), table.hierarchy(name), level, name)
            for name, level in levels.items()
        }
        return Masked(table.changed(generalised), np.arange(len(table)), levels=levels)

    def _levels(self, table: Table, columns: Sequence[str]) -> dict[str, int]:
        if not self.levels:
            return dict.fromkeys(columns, self.level)
        levels = {}
        for pair in self.levels.split(","):
            name, _, level = pair.partition("=")
            name = name.strip()
            if name not in table:
                raise unknown_column(name, table.columns)
            if not level.strip().isdecimal():
                raise ParameterError("Levels must be integers, as in 'age=2,sex=1'.")
            levels[name] = int(level)
        return levels


def generalise_column(column: Column, hierarchy: Hierarchy, level: int, name: str) -> Column:
    """Return a column generalised to a level of its hierarchy."""
    if level > hierarchy.height:
        raise InputError(
            f"The hierarchy of '{name}' has levels 0 to {hierarchy.height}. Got {level} instead."
        )
    if level == 0:
        return column
    codes = hierarchy.codes[level][hierarchy.at(column)]
    return relabel(column, [hierarchy.labels[level][code] for code in codes])


CAVEAT = "k holds only if every reader of the table takes a missing value to match every value."


class Suppress(Mechanism):
    """Suppress single quasi-identifiers until every row matches at least k rows.

    A missing value matches every value, on both sides. Rows with fewer than k matches are handled
    in the order of their number of matches, then of their row number. In each, the cell whose
    suppression gives most matches is suppressed, until the row has k matches. Ties go to the
    column with the fewest suppressed cells, then to the first one (or the first of `importance`,
    such as 'sex,age': least important first).

    References
    ----------
    Willenborg, de Waal. Statistical Disclosure Control in Practice. Springer 1996, chapter 5.
    """

    name: ClassVar[str] = "suppress"
    family: ClassVar[str] = "Suppression"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})
    kind: ClassVar[Kind] = "any"
    random: ClassVar[bool] = False
    presets: ClassVar[Presets | None] = lambda table: [
        f"suppress(k={k})" for k in group_sizes(table) if k <= 10
    ]
    most_cells: ClassVar[int | None] = 18_000
    k: Annotated[int, Field(ge=2, description="rows that match", json_schema_extra=PRIVATE)] = 2
    importance: Annotated[
        str, Field(description="columns to suppress first, separated by commas")
    ] = ""

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del rng
        if self.k > len(table):
            raise InputError(f"k = {self.k} is larger than the number of rows. Try a smaller k.")
        order = self._order(table, columns)
        codes = np.stack([table.column(name).codes for name in columns], axis=1).copy()
        matching = Matching(codes)
        counts = matching.counts()
        blanks = np.zeros(len(columns), dtype=np.int64)
        todo = np.lexsort((np.arange(len(codes)), counts))
        for row in todo[counts[todo] < self.k]:
            while matching.count(codes[row]) < self.k:
                at = _choice(matching, codes[row], blanks, order)
                matching.change(int(row), at, MISSING)
                blanks[at] += 1
        masked = {}
        for i, name in enumerate(columns):
            column = table.column(name)
            gone = (codes[:, i] == MISSING) & ~column.missing
            masked[name] = blank(column, np.flatnonzero(gone)) if gone.any() else column
        guarantee = nothing(CAVEAT)
        return Masked(
            table.changed(masked),
            np.arange(len(table)),
            guarantee,
            kept={"blanked": int(blanks.sum())},
        )

    def _order(self, table: Table, columns: Sequence[str]) -> Ids:
        importance = [name.strip() for name in self.importance.split(",") if name.strip()]
        for name in importance:
            if name not in columns:
                raise unknown_column(name, table.columns)
        ranked = [*importance, *(name for name in columns if name not in importance)]
        return np.array([ranked.index(name) for name in columns], dtype=np.int64)


def _choice(matching: Matching, row: Ids, blanks: Ids, order: Ids) -> int:
    best: tuple[float, int, int, int] | None = None
    for at in np.flatnonzero(row != MISSING):
        tried = row.copy()
        tried[at] = MISSING
        rank = (-matching.count(tried), int(blanks[at]), int(order[at]), int(at))
        best = rank if best is None or rank < best else best
    if best is None:
        raise InputError("A row cannot match k rows, even if all its cells are suppressed.")
    return best[3]


def blank(column: Column, rows: Ids) -> Column:
    """Return the column with these rows set to missing."""
    if column.numeric:
        values = column.values.copy()
        values[rows] = np.nan
        return Column(values)
    values = column.values.copy()
    values[rows] = None
    return Column(values)
