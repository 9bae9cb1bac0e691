"""Counting a sample instead of all records."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.counts.axis import full_table
from veil.tables.counts.cells import Cells, Contributions
from veil.tables.counts.method import CellMethod
from veil.tables.counts.release import Bounds, CellRelease

_MOST = 10**9  # records that can be drawn from


class Sample(CellMethod):
    """Draw a share of the records without replacement, and count each 1 / rate times.

    A reader knows that a cell has at least the records that were drawn for it.
    """

    name: ClassVar[str] = "sample"
    random: ClassVar[bool] = True
    rate: float = Field(gt=0, lt=1, description="share of records that are drawn", examples=[0.5])

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        """Draw records, and count them."""
        drawn, left = _drawn(cells, self.rate, rng)
        full = full_table(drawn, cells.axes)
        return CellRelease(
            full / self.rate,
            cells.axes,
            np.zeros(full.shape, dtype=np.bool_),
            Bounds(full, full + left),
            str(self),
            self.guarantee,
            whole=cells.whole,
            maps=cells.maps,
        )


def _drawn(cells: Cells, rate: float, rng: Generator) -> tuple[Floats, float]:
    """Return the table of a sample, and the most that can be outside of it."""
    given = cells.contributions
    if given is not None:
        return _of_records(cells, given, rate, rng), np.inf
    if not cells.whole:
        raise InputError("Only counts, or sums of a table's records, can be sampled.")
    total = int(cells.values.sum())
    if total >= _MOST:
        raise InputError(f"A sample is drawn of fewer than {_MOST:,} records; roll the table up.")
    size = round(rate * total)
    counts = cells.values.ravel().astype(np.int64)
    drawn = rng.multivariate_hypergeometric(counts, size, method="marginals")
    most = np.floor((size + 0.5) / rate)  # records, as far as a reader can tell
    return drawn.reshape(cells.values.shape).astype(np.float64), float(most - size)


def _of_records(cells: Cells, given: Contributions, rate: float, rng: Generator) -> Floats:
    count = len(given.amounts)
    rows = rng.choice(count, round(rate * count), replace=False)
    values = np.zeros(cells.values.shape)
    np.add.at(values, tuple(given.places[rows].T), given.amounts[rows])
    return values
