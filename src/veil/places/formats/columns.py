"""Points in the columns of tables and of frames."""

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.data.lines import AnyFile, require_file, suffix_of
from veil.data.rows import (
    DelimitedLayout,
    Header,
    Row,
    fold_name,
    plain_value,
    read_rows,
    read_table,
)
from veil.places.crs import LONLAT, check_crs, require_local, row_numbers
from veil.places.points import Points, check_values

_EAST = {"x": False, "lon": True, "lng": True, "long": True, "longitude": True}
_NORTH = {"y": False, "lat": True, "latitude": True}
_GEOMETRY = frozenset("geometry geom the_geom wkt wkb easting northing coordinates".split())
NUMBER = "release"  # the column that numbers releases of the same points, in what is written
_BESIDE = {  # attribute of Points: names of columns that are taken for it
    "ids": ("id",),
    "weights": ("weight", "weights", "population"),
    "times": ("time", "times", "timestamp"),
    "users": ("user", "users", "user_id"),
}


def of_place(name: str) -> bool:
    """Tell whether a column is called like a place: such a one never leaves beside a release."""
    return fold_name(name) in {*_EAST, *_NORTH, *_GEOMETRY}


def is_read(name: str, columns: Collection[str] | None) -> bool:
    """Tell whether a column is read: all are if None; what stands beside points always is."""
    if columns is None or name in columns:
        return True
    return any(fold_name(name) in known for known in _BESIDE.values())


@dataclass(frozen=True)
class NamedColumns:
    """Columns that a caller names; None where they are to be found."""

    x: str | None = None
    y: str | None = None
    ids: str | None = None
    weights: str | None = None
    times: str | None = None
    users: str | None = None

    def coordinates(self, names: Sequence[str], where: str) -> tuple[int, int, str | None]:
        """Return the positions of x and y, and the code that their names tell, if any."""
        x = _position(names, self.x, _EAST, where, "x")
        y = _position(names, self.y, _NORTH, where, "y")
        degrees = _EAST.get(fold_name(names[x])), _NORTH.get(fold_name(names[y]))
        if x == y or (None not in degrees and degrees[0] != degrees[1]):
            raise InputError(
                f"{where} must have two columns that belong together, x and y or lon and lat; name"
                " them with x= and y=."
            )
        return x, y, LONLAT if degrees == (True, True) else None

    def points(
        self, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[object]], where: str
    ) -> Points:
        """Make points, with what other columns say of them."""
        given: dict[str, Any] = {}
        for attribute, known in _BESIDE.items():
            told = getattr(self, attribute)
            name = _named(columns, told, where) if told else _found(columns, known, where)
            if name is None:
                continue
            try:
                given[attribute] = check_values(attribute, columns[name], len(xy))  # type: ignore[arg-type]
            except InputError:
                # Ids are names alone: 'Id' of many tools is 0 in all rows. Of the others one
                # that is ignored would make everybody count as one.
                if told or attribute != "ids" or (name in known and NUMBER not in columns):
                    raise
        kept = {name: values for name, values in columns.items() if not of_place(name)}
        return Points(xy, crs, **given, columns=kept)


def _position(
    names: Sequence[str], told: str | None, known: Mapping[str, bool], where: str, axis: str
) -> int:
    """Return the one column that is called as told, or as coordinates are."""
    if told is not None:
        same = [at for at, name in enumerate(names) if name == told]
        found = same or [at for at, name in enumerate(names) if fold_name(name) == fold_name(told)]
        if len(found) != 1:
            raise InputError(f"{where} must have one column '{told}'; name the right one.")
        return found[0]
    exact = [at for at, name in enumerate(names) if name in known]
    found = exact or [at for at, name in enumerate(names) if fold_name(name) in known]
    if not found:
        raise InputError(
            f"{where} has no column of coordinates ({', '.join(known)}); name it with {axis}=."
        )
    if len(found) > 1:
        raise InputError(
            f"{where} has {len(found)} columns that may be {axis}; name the right one: {axis}=."
        )
    return found[0]


def _named(columns: Mapping[str, object], told: str, where: str) -> str:
    if told not in columns:
        raise InputError(f"{where} has no column '{told}'; name the right one.")
    return told


def _found(columns: Mapping[str, object], known: Sequence[str], where: str) -> str | None:
    """Return the column of the first known name; case and blanks do not count."""
    for name in known:
        same = [name] if name in columns else [each for each in columns if fold_name(each) == name]
        if len(same) > 1:
            raise InputError(f"{where} has {len(same)} columns called '{name}'; rename one.")
        if same:
            return same[0]
    return None


def is_frame(source: object) -> bool:
    """Tell whether something is a frame with geometries."""
    return hasattr(source, "geometry") and hasattr(source, "columns")


def as_points(source: Any) -> Points:  # noqa: ANN401 - Points, or a frame
    """Return points as they are, and those of a frame."""
    if isinstance(source, Points):
        return source
    if not is_frame(source):
        raise InputError("What is protected must be Points; read a file with places.load.")
    points = read_frame(source, NamedColumns(), None)
    if points.crs is None:
        require_local(points.xy, "The frame")
    return points


def read_frame(frame: Any, named: NamedColumns, crs: str | None) -> Points:  # noqa: ANN401
    """Read the geometries of a frame; its other columns stand beside the points."""
    kinds = np.asarray(frame.geometry.geom_type, dtype=object)
    bad = np.flatnonzero(kinds != "Point")
    if len(bad):
        raise InputError(f"{row_numbers(bad)} must be a point; leave out what is none.")
    xy = np.column_stack([np.asarray(frame.geometry.x), np.asarray(frame.geometry.y)])
    own = frame.geometry.name
    columns = {str(name): list(frame[name]) for name in frame.columns if name != own}
    told = _code(frame.crs) if crs is None else crs
    return named.points(xy.astype(np.float64), told, columns, "The frame")


def _code(crs: Any) -> str | None:  # noqa: ANN401 - of pyproj
    if crs is None:
        return None
    known = crs.to_authority()
    if known is None:
        raise InputError("The frame has a coordinate system without a code; name it: crs=.")
    return check_crs(":".join(known))


_MOST = 10  # rows that a message names


def read_points(
    path: AnyFile, named: NamedColumns, crs: str | None, columns: Collection[str] | None = None
) -> Points:
    """Read a table row by row; of the other columns those asked for, or all."""
    require_file(path, "points")
    names, rows = _opened(path)
    x, y, told = named.coordinates(names, path.name)
    others = [
        at
        for at, name in enumerate(names)
        if name and at not in (x, y) and not of_place(name) and is_read(name, columns)
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
            f"{row_numbers(bad)} of {path.name} must have two numbers; repair or leave them out."
        )
    if not count:
        raise InputError(f"{path.name} holds no points.")
    beside = {names[at]: values for at, values in zip(others, kept, strict=True)}
    xy = np.frombuffer(flat).reshape(-1, 2)
    return named.points(xy, told if crs is None else crs, beside, path.name)


def _opened(path: AnyFile) -> tuple[Sequence[str], Iterator[Row[Any]]]:
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

    rows = read_rows(path, pick, DelimitedLayout(header=True, cased=True))
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path.name} holds no points.")
    return names, chain([first], rows)
