"""Controlled tabular adjustment: small counts go to zero or up, others give way, sums stay."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.counts.adjustment import Adjustment
from veil.tables.counts.axis import full_table, interior
from veil.tables.counts.cells import Cells
from veil.tables.counts.method import CellMethod
from veil.tables.counts.release import Bounds, CellRelease, Mask
from veil.tables.counts.rules import Threshold, require_counts


class CTA(CellMethod):
    """Change counts as little as possible, so that none is below the threshold but zeros.

    Sums stay as they are, counts are whole, a sensitive count becomes 0 or at least `threshold`,
    a zero stays, any other count moves by at most max(1, floor(share v)) and not below
    `threshold`; the sum of all changes is least (or the least that is known after a minute).

    References
    ----------
    Dandekar and Cox. Synthetic tabular data: an alternative to complementary cell suppression.
    Energy Information Administration, 2002.
    """

    name: ClassVar[str] = "cta"
    threshold: int = Field(
        default=5, ge=2, description="least count to publish", json_schema_extra=PRIVATE
    )
    share: float = Field(default=0.2, gt=0, lt=1, description="of a count, that it may move")

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:  # noqa: ARG002 - no draw
        """Find the table of least change, or raise."""
        full = require_counts(cells)
        small = Threshold(threshold=self.threshold).sensitive(cells).cells
        inner = np.zeros(full.shape, dtype=np.bool_)
        inner[interior(cells.axes)] = True
        self._require_sums(small & ~inner)
        values = (
            Adjustment(cells, self.threshold, self.share).least()
            if small.any()
            else full[interior(cells.axes)]
        )
        if values is None:
            raise InputError(
                "No table without small counts has these sums; allow a larger share, or roll"
                " categories up."
            )
        made = full_table(values, cells.axes)
        left = (made > 0) & (made < self.threshold)
        if left.any() or not np.array_equal(made[~inner], full[~inner]):
            raise InputError("The solver found no exact table; nothing is published.")
        bounds = self._bounds(made, inner)
        return CellRelease(
            made, cells.axes, small, bounds, str(self), self.guarantee, maps=cells.maps
        )

    def _require_sums(self, small: Mask) -> None:
        if small.any():
            raise InputError(
                f"{int(small.sum()):,} sums are below the threshold, and cta keeps all sums; roll"
                " categories up first."
            )

    def _bounds(self, made: Floats, inner: Mask) -> Bounds:
        """Return what could have become each cell; sums are as they were."""
        none = inner & (made == 0)
        low = np.where(inner, np.where(none, 0.0, 1.0), made)
        high = np.where(none, self.threshold - 1.0, _origin(made, self.share))
        return Bounds(low, np.where(inner, high, made))


def _origin(made: Floats, share: float) -> Floats:
    """Return the largest v that may have moved down to each: v - max(1, floor(share v)) <= it."""
    v = np.floor(made / (1 - share)) + 2.0
    for _ in range(4):
        v = np.where(v - np.maximum(1.0, np.floor(share * v)) > made, v - 1.0, v)
    return np.maximum(v, made)
