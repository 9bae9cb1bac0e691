"""Tables of counts and sums: axes and cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.core.types import Floats, Ids
from veil.tables.hierarchy import Hierarchy
from veil.tables.table import Table, row_classes

TOTAL = "*"
Group = tuple[str, tuple[int, ...]]  # a label, and the categories under it


@dataclass(frozen=True)
class Axis:
    """An axis, whose nodes are its categories, then nested groups of them, then the total.

    >>> Axis("fruit", ("apple", "pear", "plum"), (("pome", (0, 1)),)).labels
    ('apple', 'pear', 'plum', 'pome', '*')
    """

    name: str
    categories: tuple[str, ...]
    groups: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        groups = [set(members) for _, members in self.groups]
        for i, members in enumerate(groups):
            crossing = any(
                members & other and not (members <= other or other <= members) for other in groups
            )
            twice = any(members == other for other in groups[:i])
            if crossing or twice or len(members) < 2 or len(members) >= len(self.categories):
                raise InputError(
                    f"The groups of '{self.name}' must be nested, and have some but not all of"
                    " its categories."
                )

    @property
    def nodes(self) -> int:
        """Length of the full table along this axis."""
        return len(self.categories) + len(self.groups) + 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the nodes; the total is made of stars, so that it differs from all of them."""
        inner = (*self.categories, *(label for label, _ in self.groups))
        star = TOTAL
        while star in inner:
            star += TOTAL
        return (*inner, star)

    @cached_property
    def members(self) -> tuple[Ids, ...]:
        """Per node, the categories under it."""
        leaves = [np.array([i]) for i in range(len(self.categories))]
        inner = [np.array(members, dtype=np.int64) for _, members in self.groups]
        return (*leaves, *inner, np.arange(len(self.categories)))

    @cached_property
    def sums(self) -> tuple[tuple[int, Ids], ...]:
        """Equations: a node, and the nodes right below it, which add up to it."""
        equations = []
        count = len(self.categories)
        for node in range(count, self.nodes):
            remaining = set(self.members[node].tolist())
            below = []
            groups = sorted(range(count, self.nodes - 1), key=lambda n: -len(self.members[n]))
            for other in (*groups, *range(count)):
                inside = set(self.members[other].tolist())
                if inside <= remaining and other != node:
                    below.append(other)
                    remaining -= inside
            equations.append((node, np.array(sorted(below), dtype=np.int64)))
        return tuple(equations)

    def total(self, values: Floats, at: int) -> Floats:
        """Return an array with the sums of this axis, number `at`, appended."""
        front = np.moveaxis(values, at, 0)
        inner = [front[list(members)].sum(0)[None] for _, members in self.groups]
        return np.moveaxis(np.concatenate([front, *inner, front.sum(0)[None]]), 0, at)


def full_table(values: Floats, axes: Sequence[Axis]) -> Floats:
    """Return the table with all its sums; the last entry of every axis is the total.

    >>> full_table(np.array([[1.0, 2.0]]), [Axis("a", ("x",)), Axis("b", ("y", "z"))]).tolist()
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    full = values
    for at, axis in enumerate(axes):
        full = axis.total(full, at)
    return full


def interior(axes: Sequence[Axis]) -> tuple[slice, ...]:
    """Return the slices of the cells in the full table."""
    return tuple(slice(len(axis.categories)) for axis in axes)


MOST = 10_000_000  # cells of the full table
MISSING_LABEL = "(missing)"


@brief("amounts")
@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions to sums: an index per axis (n, d), the amount (n,), and the unit (n,)."""

    places: Ids
    amounts: Floats
    units: Ids


@brief("values")
@dataclass(frozen=True, eq=False)
class Cells:
    """A table of counts, or of sums.

    Attributes
    ----------
    values
        The cells, with an axis for each column; without sums.
    by
        Names of the axes.
    categories
        Per axis, its categories, as strings.
    contributions
        For sums: the amount of each record; None for counts.
    groups
        Per axis, nested groups of categories with published subtotals.
    hierarchies
        By axis, a hierarchy of its categories, for rolling them up.
    maps
        Per axis, the new index of each original category after roll-ups; empty without any.
    """

    values: Floats
    by: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    contributions: Contributions | None = None
    groups: tuple[tuple[Group, ...], ...] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    maps: tuple[Ids, ...] = ()

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        object.__setattr__(self, "values", values)
        if values.ndim == 0 or values.size == 0:
            raise InputError("A table of cells must have at least one axis and one cell.")
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError("Cells must be finite and >= 0.")
        if len(self.by) != values.ndim or tuple(map(len, self.categories)) != values.shape:
            raise InputError(
                "Cells need a name for each axis, and a label for each of its categories."
            )
        if len(set(self.by)) < len(self.by):
            raise InputError("The axes of a table of cells must have different names.")
        if prod(axis.nodes for axis in self.axes) > MOST:
            raise InputError(f"A table may have {MOST:,} cells. Count by fewer columns.")

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes with their groups and totals."""
        groups = self.groups or ((),) * len(self.by)
        return tuple(map(Axis, self.by, self.categories, groups))

    @cached_property
    def margins(self) -> Floats:
        """The full table, with all sums: the last entry of every axis is its total."""
        return full_table(self.values, self.axes)

    @property
    def whole(self) -> bool:
        """Whether the cells are counts."""
        return self.contributions is None and bool((self.values == np.floor(self.values)).all())


def tabulate(
    table: Any,  # noqa: ANN401 - a Table, or anything like an array
    by: Sequence[str] | None = None,
    value: str | None = None,
    *,
    unit: str | None = None,
    nested: Sequence[str] = (),
    weighted: bool = True,
) -> Cells:
    """Count the records of each combination of values, or sum a column.

    With sampling weights, each record counts as often as its weight, and its amount is multiplied
    by it. The cells are then sums of contributions.

    Parameters
    ----------
    table
        A table, or an array of cells without sums, of any dimension.
    by
        Columns of the table, or names for the axes of an array.
    value
        A numeric column to sum instead of counting; missing values add nothing.
    unit
        Column that identifies the unit of a record, if a unit may have several records.
    nested
        Columns of `by` with a hierarchy: the groups of its levels get subtotals.
    weighted
        Whether to use sampling weights, if the table has them.

    Examples
    --------
    >>> cells = tabulate([[1, 2], [3, 4]])
    >>> cells.margins.tolist()
    [[1.0, 2.0, 3.0], [3.0, 4.0, 7.0], [4.0, 6.0, 10.0]]
    """
    if isinstance(table, Table):
        return cells_of(table, by, value, unit, nested, weighted=weighted)
    if value is not None or unit is not None or nested:
        raise InputError(
            "An array of cells has no columns. Use value, unit and nested with tables only."
        )
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "tabulate needs a table from tables.load, or an array of numbers."
        ) from None
    names = tuple(by) if by is not None else tuple(f"axis {i + 1}" for i in range(values.ndim))
    labels = tuple(tuple(str(i + 1) for i in range(size)) for size in values.shape)
    return Cells(values, names, labels)


def cells_of(
    table: Table,
    by: Sequence[str] | None,
    value: str | None,
    unit: str | None,
    nested: Sequence[str],
    records: Ids | None = None,
    *,
    weighted: bool = False,
) -> Cells:
    """Tabulate a table; `records` is the number of records that each row stands for (n,)."""
    names = _names(table, by, nested)
    coded = [_codes(table, name) for name in names]
    labels = tuple(categories for _, categories in coded)
    shape = tuple(map(len, labels))
    if prod(size + 1 for size in shape) > MOST:
        raise InputError(f"A table may have {MOST:,} cells. Count by fewer columns.")
    places = np.stack([codes for codes, _ in coded], axis=1)
    flat = np.ravel_multi_index(tuple(places.T), shape)
    groups = tuple(
        _groups(table, name, categories) if name in nested else ()
        for name, categories in zip(names, labels, strict=True)
    )
    hierarchies = {name: table.hierarchies[name] for name in names if name in table.hierarchies}
    weights = table.weights if weighted else None
    if value is None and weights is None:
        if unit is not None:
            raise InputError("A unit is only for sums. Name the column to sum as the value.")
        counts = np.bincount(flat, records, minlength=prod(shape)).reshape(shape)
        return Cells(counts.astype(np.float64), names, labels, None, groups, hierarchies)
    contributions = _contributions(table, places, value, unit, weights)
    cells = np.ravel_multi_index(tuple(contributions.places.T), shape)
    sums = np.bincount(cells, contributions.amounts, minlength=prod(shape)).reshape(shape)
    return Cells(sums.astype(np.float64), names, labels, contributions, groups, hierarchies)


def _names(table: Table, by: Sequence[str] | None, nested: Sequence[str]) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) else tuple(by or ())
    if not names:
        raise InputError("Name the columns to count by.")
    if len(set(names)) < len(names):
        raise InputError("A column to count by must be listed once.")
    if not len(table):
        raise InputError("The table has no rows to count.")
    for name in names:
        table.column(name)
        if table.roles[name] == "identifier":
            raise InputError(f"The column '{name}' is an identifier, which cannot be released.")
    for name in nested:
        if name not in names:
            raise InputError(f"'{name}' is nested, but not a column to count by.")
    return names


def _codes(table: Table, name: str) -> tuple[Ids, tuple[str, ...]]:
    """Return codes and labels; missing values are a separate category."""
    column = table.column(name)
    if not column.missing.any():
        return column.codes, column.categories
    codes = np.where(column.missing, len(column.categories), column.codes)
    label = MISSING_LABEL
    while label in column.categories:
        label = f"({label})"
    return codes, (*column.categories, label)


def _contributions(
    table: Table, places: Ids, value: str | None, unit: str | None, weights: Floats | None
) -> Contributions:
    present, amounts = np.ones(len(table), dtype=np.bool_), np.ones(len(table))
    if value is not None:
        column = table.column(value)
        if not column.numeric:
            raise InputError(f"The column '{value}' has text. Only numbers can be summed.")
        present, amounts = ~column.missing, column.values
    if weights is not None:
        amounts = amounts * weights
    amounts = amounts[present]
    if not np.isfinite(amounts).all() or (amounts < 0).any():
        raise InputError(f"The column '{value}' must be finite and >= 0 to be added up.")
    units = np.arange(len(table)) if unit is None else row_classes([_codes(table, unit)[0]],
                                                                   len(table))  # fmt: skip
    return Contributions(places[present], amounts, units[present])


def _groups(table: Table, name: str, categories: tuple[str, ...]) -> tuple[Group, ...]:
    """Return the groups of a hierarchy that contain some, but not all, of the categories."""
    hierarchy = table.hierarchy(name)
    at = {label: i for i, label in enumerate(categories)}
    leaves = [hierarchy.place[label] for label in categories if label in hierarchy.place]
    groups: dict[tuple[int, ...], str] = {}
    for level in range(1, hierarchy.height):
        by_label: dict[int, list[int]] = {}
        for leaf in leaves:
            code = int(hierarchy.codes[level][leaf])
            by_label.setdefault(code, []).append(at[hierarchy.leaves[leaf]])
        for code, members in by_label.items():
            if 1 < len(members) < len(categories):
                groups.setdefault(tuple(sorted(members)), hierarchy.labels[level][code])
    return tuple((label, members) for members, label in groups.items())
