"""Points of a frame of geopandas, which is accepted and never required."""

from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.places.crs import check_crs
from veil.places.formats.columns import Named
from veil.places.numbered import numbered
from veil.places.points import Points


def is_frame(source: object) -> bool:
    """Tell whether something is a frame with geometries."""
    return hasattr(source, "geometry") and hasattr(source, "columns")


def as_points(source: Any) -> Points:  # noqa: ANN401 - Points, or a frame
    """Return points as they are, and those of a frame."""
    if isinstance(source, Points):
        return source
    if not is_frame(source):
        raise InputError("What is protected must be Points; read a file with places.load.")
    return read_frame(source, Named(), None)


def read_frame(frame: Any, named: Named, crs: str | None) -> Points:  # noqa: ANN401
    """Read the geometries of a frame; its other columns stand beside the points."""
    kinds = np.asarray(frame.geometry.geom_type, dtype=object)
    bad = np.flatnonzero(kinds != "Point")
    if len(bad):
        raise InputError(f"{numbered(bad)} must be a point; leave out what is none.")
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
