"""Read points from the columns of tables and frames."""

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
NUMBER = "release"  # column of output files that numbers releases of the same points
_DEFAULTS = {  # attribute of Points -> default names of its column
    "ids": ("id",),
    "weights": ("weight", "weights", "population"),
    "times": ("time", "times", "timestamp"),
    "users": ("user", "users", "user_id"),
}


def of_place(name: str) -> bool:
    """Return whether a column has the name of a coordinate; such a column is never released."""
    return fold_name(name) in {*_EAST, *_NORTH, *_GEOMETRY}


def is_read(name: str, columns: Collection[str] | None) -> bool:
    """Return whether a column is read: in `columns` (None: all), or an attribute of points."""
    if columns is None or name in columns:
        return True
    return any(fold_name(name) in defaults for defaults in _DEFAULTS.values())


@dataclass(frozen=True)
class NamedColumns:
    """Names of columns by role, None to find them by their default names."""

    x: str | None = None
    y: str | None = None
    ids: str | None = None
    weights: str | None = None
    times: str | None = None
    users: str | None = None

    def coordinates(self, names: Sequence[str], where: str) -> tuple[int, int, str | None]:
        """Return the positions of x and y, and the code that their names imply, if any."""
        x = _position(names, self.x, _EAST, where, "x")
        y = _position(names, self.y, _NORTH, where, "y")
        degrees = _EAST.get(fold_name(names[x])), _NORTH.get(fold_name(names[y]))
        if x == y or (None not in degrees and degrees[0] != degrees[1]):
            raise InputError(
                f"{where} must have two columns that belong together, x and y or lon and lat. Set"
                " x= and y=."
            )
        return x, y, LONLAT if degrees == (True, True) else None

    def points(
        self, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[object]], where: str
    ) -> Points:
        """Return points with the attributes in these columns."""
        attributes: dict[str, Any] = {}
        for attribute, defaults in _DEFAULTS.items():
            explicit = getattr(self, attribute)
            name = explicit or _find(columns, defaults, where)
            if name is None:
                continue
            if name not in columns:
                raise InputError(f"{where} has no column '{name}'. Check the name.")
            try:
                attributes[attribute] = check_values(attribute, columns[name], len(xy))  # type: ignore[arg-type]
            except InputError:
                # Invalid ids are ignored, because many tools write an 'Id' of 0 in all rows. An
                # ignored weight, time or user would change the result.
                if explicit or attribute != "ids" or (name in defaults and NUMBER not in columns):
                    raise
        others = {name: values for name, values in columns.items() if not of_place(name)}
        return Points(xy, crs, **attributes, columns=others)


def _position(
    names: Sequence[str], explicit: str | None, defaults: Collection[str], where: str, axis: str
) -> int:
    """Return the only column with the explicit name, else with one of the default names."""
    if explicit is not None:
        same = [at for at, name in enumerate(names) if name == explicit]
        folded = fold_name(explicit)
        matches = same or [at for at, name in enumerate(names) if fold_name(name) == folded]
        if len(matches) != 1:
            raise InputError(f"{where} must have one column '{explicit}'. Check the name.")
        return matches[0]
    exact = [at for at, name in enumerate(names) if name in defaults]
    matches = exact or [at for at, name in enumerate(names) if fold_name(name) in defaults]
    if not matches:
        raise InputError(
            f"{where} has no column of coordinates ({', '.join(defaults)}). Set {axis}=."
        )
    if len(matches) > 1:
        raise InputError(f"{where} has {len(matches)} columns that may be {axis}. Set {axis}=.")
    return matches[0]


def _find(columns: Mapping[str, object], defaults: Sequence[str], where: str) -> str | None:
    """Return the column with the first default name, ignoring case and blanks, or None."""
    for name in defaults:
        same = [name] if name in columns else [c for c in columns if fold_name(c) == name]
        if len(same) > 1:
            raise InputError(f"{where} has {len(same)} columns called '{name}'. Rename one.")
        if same:
            return same[0]
    return None


def is_frame(source: object) -> bool:
    """Return whether an object is a data frame with geometries."""
    return hasattr(source, "geometry") and hasattr(source, "columns")


def as_points(source: Any) -> Points:  # noqa: ANN401 - Points, or a frame
    """Return the points of a frame; `Points` are returned unchanged."""
    if isinstance(source, Points):
        return source
    if not is_frame(source):
        raise InputError("The points must be Points. Read a file with places.load.")
    points = read_frame(source, NamedColumns(), None)
    if points.crs is None:
        require_local(points.xy, "The frame")
    return points


def read_frame(frame: Any, roles: NamedColumns, crs: str | None) -> Points:  # noqa: ANN401
    """Return the points of a frame, with its other columns."""
    kinds = np.asarray(frame.geometry.geom_type, dtype=object)
    bad = np.flatnonzero(kinds != "Point")
    if len(bad):
        raise InputError(f"{row_numbers(bad)} must be a point. Remove other rows.")
    xy = np.column_stack([np.asarray(frame.geometry.x), np.asarray(frame.geometry.y)])
    own = frame.geometry.name
    columns = {str(name): list(frame[name]) for name in frame.columns if name != own}
    code = _code(frame.crs) if crs is None else crs
    return roles.points(xy.astype(np.float64), code, columns, "The frame")


def _code(crs: Any) -> str | None:  # noqa: ANN401 - of pyproj
    if crs is None:
        return None
    authority = crs.to_authority()
    if authority is None:
        raise InputError("The frame has a coordinate system without a code. Set crs=.")
    return check_crs(":".join(authority))


_MOST = 10  # rows in a message


def read_points(
    path: AnyFile, roles: NamedColumns, crs: str | None, columns: Collection[str] | None = None
) -> Points:
    """Return the points of a table, with the other columns requested, or all."""
    require_file(path, "points")
    names, rows = _opened(path)
    x, y, code = roles.coordinates(names, path.name)
    others = [
        at
        for at, name in enumerate(names)
        if name and at not in (x, y) and not of_place(name) and is_read(name, columns)
    ]
    flat, cells, bad = array("d"), [list[object]() for _ in others], list[int]()
    count = 0
    for row in rows:
        try:
            flat.extend((float(row.values[x]), float(row.values[y])))
        except (TypeError, ValueError):
            bad.append(count)
            if len(bad) > _MOST:
                break
        for at, values in zip(others, cells, strict=True):
            values.append(plain_value(row.values[at], row, path.name))
        count += 1
    if bad:
        raise InputError(
            f"{row_numbers(bad)} of {path.name} must have two numbers. Repair or remove them."
        )
    if not count:
        raise InputError(f"{path.name} has no points.")
    extra = {names[at]: values for at, values in zip(others, cells, strict=True)}
    xy = np.frombuffer(flat).reshape(-1, 2)
    return roles.points(xy, code if crs is None else crs, extra, path.name)


def _opened(path: AnyFile) -> tuple[Sequence[str], Iterator[Row[Any]]]:
    """Return the names of the columns, and the rows.

    Names are case-sensitive, because names such as x and X are common.
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
        raise InputError(f"{path.name} has no points.")
    return names, chain([first], rows)
