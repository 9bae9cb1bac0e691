"""Columns replaced by the means of sorted bootstrap samples."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method
from veil.tables.table import Table


class Resample(Method):
    """Replace the value of rank j by the mean of the j-th values of several bootstrap samples.

    References
    ----------
    Heer. A bootstrap procedure to preserve statistical confidentiality in contingency tables.
    International Seminar on Statistical Confidentiality, Eurostat 1993.
    """

    name: ClassVar[str] = "resample"
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "numeric"
    times: Annotated[int, Field(ge=1, le=1000, description="samples")] = 3

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Sort, draw, sort, and take means rank by rank."""
        made = {}
        for name in columns:
            values = table[name].copy()
            there = np.flatnonzero(~table.column(name).missing)
            known = values[there]
            means = np.zeros(len(known))
            for _ in range(self.times):
                means += np.sort(known[rng.integers(0, len(known), len(known))])
            values[there[np.argsort(known, kind="stable")]] = means / self.times
            made[name] = Column(values)
        return Masked(table.changed(made), np.arange(len(table)))
