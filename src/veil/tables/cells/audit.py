"""What a reader can infer of every cell from all that is published."""

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


def write_cells(
    release: CellRelease, path: Path, *, audited: Audit | None = None, excel_safe: bool = False
) -> None:
    """Write categories and what is published, owner-only, whole or not at all.

    A sum has a star for what is added up; a suppressed cell is an empty field. With an audit, two
    more columns have the least and the most that a reader can conclude. A card beside it
    (``cells.csv.veil.json``) says by what it was made, what is proved, and whether by a seed.
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
    """Raise if no cells can be written there."""
    if path.suffix.lower() != ".csv":
        raise InputError("Cells are written as CSV; name a file that ends in .csv.")
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
