"""Microaggregation: groups of at least k records share their means."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.mechanism import (
    GROUPS,
    UNIT,
    Grid,
    Kind,
    Masked,
    Mechanism,
    Presets,
    group_sizes,
    nothing,
)
from veil.tables.table import Table

CAVEAT = (
    "Nothing is said of confidential values, nor against who knows more than the"
    " quasi-identifiers; k-anonymity does not compose."
)


class MDAV(Mechanism):
    """Put near records into groups of at least k, and replace their numbers by the group's means.

    While 3k records are left: c is the centroid of those left, r the one farthest from c, s the
    one farthest from r; r and its k - 1 nearest are a group, then s and its k - 1 nearest of what
    is left. With 2k to 3k - 1 left, the one farthest from their centroid and its k - 1 nearest are
    a group, and the rest is the last. Distances are Euclidean in population standard deviations;
    of equal ones the smallest row number counts. A row in which a value is missing takes no part;
    the values that it has are replaced by the means of the group that is nearest by them.

    k-anonymity holds if all quasi-identifiers are in it, and none of their values is missing.

    References
    ----------
    Domingo-Ferrer, Mateo-Sanz. Practical data-oriented microaggregation for statistical disclosure
    control. IEEE TKDE 14(1), 2002. doi:10.1109/69.979982
    Domingo-Ferrer, Torra. Ordinal, continuous and heterogeneous k-anonymity through
    microaggregation. DMKD 11(2), 2005. doi:10.1007/s10618-005-0007-5
    """

    name: ClassVar[str] = "mdav"
    grid: ClassVar[Grid | None] = Grid("mdav", "k", GROUPS, groups=True)
    presets: ClassVar[Presets | None] = lambda table: [f"mdav(k={k})" for k in group_sizes(table)]
    family: ClassVar[str] = "Microaggregation"
    kind: ClassVar[Kind] = "numeric"
    random: ClassVar[bool] = False
    k: Annotated[
        int, Field(ge=2, description="size of a group", examples=[5], json_schema_extra=PRIVATE)
    ]

    @classmethod
    def fits(cls, table: Table) -> bool:
        """Whether all quasi-identifiers are numbers, and none is missing."""
        gaps = any(bool(table.column(name).missing.any()) for name in table.qi)
        return super().fits(table) and not gaps

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Group the rows without a missing value; what others have joins the nearest group."""
        del rng
        matrix = np.stack([table[name] for name in columns], axis=1)
        whole = np.flatnonzero(~np.isnan(matrix).any(axis=1))
        if len(whole) < self.k:
            raise InputError(
                f"There are fewer than k = {self.k} rows without a missing value in these columns."
            )
        labels = np.full(len(table), -1, dtype=np.int64)
        labels[whole] = groups(standardise(matrix[whole]), self.k)
        sizes = np.bincount(labels[whole])
        means = np.stack([np.bincount(labels[whole], one[whole]) / sizes for one in matrix.T])
        _join(labels, matrix, means, matrix[whole].std(axis=0))
        made = {}
        for i, name in enumerate(columns):
            values = means[i][labels]
            made[name] = Column(np.where(np.isnan(matrix[:, i]), np.nan, values))
        proved = anonymous(table, columns, self.k, complete=len(whole) == len(table))
        return Masked(table.changed(made), np.arange(len(table)), proved, groups=labels)


def _join(labels: Ids, matrix: Floats, means: Floats, spread: Floats) -> None:
    """Put rows in which something is missing to the group (p, groups) nearest to what they have.

    They take no part in its mean, but no value of theirs is released as it was.
    """
    scale = np.where(spread > 0, spread, np.inf)
    for row in np.flatnonzero(labels < 0):
        there = ~np.isnan(matrix[row])
        away = (means[there] - matrix[row, there, None]) / scale[there, None]
        labels[row] = int(np.argmin(np.square(away).sum(axis=0)))


def anonymous(table: Table, columns: Sequence[str], k: int, *, complete: bool) -> Guarantee:
    """Return k-anonymity if groups of k are alike in all that an attacker knows, else nothing."""
    if table.qi and set(table.qi) <= set(columns) and complete:
        return Guarantee("k-anonymity", unit=UNIT, k=k, caveat=CAVEAT)
    return nothing(
        "Groups of k are alike in the masked columns alone: other quasi-identifiers, or missing"
        " values, may tell records apart."
    )


def standardise(matrix: Floats) -> Floats:
    """Return columns in population standard deviations (p, n); constant ones drop out."""
    spread = matrix.std(axis=0)
    varied = spread > 0
    scaled = (matrix[:, varied] - matrix[:, varied].mean(axis=0)) / spread[varied]
    return np.ascontiguousarray(scaled.T)


def groups(points: Floats, k: int) -> Ids:
    """Return the group of each of the n points (p, n)."""
    n = points.shape[1]
    labels = np.zeros(n, dtype=np.int64)
    left, rows, count = points, np.arange(n), 0
    while len(rows) >= 3 * k:
        r = int(np.argmax(_apart(left, left.mean(axis=1))))
        near = _apart(left, left[:, r])
        s = int(np.argmax(near))
        first = _nearest(near, k)
        near[first] = -1.0
        if near[s] < 0:  # only if all are at one distance: the farthest of what is left
            s = int(np.argmax(near))
        others = _apart(left, left[:, s])
        others[first] = np.inf
        second = _nearest(others, k)
        labels[rows[first]], labels[rows[second]] = count, count + 1
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[first] = kept[second] = False
        left, rows = np.compress(kept, left, axis=1), rows[kept]
        count += 2
    if len(rows) >= 2 * k:
        r = int(np.argmax(_apart(left, left.mean(axis=1))))
        first = _nearest(_apart(left, left[:, r]), k)
        labels[rows[first]] = count
        rows = np.delete(rows, first)
        count += 1
    labels[rows] = count
    return labels


def _apart(points: Floats, centre: Floats) -> Floats:
    """Return the squared distance of points (p, n) from one (p,)."""
    total = np.zeros(points.shape[1])
    for row, middle in zip(points, centre, strict=True):
        away = row - middle
        away *= away
        total += away
    return total


def _nearest(distances: Floats, k: int) -> Ids:
    """Return the k smallest; of equal ones those of the smallest row numbers."""
    limit = np.partition(distances, k - 1)[k - 1]
    below = np.flatnonzero(distances < limit)
    level = np.flatnonzero(distances == limit)[: k - len(below)]
    return np.concatenate([below, level])


SINGLE_COLUMNS = (
    "Groups are made for each column alone: with all columns together a record may be unique."
)


class Univariate(Mechanism):
    """Sort each column, and replace groups of k neighbours by their mean.

    The last group takes the rest (k to 2k - 1 values). Of one column alone every value is then
    shared by k records. Of several columns together nothing is proved: the groups differ from
    column to column, so that a record may be the only one with its combination.
    """

    name: ClassVar[str] = "univariate"
    family: ClassVar[str] = "Microaggregation"
    kind: ClassVar[Kind] = "numeric"
    random: ClassVar[bool] = False
    k: Annotated[
        int, Field(ge=2, description="size of a group", examples=[5], json_schema_extra=PRIVATE)
    ]

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Group each column."""
        del rng
        made = {name: self._grouped(table.column(name), name) for name in columns}
        proved = nothing(SINGLE_COLUMNS)
        if len(columns) == 1:
            complete = not table.column(columns[0]).missing.any()
            proved = anonymous(table, columns, self.k, complete=bool(complete))
        return Masked(table.changed(made), np.arange(len(table)), proved)

    def _grouped(self, column: Column, name: str) -> Column:
        there = np.flatnonzero(~column.missing)
        if len(there) < self.k:
            raise InputError(f"The column '{name}' has fewer than k = {self.k} numbers.")
        order = there[np.argsort(column.values[there], kind="stable")]
        group = np.minimum(np.arange(len(order)) // self.k, len(order) // self.k - 1)
        means = np.bincount(group, column.values[order]) / np.bincount(group)
        values = column.values.copy()
        values[order] = means[group]
        return Column(values)
