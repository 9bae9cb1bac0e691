"""Microaggregation of each column by itself."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method, nothing
from veil.tables.methods.mdav import anonymous
from veil.tables.table import Table

CAVEAT = "Groups are made for each column alone: with all columns together a record may be unique."


class Univariate(Method):
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
        proved = nothing(CAVEAT)
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
