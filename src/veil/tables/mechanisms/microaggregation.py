"""Microaggregation: groups of at least k records share their means."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

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
    "Confidential values are not covered, nor are attackers who know more than the"
    " quasi-identifiers; k-anonymity does not compose."
)


class MDAV(Mechanism):
    """Form groups of at least k similar records, and replace their numbers by the group's means.

    While at least 3k records remain: c is the centroid of the remaining records, r the one
    farthest from c, and s the one farthest from r. r and its k - 1 nearest form a group, then s
    and its k - 1 nearest of the rest. With 2k to 3k - 1 remaining, the record farthest from their
    centroid and its k - 1 nearest form a group, and the rest is the last one. Distances are
    Euclidean in population standard deviations; ties go to the smallest row number. Rows with
    missing values do not form groups; their other values are replaced by the means of the nearest
    group.

    k-anonymity holds if all quasi-identifiers are masked, and none of their values is missing.

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
    @override
    def fits(cls, table: Table) -> bool:
        gaps = any(bool(table.column(name).missing.any()) for name in table.qi)
        return super().fits(table) and not gaps

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
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
        means = np.stack(
            [np.bincount(labels[whole], column[whole]) / sizes for column in matrix.T]
        )
        _join(labels, matrix, means, matrix[whole].std(axis=0))
        masked = {}
        for i, name in enumerate(columns):
            values = means[i][labels]
            masked[name] = Column(np.where(np.isnan(matrix[:, i]), np.nan, values))
        proved = anonymous(table, columns, self.k, complete=len(whole) == len(table))
        return Masked(table.changed(masked), np.arange(len(table)), proved, groups=labels)


def _join(labels: Ids, matrix: Floats, means: Floats, spread: Floats) -> None:
    """Assign each row with missing values to the nearest group by its other values.

    Such rows do not enter the means, but none of their values is released unchanged.
    """
    scale = np.where(spread > 0, spread, np.inf)
    for row in np.flatnonzero(labels < 0):
        present = ~np.isnan(matrix[row])
        distance = (means[present] - matrix[row, present, None]) / scale[present, None]
        labels[row] = int(np.argmin(np.square(distance).sum(axis=0)))


def anonymous(table: Table, columns: Sequence[str], k: int, *, complete: bool) -> Guarantee:
    """Return k-anonymity if groups agree on all quasi-identifiers, otherwise no guarantee."""
    if table.qi and set(table.qi) <= set(columns) and complete:
        return Guarantee("k-anonymity", unit=UNIT, k=k, caveat=CAVEAT)
    return nothing(
        "Rows of a group agree only in the masked columns. Other quasi-identifiers, or missing"
        " values, may distinguish them."
    )


def standardise(matrix: Floats) -> Floats:
    """Return columns in population standard deviations (p, n), without constant ones."""
    spread = matrix.std(axis=0)
    varied = spread > 0
    scaled = (matrix[:, varied] - matrix[:, varied].mean(axis=0)) / spread[varied]
    return np.ascontiguousarray(scaled.T)


def groups(points: Floats, k: int) -> Ids:
    """Return the group of each of the n points (p, n)."""
    n = points.shape[1]
    labels = np.zeros(n, dtype=np.int64)
    remaining, rows, count = points, np.arange(n), 0
    while len(rows) >= 3 * k:
        r = int(np.argmax(squared_distance(remaining, remaining.mean(axis=1))))
        near = squared_distance(remaining, remaining[:, r])
        s = int(np.argmax(near))
        first = _nearest(near, k)
        near[first] = -1.0
        if near[s] < 0:  # only if all are equally far: the farthest of the rest
            s = int(np.argmax(near))
        others = squared_distance(remaining, remaining[:, s])
        others[first] = np.inf
        second = _nearest(others, k)
        labels[rows[first]], labels[rows[second]] = count, count + 1
        unassigned = np.ones(len(rows), dtype=np.bool_)
        unassigned[first] = unassigned[second] = False
        remaining, rows = np.compress(unassigned, remaining, axis=1), rows[unassigned]
        count += 2
    if len(rows) >= 2 * k:
        r = int(np.argmax(squared_distance(remaining, remaining.mean(axis=1))))
        first = _nearest(squared_distance(remaining, remaining[:, r]), k)
        labels[rows[first]] = count
        rows = np.delete(rows, first)
        count += 1
    labels[rows] = count
    return labels


def squared_distance(points: Floats, centre: Floats) -> Floats:
    """Return the squared distances of points (p, n) from a centre (p,)."""
    total = np.zeros(points.shape[1])
    for row, middle in zip(points, centre, strict=True):
        offset = row - middle
        offset *= offset
        total += offset
    return total


def _nearest(distances: Floats, k: int) -> Ids:
    """Return the indices of the k smallest; ties go to the smallest row numbers."""
    limit = np.partition(distances, k - 1)[k - 1]
    below = np.flatnonzero(distances < limit)
    level = np.flatnonzero(distances == limit)[: k - len(below)]
    return np.concatenate([below, level])


SINGLE_COLUMNS = "Groups are formed per column, so a record may be unique in all columns together."


class Univariate(Mechanism):
    """Sort each column, and replace groups of k neighbours by their mean.

    The last group takes the rest (k to 2k - 1 values). In one column, every released value is then
    shared by k records. Nothing is proved for several columns: their groups differ, so a record
    may be the only one with its combination.
    """

    name: ClassVar[str] = "univariate"
    family: ClassVar[str] = "Microaggregation"
    kind: ClassVar[Kind] = "numeric"
    random: ClassVar[bool] = False
    k: Annotated[
        int, Field(ge=2, description="size of a group", examples=[5], json_schema_extra=PRIVATE)
    ]

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del rng
        masked = {name: self._grouped(table.column(name), name) for name in columns}
        proved = nothing(SINGLE_COLUMNS)
        if len(columns) == 1:
            complete = not table.column(columns[0]).missing.any()
            proved = anonymous(table, columns, self.k, complete=bool(complete))
        return Masked(table.changed(masked), np.arange(len(table)), proved)

    def _grouped(self, column: Column, name: str) -> Column:
        present = np.flatnonzero(~column.missing)
        if len(present) < self.k:
            raise InputError(f"The column '{name}' has fewer than k = {self.k} numbers.")
        order = present[np.argsort(column.values[present], kind="stable")]
        group = np.minimum(np.arange(len(order)) // self.k, len(order) // self.k - 1)
        means = np.bincount(group, column.values[order]) / np.bincount(group)
        values = column.values.copy()
        values[order] = means[group]
        return Column(values)
