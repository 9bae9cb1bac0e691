"""Numbers become intervals of one width."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.tables.builders import interval
from veil.tables.column import Column
from veil.tables.method import Alone, Kind, Masked, Method
from veil.tables.table import Table


class Recode(Method):
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
    def alone(self) -> Alone:
        """Equal numbers are in one interval."""
        return "value"

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Recode each column by its different values."""
        del rng
        made = {name: self._recoded(table.column(name)) for name in columns}
        return Masked(table.changed(made), np.arange(len(table)))

    def _recoded(self, column: Column) -> Column:
        there = np.flatnonzero(~column.missing)
        values = column.values[there]
        whole = bool((values == np.rint(values)).all())
        whole = whole and float(self.width).is_integer() and float(self.origin).is_integer()
        steps = np.floor((values - self.origin) / self.width)
        _, first, at = np.unique(steps, return_index=True, return_inverse=True)
        labels = np.empty(len(first), dtype=object)
        labels[:] = [
            interval(number, self.width, self.origin, whole=whole)
            for number in values[first].tolist()
        ]
        made = np.full(len(column), None, dtype=object)
        made[there] = labels[at]
        return Column(made)


def relabelled(column: Column, labels: Sequence[str | None]) -> Column:
    """Give each category of a column another label; what is missing stays missing."""
    table = np.empty(len(labels) + 1, dtype=object)
    table[:] = [*labels, None]  # the code of a missing value, -1, takes the last
    return Column(table[column.codes])
