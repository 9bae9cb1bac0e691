"""Whole columns at one level of their hierarchies."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError, ParameterError
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy
from veil.tables.method import Alone, Kind, Masked, Method
from veil.tables.methods.recode import relabelled
from veil.tables.table import Table, unknown_column


class Generalise(Method):
    """Replace all values of a column by their labels at one level of its hierarchy.

    `levels`, as in 'age=2,sex=1', names columns and the level of each; else every column with a
    hierarchy is at `level`. Nothing is proved by itself: `veil.tables.anonymity` measures k.
    """

    name: ClassVar[str] = "generalise"
    family: ClassVar[str] = "Generalisation"
    needs: ClassVar[frozenset[str]] = frozenset({"hierarchies"})
    kind: ClassVar[Kind] = "any"
    random: ClassVar[bool] = False
    level: Annotated[int, Field(ge=0, description="of all columns", json_schema_extra=PRIVATE)] = 1
    levels: Annotated[str, Field(description="by column instead, as 'age=2,sex=1'")] = ""

    @property
    def alone(self) -> Alone:
        """Equal values get one label."""
        return "value"

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Look each value up."""
        del rng
        levels = self._levels(table, columns)
        made = {
            name: generalised(table.column(name), table.hierarchy(name), level, name)
            for name, level in levels.items()
        }
        return Masked(table.changed(made), np.arange(len(table)), levels=levels)

    def _levels(self, table: Table, columns: Sequence[str]) -> dict[str, int]:
        if not self.levels:
            return dict.fromkeys(columns, self.level)
        made = {}
        for pair in self.levels.split(","):
            name, _, level = pair.partition("=")
            name = name.strip()
            if name not in table:
                raise unknown_column(name, table.columns)
            if not level.strip().isdecimal():
                raise ParameterError("Levels are whole numbers, as in 'age=2,sex=1'.")
            made[name] = int(level)
        return made


def generalised(column: Column, hierarchy: Hierarchy, level: int, name: str) -> Column:
    """Return a column at a level of its hierarchy."""
    if level > hierarchy.height:
        raise InputError(
            f"The hierarchy of '{name}' has levels 0 to {hierarchy.height}; {level} is beyond."
        )
    if level == 0:
        return column
    codes = hierarchy.codes[level][hierarchy.at(column)]
    return relabelled(column, [hierarchy.labels[level][code] for code in codes])
