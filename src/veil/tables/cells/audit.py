"""What a reader can infer about every cell from all published numbers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.data.files import require_folder, whole_file
from veil.data.releases import CsvWriter
from veil.tables.cells.cells import Axis
from veil.tables.cells.release import Bounds, CellRelease, Mask
from veil.tables.cells.solver import SLACK, Lines, Reach, grain, solve
from veil.tables.column import format_number
from veil.tables.files import SEEDED, card_of, safe

NOT_SHARPEST = (
    "In more than two dimensions, a reader who knows that cells are integers may infer slightly"
    " more, which is not computed for so many cells."
)


@dataclass(frozen=True, eq=False)
class Audit:
    """The smallest and largest possible value of each cell of the full table.

    `caveat` says how a reader could infer more, if at all.
    """

    low: Floats
    high: Floats
    whole: bool = True
    caveat: str = ""

    @property
    def width(self) -> Floats:
        """Width of the interval of each cell."""
        return self.high - self.low

    @property
    def known(self) -> Mask:
        """Which cells have a single possible value."""
        unit = grain(self.high, whole=self.whole)
        return self.width <= SLACK * np.maximum(unit, np.abs(self.low))


def audit(release: CellRelease) -> Audit:
    """Return what a reader of a release can infer from its sums.

    For each cell, the smallest and largest value over all tables with the published numbers and
    with cells and sums within the bounds of the release. Computed by maximum flows for counts on
    two axes, otherwise by linear programs, and by integer programs for counts on three or more
    axes up to 500 cells.
    """
    if not isinstance(release, CellRelease):
        raise InputError("audit needs a release of cells, from tables.protect.")
    return intervals(release.axes, release.bounds, whole=release.whole)


def intervals(axes: tuple[Axis, ...], bounds: Bounds, *, whole: bool) -> Audit:
    """Return the bounds of all cells of a full table, sharpened by its sums."""
    lines = Lines(axes)
    unit = grain(np.concatenate([bound.ravel() for bound in bounds]), whole=whole)
    low, high = (np.array(bound, dtype=np.float64).ravel() / unit for bound in bounds)
    if whole:
        low, high = np.ceil(low - SLACK) + 0.0, np.floor(high + SLACK) + 0.0
    free = np.flatnonzero(high > low)
    _require_sums(lines, free, low)
    caveat = ""
    if len(free):
        reach = _start(lines, free, low, high, whole=whole)
        _sharpen(reach, low, high)
        caveat = "" if reach.exact else NOT_SHARPEST
    low, high = (unit * bound.reshape(lines.shape) for bound in (low, high))
    return Audit(low, high, whole, caveat)


def _start(lines: Lines, free: Ids, low: Floats, high: Floats, *, whole: bool) -> Reach:
    matrix, used = lines.of(free)
    right = -(lines.matrix[used] @ np.where(high > low, 0.0, low))
    ends = low[free], high[free]
    empty = Reach(lines, free, np.zeros(len(free)), *ends, whole)
    start = solve(np.zeros(len(free)), matrix, right, *ends, whole=whole and empty.exact)
    if start is None:
        raise InputError("No table has these numbers: the release is inconsistent.")
    return replace(empty, values=start)


def _require_sums(lines: Lines, free: Ids, values: Floats) -> None:
    _, used = lines.of(free)
    off = np.abs(lines.matrix @ values)
    off[used] = 0.0
    if (off > SLACK * max(1.0, float(np.abs(values).max()))).any():
        raise InputError("No table has these numbers: the release is inconsistent.")


def _sharpen(reach: Reach, low: Floats, high: Floats) -> None:
    """Update the bounds of each free cell; every solution on the way bounds all cells."""
    least, most = reach.values.copy(), reach.values.copy()
    ends = reach.high[np.isfinite(reach.high)]
    far = float(np.abs(reach.values).sum() + ends.max(initial=0.0) + 1.0)
    for cell in range(len(reach.free)):
        for up in (False, True):
            end = reach.high[cell] if up else reach.low[cell]
            if abs((most if up else least)[cell] - end) <= SLACK:
                continue
            solution = reach.push(cell, far, up=up)
            np.minimum(least, solution, out=least)
            np.maximum(most, solution, out=most)
    low[reach.free], high[reach.free] = _rounded(reach, least, most)


def _rounded(reach: Reach, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    if not reach.whole:
        return least, most
    return np.ceil(least - SLACK) + 0.0, np.floor(most + SLACK) + 0.0  # no -0


def write_cells(
    release: CellRelease, path: Path, *, audited: Audit | None = None, excel_safe: bool = False
) -> None:
    """Write categories and published numbers atomically, readable by their owner only.

    A sum has a star for each summed axis; a suppressed cell is an empty field. With an audit, two
    more columns have the smallest and largest value that a reader can infer. The card next to it
    (``cells.csv.veil.json``) has the mechanism, what is proved, and whether a seed was used.
    """
    require_csv(path)
    _write_card(release, path)
    name = "count" if release.whole else "value"
    header = [*release.by, name, *(("low", "high") if audited is not None else ())]
    with (
        whole_file(path, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = CsvWriter(file)
        writer.writerow([safe(text) if excel_safe else text for text in header])
        for labels, numbers in rows(release, audited):
            texts = [safe(text) if excel_safe else text for text in labels]
            writer.writerow([*texts, *map(_number, numbers)])


def rows(
    release: CellRelease, audited: Audit | None = None
) -> Iterator[tuple[tuple[str, ...], tuple[float, ...]]]:
    """Yield the labels of each cell of the full table, and its numbers; nan is suppressed."""
    columns: list[Floats] = [release.margins]
    if audited is not None:
        columns += [audited.low, audited.high]
    for place in np.ndindex(release.margins.shape):
        labels = tuple(axis.labels[i] for axis, i in zip(release.axes, place, strict=True))
        yield labels, tuple(float(column[place]) for column in columns)


def require_csv(path: Path) -> None:
    """Raise if cells cannot be written to this path."""
    if path.suffix.lower() != ".csv":
        raise InputError("Cells are written as CSV. The file name must end in .csv.")
    require_folder(path)


def _write_card(release: CellRelease, path: Path) -> None:
    card = {
        "method": release.method,
        "by": list(release.by),
        "cells": int(release.margins.size),
        "suppressed": int(release.suppressed.sum()),
        "guarantee": str(release.guarantee),
        "kind": release.guarantee.kind,
        "caveat": release.guarantee.caveat,
        "seeded": release.seeded,
        "note": SEEDED if release.seeded else "",
    }
    with whole_file(card_of(path), private=True) as part:
        part.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _number(value: float) -> str:
    return "" if isnan(value) else format_number(value)
