"""Which column of a file is what: coordinates, and what stands beside them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.data.rows import fold_name
from veil.places.crs import LONLAT
from veil.places.points import Points, checked

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


def wanted(name: str, columns: Collection[str] | None) -> bool:
    """Tell whether a column is read: all are if None; what stands beside points always is."""
    if columns is None or name in columns:
        return True
    return any(fold_name(name) in known for known in _BESIDE.values())


@dataclass(frozen=True)
class Named:
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
                given[attribute] = checked(attribute, columns[name], len(xy))  # type: ignore[arg-type]
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
