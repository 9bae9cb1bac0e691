"""Numbers rounded to multiples of a base."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.tables.column import Column
from veil.tables.method import Alone, Kind, Masked, Method
from veil.tables.table import Table


class Rounding(Method):
    """Round numbers to multiples of a base.

    `nearest`: ties go to the even multiple; `random`: up with the probability of the fraction, so
    that the mean is unbiased.
    """

    name: ClassVar[str] = "rounding"
    family: ClassVar[str] = "Rounding"
    kind: ClassVar[Kind] = "numeric"
    base: Annotated[
        float,
        Field(gt=0, description="of which multiples are released", examples=[5.0],
              json_schema_extra=PRIVATE),
    ]  # fmt: skip
    how: Annotated[Literal["nearest", "random"], Field(description="which multiple")] = "nearest"

    @property
    def alone(self) -> Alone:
        """Each number is rounded by itself."""
        return "row"

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Round each column."""
        made = {}
        for name in columns:
            scaled = table[name] / self.base
            if self.how == "nearest":
                steps = np.rint(scaled)
            else:
                below = np.floor(scaled)
                steps = below + (rng.random(len(scaled)) < scaled - below)
            made[name] = Column(steps * self.base)
        return Masked(table.changed(made), np.arange(len(table)))
