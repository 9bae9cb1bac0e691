"""Coordinate systems: metres of a plane, longitude and latitude, and EPSG codes.

`None` is a plane in metres; callers write `METRES`. ``EPSG:4326`` is (longitude, latitude) in
degrees, in this order. Coordinates of any other code are converted to longitude and latitude and
back by pyproj (extra ``places``). No projected code is treated as metres, because its scale varies
(one unit of EPSG:3857 is 0.62 m at 51.5 degrees north).
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats, Ids

_SHOWN = 10


def row_numbers(rows: Sequence[int] | Ids) -> str:
    """Return the numbers of rows for a message, counted from 1; `rows` count from 0.

    >>> row_numbers([2]), row_numbers([0, 4])
    ('Row 3', 'Rows 1, 5')
    """
    numbers = ", ".join(f"{int(row) + 1:,}" for row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"{'Row' if len(rows) == 1 else 'Rows'} {numbers}{more}"


LONLAT = "EPSG:4326"
METRES = "metres"  # declares that a file without a code is a plane in metres
_CODE = re.compile(r"EPSG:(\d{4,6})", re.IGNORECASE)
_SAME = {"OGC:CRS84": LONLAT, "CRS84": LONLAT, "WGS84": LONLAT}


def is_metres(crs: object) -> bool:
    """Return whether a code declares coordinates to be metres of a plane.

    >>> is_metres("metres"), is_metres(None)
    (True, False)
    """
    return isinstance(crs, str) and crs.strip().lower() in (METRES, "meters")


_LOCAL = 1e5  # metres; beyond it a unit of EPSG:3857 is off by more than 0.01 %


def require_local(xy: Floats, where: str) -> None:
    """Raise if coordinates without a declared system look projected, so may not be metres."""
    if np.abs(xy).max() >= _LOCAL:
        raise InputError(
            f"{where} has coordinates of 100,000 or more and names no system, so that a unit may"
            " not be a metre (in EPSG:3857 it is 0.62 m in London). Set crs (--crs) to a code,"
            " such as EPSG:3857, or to 'metres' for a plane."
        )


def check_crs(crs: str | int | None) -> str | None:
    """Return a code in canonical form, or raise if it is unknown.

    A code must be geographic or projected, with two horizontal axes and no height.

    >>> check_crs("epsg:4326"), check_crs(None)
    ('EPSG:4326', None)
    """
    if crs is None or is_metres(crs):
        return None
    name = f"EPSG:{crs}" if isinstance(crs, int) else str(crs).strip()
    match = _CODE.fullmatch(_SAME.get(name.upper(), name))
    if match is None:
        raise InputError(
            "A coordinate system must be 'metres' (a plane) or a code such as EPSG:4326."
        )
    code = f"EPSG:{int(match[1])}"
    if code != LONLAT:
        _transformers(code)  # raises if the code is unknown
    return code


def quarter(crs: str | None) -> float | None:
    """Return 90 degrees in the unit of a geographic code, else None.

    >>> quarter("EPSG:4326"), quarter(None)
    (90.0, None)
    """
    if crs is None or crs == LONLAT:
        return None if crs is None else 90.0
    _transformers(crs)
    from pyproj import CRS

    system = CRS.from_user_input(crs)
    if not system.is_geographic:
        return None
    return round(math.pi / 2 / float(system.axis_info[0].unit_conversion_factor), 9)


def to_lonlat(xy: Floats, crs: str) -> Floats:
    """Return longitude and latitude (n, 2) in degrees of coordinates (n, 2) of any code."""
    return xy if crs == LONLAT else _through(_transformers(crs)[0], xy, crs)


def from_lonlat(lonlat: Floats, crs: str) -> Floats:
    """Return coordinates (n, 2) of a code for longitude and latitude (n, 2)."""
    return lonlat if crs == LONLAT else _through(_transformers(crs)[1], lonlat, crs)


def _through(transformer: Any, xy: Floats, crs: str) -> Floats:  # noqa: ANN401 - of pyproj
    east, north = transformer.transform(xy[:, 0], xy[:, 1])
    converted = np.column_stack([east, north]).astype(np.float64)
    lost = np.flatnonzero(~np.isfinite(converted).all(axis=1))
    if len(lost):
        raise InputError(
            f"{row_numbers(lost)} cannot be placed in {crs}. Check the code, or remove them."
        )
    return converted


@lru_cache(maxsize=16)
def _transformers(code: str) -> tuple[Any, Any]:
    """Return transformers to longitude and latitude and back, always with x first."""
    try:
        from pyproj import CRS, Transformer
        from pyproj.exceptions import ProjError
    except ImportError:
        raise MissingExtraError(
            f"Coordinates in {code} need pyproj: pip install 'veil[places]', or use EPSG:4326."
        ) from None
    try:
        system, lonlat = CRS.from_user_input(code), CRS.from_user_input(LONLAT)
        if len(system.axis_info) != 2 or not (system.is_geographic or system.is_projected):
            raise InputError(
                "A coordinate system must be geographic or projected, with two horizontal axes."
                f" Got {code} instead. Use another code."
            )
        forth = Transformer.from_crs(system, lonlat, always_xy=True)
        back = Transformer.from_crs(lonlat, system, always_xy=True)
    except ProjError:
        raise InputError(f"There is no coordinate system {code}. Check the code.") from None
    return forth, back


def projjson(code: str) -> dict[str, Any]:
    """Return the description of a code as PROJJSON."""
    _transformers(code)
    from pyproj import CRS

    described: dict[str, Any] = CRS.from_user_input(code).to_json_dict()
    return described
