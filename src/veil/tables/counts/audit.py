"""What a reader can conclude of every cell that is not published, from all that is."""

from dataclasses import dataclass, replace

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.counts.axis import Axis
from veil.tables.counts.lines import Lines
from veil.tables.counts.reach import Reach
from veil.tables.counts.release import Bounds, CellRelease, Mask
from veil.tables.counts.solver import SLACK, grain, solve

NOT_SHARPEST = (
    "In more than two dimensions a reader who knows that cells are whole numbers may conclude"
    " somewhat more; so many cells are not searched for that."
)


@dataclass(frozen=True, eq=False)
class Audit:
    """The least and the most that each cell of the full table can be.

    `caveat` says what a reader could still do better, if anything.
    """

    low: Floats
    high: Floats
    whole: bool = True
    caveat: str = ""

    @property
    def width(self) -> Floats:
        """The most minus the least, of each cell."""
        return self.high - self.low

    @property
    def known(self) -> Mask:
        """Which cells can only be one number."""
        one = grain(self.high, whole=self.whole)
        return self.width <= SLACK * np.maximum(one, np.abs(self.low))


def audit(release: CellRelease) -> Audit:
    """Return what a reader of a release concludes by its sums.

    For each cell the least and the most over all tables that have what is published, where cells
    and sums are within the bounds of the release: by flows of most value for counts on two axes,
    by linear programs elsewhere, and by integer ones for counts on three axes and more, up to 500
    cells.
    """
    if not isinstance(release, CellRelease):
        raise InputError("Audited is a release of cells, which tables.protect makes of tabulate.")
    return intervals(release.axes, release.bounds, whole=release.whole)


def intervals(axes: tuple[Axis, ...], bounds: Bounds, *, whole: bool) -> Audit:
    """Sharpen the bounds of all cells of a full table by its sums."""
    lines = Lines(axes)
    one = grain(np.concatenate([bound.ravel() for bound in bounds]), whole=whole)
    low, high = (np.array(bound, dtype=np.float64).ravel() / one for bound in bounds)
    if whole:
        low, high = np.ceil(low - SLACK) + 0.0, np.floor(high + SLACK) + 0.0
    free = np.flatnonzero(high > low)
    _require_sums(lines, free, low)
    caveat = ""
    if len(free):
        reach = _start(lines, free, low, high, whole=whole)
        _sharpen(reach, low, high)
        caveat = "" if reach.exact else NOT_SHARPEST
    low, high = (one * bound.reshape(lines.shape) for bound in (low, high))
    return Audit(low, high, whole, caveat)


def _start(lines: Lines, free: Ids, low: Floats, high: Floats, *, whole: bool) -> Reach:
    """Find one table that is within the bounds."""
    matrix, used = lines.of(free)
    right = -(lines.matrix[used] @ np.where(high > low, 0.0, low))
    ends = low[free], high[free]
    empty = Reach(lines, free, np.zeros(len(free)), *ends, whole)
    start = solve(np.zeros(len(free)), matrix, right, *ends, whole=whole and empty.exact)
    if start is None:
        raise InputError("No table has these numbers: the release contradicts itself.")
    return replace(empty, values=start)


def _require_sums(lines: Lines, free: Ids, values: Floats) -> None:
    """Raise if a line of which all is published does not add up."""
    _, used = lines.of(free)
    off = np.abs(lines.matrix @ values)
    off[used] = 0.0
    if (off > SLACK * max(1.0, float(np.abs(values).max()))).any():
        raise InputError("No table has these numbers: the release contradicts itself.")


def _sharpen(reach: Reach, low: Floats, high: Floats) -> None:
    """Find the least and most of each free cell; every table found on the way tells of all."""
    least, most = reach.values.copy(), reach.values.copy()
    ends = reach.high[np.isfinite(reach.high)]
    far = float(np.abs(reach.values).sum() + ends.max(initial=0.0) + 1.0)
    for cell in range(len(reach.free)):
        for up in (False, True):
            end = reach.high[cell] if up else reach.low[cell]
            if abs((most if up else least)[cell] - end) <= SLACK:
                continue
            found = reach.push(cell, far, up=up)
            np.minimum(least, found, out=least)
            np.maximum(most, found, out=most)
    low[reach.free], high[reach.free] = _rounded(reach, least, most)


def _rounded(reach: Reach, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    if not reach.whole:
        return least, most
    return np.ceil(least - SLACK) + 0.0, np.floor(most + SLACK) + 0.0  # no -0
