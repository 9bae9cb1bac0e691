"""Rounding of cells to multiples of a base."""

from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.counts.cells import Cells
from veil.tables.counts.lines import Lines
from veil.tables.counts.method import CellMethod
from veil.tables.counts.release import Bounds, CellRelease
from veil.tables.counts.solver import solve


class Round(CellMethod):
    """Publish multiples of a base: the nearest, one drawn, or such that all sums add up.

    `nearest` rounds every cell and every sum on its own, ties to the even multiple. `random` goes
    up with probability r / base, where r is what is above the multiple below: unbiased, each cell
    and sum on its own. `controlled` takes for every cell and sum a multiple next to it, so that
    all add up and the whole change is least; multiples stay as they are.

    Notes
    -----
    Sums that are rounded on their own can give cells away: 1 1 | 2 and 1 1 | 2 at base 3 become
    0 0 | 3 and 0 0 | 3, and no other table does (`audit`). With three axes or more controlled
    rounding may be impossible; then nothing is published.

    References
    ----------
    Cox. A constructive procedure for unbiased controlled rounding. Journal of the American
    Statistical Association 82(398), 1987. doi:10.1080/01621459.1987.10478456
    """

    name: ClassVar[str] = "round"
    base: int = Field(
        default=5, ge=2, description="whose multiples are published", json_schema_extra=PRIVATE
    )
    how: Literal["nearest", "random", "controlled"] = Field(
        default="nearest", description="to the nearest, at random, or so that sums add up"
    )

    @property
    def draws(self) -> bool:
        """Only `random` draws."""
        return self.how == "random"

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        """Round the full table."""
        full = cells.margins
        if self.how == "nearest":
            made = np.rint(full / self.base) * self.base
        elif self.how == "random":
            below = np.floor(full / self.base) * self.base
            up = rng.random(full.shape) * self.base < full - below
            made = below + self.base * up
        else:
            made = controlled(cells, self.base)
        return CellRelease(
            made,
            cells.axes,
            np.zeros(full.shape, dtype=np.bool_),
            self._bounds(made, whole=cells.whole),
            str(self),
            self.guarantee,
            whole=cells.whole,
            additive=self.how == "controlled",
            maps=cells.maps,
        )

    def _bounds(self, made: Floats, *, whole: bool) -> Bounds:
        """Return what could have been rounded to each: for counts, whole numbers only."""
        if self.how == "nearest":
            reach = np.full(made.shape, self.base / 2)
            odd = np.rint(made / self.base) % 2 == 1
            if whole and self.base % 2 == 0:
                reach[odd] -= 1  # a tie went to the even multiple
            elif whole:
                reach -= 0.5
        else:
            reach = np.full(made.shape, float(self.base - 1 if whole else self.base))
        return Bounds(np.maximum(0.0, made - reach), made + reach)


def controlled(cells: Cells, base: int) -> Floats:
    """Round a full table so that it adds up, with the least change."""
    full = cells.margins.ravel()
    below = np.floor(full / base)
    rest = full - base * below
    free = np.flatnonzero(rest > 0)
    if not len(free):
        return cells.margins
    lines = Lines(cells.axes)
    matrix, used = lines.of(free)
    right = np.rint(-(lines.matrix[used] @ below))
    ends = np.zeros(len(free)), np.ones(len(free))
    ups = solve(base - 2 * rest[free], matrix, right, *ends, whole=True)
    if ups is None:
        raise InputError(
            "No controlled rounding of this table exists at that base; use another base, or"
            " how='random'."
        )
    below[free] += ups
    return (base * below).reshape(lines.shape)
