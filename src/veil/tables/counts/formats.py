"""Tables of cells as files: a line for each cell and each sum."""

import csv
import json
from collections.abc import Iterator
from math import isnan
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.data.files import require_folder, whole_file
from veil.tables.column import written
from veil.tables.counts.audit import Audit
from veil.tables.counts.release import CellRelease
from veil.tables.formats import safe
from veil.tables.save import SEEDED, card_of


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
        writer = csv.writer(file, lineterminator="\n")
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
    return "" if isnan(value) else written(value)
