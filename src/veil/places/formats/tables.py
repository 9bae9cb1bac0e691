"""Points of tables: CSV, TSV, JSON lines, Parquet without geometries, also compressed."""

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.data.lines import require_file, suffix_of
from veil.data.rows import Header, Layout, Row, plain_value, read_rows, read_table
from veil.places.formats.columns import Named, of_place, wanted
from veil.places.numbered import numbered
from veil.places.points import Points

_MOST = 10  # rows that a message names


def read_points(
    path: Path, named: Named, crs: str | None, columns: Collection[str] | None = None
) -> Points:
    """Read a table row by row; of the other columns those asked for, or all."""
    require_file(path, "points")
    names, rows = _opened(path)
    x, y, told = named.coordinates(names, path.name)
    others = [
        at
        for at, name in enumerate(names)
        if name and at not in (x, y) and not of_place(name) and wanted(name, columns)
    ]
    flat, kept, bad = array("d"), [list[object]() for _ in others], list[int]()
    count = 0
    for row in rows:
        try:
            flat.extend((float(row.values[x]), float(row.values[y])))
        except (TypeError, ValueError):
            bad.append(count)
            if len(bad) > _MOST:
                break
        for at, values in zip(others, kept, strict=True):
            values.append(plain_value(row.values[at], row, path.name))
        count += 1
    if bad:
        raise InputError(
            f"{numbered(bad)} of {path.name} must have two numbers; repair or leave them out."
        )
    if not count:
        raise InputError(f"{path.name} holds no points.")
    beside = {names[at]: values for at, values in zip(others, kept, strict=True)}
    xy = np.frombuffer(flat).reshape(-1, 2)
    return named.points(xy, told if crs is None else crs, beside, path.name)


def _opened(path: Path) -> tuple[Sequence[str], Iterator[Row[Any]]]:
    """Return the names of the columns, and the rows.

    Names that differ by case alone are usual here (x and X), and are told apart.
    """
    if suffix_of(path) not in (".csv", ".tsv"):
        header, texts = read_table(path)
        return header.names, texts
    names: Sequence[str] = ()

    def pick(header: Header) -> list[int]:
        nonlocal names
        names = header.names
        return list(range(len(header)))

    rows = read_rows(path, pick, Layout(header=True, cased=True))
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path.name} holds no points.")
    return names, chain([first], rows)
