"""Read and write points as GeoJSON (RFC 7946), feature by feature.

Coordinates are longitude and latitude with at most seven decimals, because more is false
precision. The standard has no plane in metres; Veil marks one with an extra member.
"""

import gzip
import io
import json
import re
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.data.lines import AnyFile
from veil.places.crs import LONLAT, check_crs, row_numbers
from veil.places.formats.columns import NamedColumns, is_read
from veil.places.points import Points

_CHUNK = 2**20  # characters read at a time
_LONGEST = 2**26  # characters of one feature, or of another member
_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"


class Features:
    """Iterates over the features of a file; afterwards `members` has its other members.

    Invalid JSON raises only when it is reached, so use no feature before all are read.
    """

    def __init__(self, path: AnyFile) -> None:
        if not path.is_file():
            raise InputError(f"There is no file {path}. Check the path.")
        self.members: dict[str, object] = {}
        self._path = path
        self._text, self._at = "", 0

    def __iter__(self) -> Iterator[object]:
        try:
            with _opened(self._path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig") as file:
                yield from self._document(file)
        except InputError:
            raise
        except (ValueError, RecursionError, OSError, EOFError):
            raise InputError(f"{self._path.name} must be valid GeoJSON. Write it again.") from None

    def _document(self, file: IO[str]) -> Iterator[object]:
        if self._next(file) != "{":
            raise InputError(
                f"{self._path.name} must be a FeatureCollection of points. Convert it."
            )
        self._at += 1
        while self._next(file) != "}":
            name = self._value(file)
            if not isinstance(name, str) or name in self.members:
                raise ValueError("no name, or a duplicate name")
            self._mark(file, ":")
            if name == "features" and self._next(file) == "[":
                self.members[name] = True
                yield from self._list(file)
            else:
                self.members[name] = self._value(file)
            if self._next(file) != "}":
                self._mark(file, ",")
        self._at += 1
        if self._next(file):
            raise ValueError("trailing data")

    def _list(self, file: IO[str]) -> Iterator[object]:
        self._mark(file, "[")
        while self._next(file) != "]":
            yield self._value(file)
            if self._next(file) != "]":
                self._mark(file, ",")
        self._at += 1

    def _next(self, file: IO[str]) -> str:
        """Return the next character that is not blank, "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANK:
                    return self._text[self._at]
                self._at += 1
            if not self._more(file):
                return ""

    def _mark(self, file: IO[str], mark: str) -> None:
        if self._next(file) != mark:
            raise ValueError(f"no {mark}")
        self._at += 1

    def _value(self, file: IO[str]) -> object:
        """Return the next value, reading on until it is complete."""
        self._next(file)
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:
                if len(self._text) - self._at > _LONGEST or not self._more(file):
                    raise
                continue
            if end < len(self._text) or not self._more(file):  # a number may be incomplete
                self._at = end
                return cast(object, value)

    def _more(self, file: IO[str]) -> bool:
        """Read at least as much text as is waiting, and return whether there was any."""
        waiting = self._text[self._at :]
        read = file.read(max(_CHUNK, len(waiting)))
        self._text, self._at = waiting + read, 0
        return bool(read)


def _opened(path: AnyFile) -> IO[bytes]:
    if isinstance(path, Path) and path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return path.open("rb")


_PLANE = {"coordinates": "planar metres"}
_CRS = re.compile(r"(?:urn:ogc:def:crs:)?(EPSG|OGC):(?:[\d.]*:)?(\w+)")


def read_geojson(
    path: AnyFile, roles: NamedColumns, crs: str | None, columns: Collection[str] | None = None
) -> Points:
    """Return the points of a FeatureCollection, with the properties requested, or all."""
    features, flat, extra, bad = Features(path), array("d"), _Properties(columns), list[int]()
    for row, feature in enumerate(features):
        place = _place(feature)
        if place is None:
            bad.append(row)
        else:
            flat.extend(place)
            extra.add(feature)
    if features.members.get("type") != "FeatureCollection" or "features" not in features.members:
        raise InputError(f"{path.name} must be a FeatureCollection of points. Convert it.")
    if bad:
        raise InputError(
            f"{row_numbers(bad)} of {path.name} must be a Point with two numbers. Remove other"
            " features."
        )
    if not flat:
        raise InputError(f"{path.name} has no points.")
    code = _code(features.members, path.name) if crs is None else crs
    xy = np.frombuffer(flat).reshape(-1, 2)
    return roles.points(xy, code, extra.columns(), path.name)


class _Properties:
    """Columns collected feature by feature, with None for missing properties."""

    def __init__(self, columns: Collection[str] | None) -> None:
        self._requested = columns
        self._columns: dict[str, list[object]] = {}
        self._ids: list[object] = []
        self._rows = 0

    def add(self, feature: object) -> None:
        """Add the properties and the id of a feature."""
        members = feature if isinstance(feature, Mapping) else {}
        properties = members.get("properties")
        for name, value in properties.items() if isinstance(properties, Mapping) else ():
            if is_read(name, self._requested):
                column = self._columns.setdefault(name, [])
                column.extend([None] * (self._rows - len(column)))
                column.append(_to_scalar(value))
        if "id" in members:
            self._ids.append(_to_scalar(members["id"]))
        self._rows += 1

    def columns(self) -> dict[str, list[object]]:
        """Return the properties by name, and the ids of the features if all have one."""
        for column in self._columns.values():
            column.extend([None] * (self._rows - len(column)))
        if "id" not in self._columns and len(self._ids) == self._rows:
            self._columns["id"] = self._ids
        return self._columns


def _place(feature: object) -> tuple[float, float] | None:
    """Return the coordinates of a feature, or None if it is not a point."""
    geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
    if not isinstance(geometry, Mapping) or geometry.get("type") != "Point":
        return None
    place = geometry.get("coordinates")
    if not isinstance(place, list) or len(place) < 2:
        return None
    numbers = [value for value in place[:2] if isinstance(value, int | float)]
    if len(numbers) < 2 or any(isinstance(value, bool) for value in numbers):
        return None
    try:
        return float(numbers[0]), float(numbers[1])
    except OverflowError:
        return None


def _to_scalar(value: object) -> object:
    scalar = value is None or isinstance(value, str | bool | int | float)
    return value if scalar else json.dumps(value, ensure_ascii=False)


def _code(document: Mapping[str, Any], name: str) -> str | None:
    """Return the code of a file, by default longitude and latitude."""
    if document.get("veil") == _PLANE:
        return None
    crs = document.get("crs")
    if crs is None:
        return LONLAT
    properties = crs.get("properties") if isinstance(crs, Mapping) else None
    label = properties.get("name") if isinstance(properties, Mapping) else None
    match = _CRS.fullmatch(label) if isinstance(label, str) else None
    if match is None:
        raise InputError(f"{name} has an unknown coordinate system. Set crs=.")
    return check_crs(f"{match[1]}:{match[2]}")


def write_geojson(
    file: IO[str], xy: Floats, columns: Mapping[str, Sequence[object]], *, plane: bool
) -> None:
    """Write points (n, 2), row by row, with the columns as properties."""
    head = f'"veil": {json.dumps(_PLANE)}, ' if plane else ""
    file.write(f'{{"type": "FeatureCollection", {head}"features": [')
    for row, place in enumerate(np.round(xy, 7)):
        x, y = (float(value) + 0.0 for value in place)  # no negative zero
        properties = {name: _written(values[row]) for name, values in columns.items()}
        feature = {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [x, y]},
            "properties": properties,
        }
        file.write(",\n" if row else "\n")
        file.write(json.dumps(feature, ensure_ascii=False, allow_nan=False))
    file.write("\n]}\n")


def _written(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
