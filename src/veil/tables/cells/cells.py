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
    """Nodes of an axis, in order: its categories, then nested groups of them, then the total.

    >>> Axis("fruit", ("apple", "pear", "plum"), (("pome", (0, 1)),)).labels
    ('apple', 'pear', 'plum', 'pome', '*')
    """

    name: str
    categories: tuple[str, ...]
    groups: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        held = [set(members) for _, members in self.groups]
        for i, one in enumerate(held):
            crossing = any(one & other and not (one <= other or other <= one) for other in held)
            twice = any(one == other for other in held[:i])
            if crossing or twice or len(one) < 2 or len(one) >= len(self.categories):
                raise InputError(
                    f"The groups of '{self.name}' must be nested, each of some of its categories."
                )

    @property
    def nodes(self) -> int:
        """How many places the full table has along it."""
        return len(self.categories) + len(self.groups) + 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the nodes; the total has stars, as many as no category has."""
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
        made = []
        count = len(self.categories)
        for node in range(count, self.nodes):
            left = set(self.members[node].tolist())
            below = []
            groups = sorted(range(count, self.nodes - 1), key=lambda n: -len(self.members[n]))
            for other in (*groups, *range(count)):
                held = set(self.members[other].tolist())
                if held <= left and other != node:
                    below.append(other)
                    left -= held
            made.append((node, np.array(sorted(below), dtype=np.int64)))
        return tuple(made)

    def total(self, values: Floats, at: int) -> Floats:
        """Add the sums of this axis, which is number `at` of an array."""
        front = np.moveaxis(values, at, 0)
        inner = [front[list(members)].sum(0)[None] for _, members in self.groups]
        return np.moveaxis(np.concatenate([front, *inner, front.sum(0)[None]]), 0, at)


def full_table(values: Floats, axes: Sequence[Axis]) -> Floats:
    """Return the table with all its sums; the last place of every axis is the total.

    >>> full_table(np.array([[1.0, 2.0]]), [Axis("a", ("x",)), Axis("b", ("y", "z"))]).tolist()
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    full = values
    for at, axis in enumerate(axes):
        full = axis.total(full, at)
    return full


def interior(axes: Sequence[Axis]) -> tuple[slice, ...]:
    """Return where the cells stand in the full table."""
    return tuple(slice(len(axis.categories)) for axis in axes)


MOST = 10_000_000  # cells of the full table
MISSING_LABEL = "(missing)"


@brief("amounts")
@dataclass(frozen=True, eq=False)
class Contributions:
    """Who gave what to a sum: a place per axis (n, d), the amount (n,), and whose it is (n,)."""

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
        The cells, one axis for each column; without sums.
    by
        Names of the axes.
    categories
        Per axis, the values it has, as they are written.
    contributions
        For sums: what each record gave; None for counts.
    groups
        Per axis, nested groups of categories whose subtotals are published, too.
    hierarchies
        By axis, a hierarchy of its categories, for rolling them up.
    maps
        Per axis, what each category of the first table became by roll-ups; empty without any.
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
            raise InputError("Cells need a name for each axis and a label for each of its places.")
        if len(set(self.by)) < len(self.by):
            raise InputError("The axes of a table of cells must have different names.")
        if prod(axis.nodes for axis in self.axes) > MOST:
            raise InputError(f"A table may have {MOST:,} cells; count by fewer columns.")

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes with their groups and totals."""
        groups = self.groups or ((),) * len(self.by)
        return tuple(map(Axis, self.by, self.categories, groups))

    @cached_property
    def margins(self) -> Floats:
        """The full table, with all sums: the last place of every axis is its total."""
        return full_table(self.values, self.axes)

    @property
    def whole(self) -> bool:
        """Whether the cells are counts."""
        return self.contributions is None and bool((self.values == np.floor(self.values)).all())


def tabulate(
    table: Any,  # noqa: ANN401 - a Table, or whatever is an array
    by: Sequence[str] | None = None,
    value: str | None = None,
    *,
    unit: str | None = None,
    nested: Sequence[str] = (),
    weighted: bool = True,
) -> Cells:
    """Count the records of each combination of values, or add up a column.

    Where the table has sampling weights, each record counts as often as its weight says, and its
    amount is multiplied by it: the cells are then sums, of what the records gave.

    Parameters
    ----------
    table
        A table, or an array of cells without sums, of any dimension.
    by
        Columns of the table; of an array: names of its axes.
    value
        A numeric column to add up instead of counting; what is missing adds nothing.
    unit
        Column that says whose a record is, where one may give several; else each is its own.
    nested
        Columns of `by` with a hierarchy: the groups of its levels get subtotals.
    weighted
        Whether sampling weights count, where the table has them.

    Examples
    --------
    >>> cells = tabulate([[1, 2], [3, 4]])
    >>> cells.margins.tolist()
    [[1.0, 2.0, 3.0], [3.0, 4.0, 7.0], [4.0, 6.0, 10.0]]
    """
    if isinstance(table, Table):
        return cells_of(table, by, value, unit, nested, weighted=weighted)
    if value is not None or unit is not None or nested:
        raise InputError("An array of cells has no columns: value, unit and nested are of tables.")
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Cells are a table of tables.load, or an array of numbers.") from None
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
    """Count a table; `records` says of how many records each row is (n,)."""
    names = _names(table, by, nested)
    coded = [_codes(table, name) for name in names]
    labels = tuple(categories for _, categories in coded)
    shape = tuple(map(len, labels))
    if prod(size + 1 for size in shape) > MOST:
        raise InputError(f"A table may have {MOST:,} cells; count by fewer columns.")
    places = np.stack([codes for codes, _ in coded], axis=1)
    flat = np.ravel_multi_index(tuple(places.T), shape)
    groups = tuple(
        _groups(table, name, held) if name in nested else ()
        for name, held in zip(names, labels, strict=True)
    )
    told = {name: table.hierarchies[name] for name in names if name in table.hierarchies}
    weights = table.weights if weighted else None
    if value is None and weights is None:
        if unit is not None:
            raise InputError("A unit is for sums; name the column to add up as the value.")
        counts = np.bincount(flat, records, minlength=prod(shape)).reshape(shape)
        return Cells(counts.astype(np.float64), names, labels, None, groups, told)
    given = _contributions(table, places, value, unit, weights)
    kept = np.ravel_multi_index(tuple(given.places.T), shape)
    sums = np.bincount(kept, given.amounts, minlength=prod(shape)).reshape(shape)
    return Cells(sums.astype(np.float64), names, labels, given, groups, told)


def _names(table: Table, by: Sequence[str] | None, nested: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to count by, or say what is wrong with them."""
    names = (by,) if isinstance(by, str) else tuple(by or ())
    if not names:
        raise InputError("Name the columns to count by.")
    if len(set(names)) < len(names):
        raise InputError("A column to count by may be named once.")
    if not len(table):
        raise InputError("The table has no rows to count.")
    for name in names:
        table.column(name)
        if table.roles[name] == "identifier":
            raise InputError(f"The column '{name}' is an identifier, which no release has.")
    for name in nested:
        if name not in names:
            raise InputError(f"'{name}' is nested but not a column to count by.")
    return names


def _codes(table: Table, name: str) -> tuple[Ids, tuple[str, ...]]:
    """Return codes and labels; rows without a value are a category of their own."""
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
    """Return what each record gives; without a value, its weight."""
    there, amounts = np.ones(len(table), dtype=np.bool_), np.ones(len(table))
    if value is not None:
        column = table.column(value)
        if not column.numeric:
            raise InputError(f"The column '{value}' has texts; only numbers add up.")
        there, amounts = ~column.missing, column.values
    if weights is not None:
        amounts = amounts * weights
    amounts = amounts[there]
    if not np.isfinite(amounts).all() or (amounts < 0).any():
        raise InputError(f"The column '{value}' must be finite and >= 0 to be added up.")
    units = np.arange(len(table)) if unit is None else row_classes([_codes(table, unit)[0]],
                                                                   len(table))  # fmt: skip
    return Contributions(places[there], amounts, units[there])


def _groups(table: Table, name: str, categories: tuple[str, ...]) -> tuple[Group, ...]:
    """Return the groups of a hierarchy that hold some, and not all, of the categories."""
    hierarchy = table.hierarchy(name)
    at = {label: i for i, label in enumerate(categories)}
    leaves = [hierarchy.place[label] for label in categories if label in hierarchy.place]
    made: dict[tuple[int, ...], str] = {}
    for level in range(1, hierarchy.height):
        held: dict[int, list[int]] = {}
        for leaf in leaves:
            code = int(hierarchy.codes[level][leaf])
            held.setdefault(code, []).append(at[hierarchy.leaves[leaf]])
        for code, members in held.items():
            if 1 < len(members) < len(categories):
                made.setdefault(tuple(sorted(members)), hierarchy.labels[level][code])
    return tuple((label, members) for members, label in made.items())
