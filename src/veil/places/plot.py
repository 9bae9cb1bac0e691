"""Draw a release as a map: an SVG file that loads nothing."""

from pathlib import Path
from typing import Literal, get_args

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.data.files import whole_file
from veil.places.pictures import chart, rose, surfaces
from veil.places.points import Points
from veil.places.projection import Flat, common
from veil.places.release import Release
from veil.studies.report.markup import Markup

Kind = Literal["map", "density", "rose"]


def plot(
    masked: Points | Release,
    path: str | Path,
    original: Points | None = None,
    *,
    kind: Kind = "map",
    release: int = 0,
) -> Path:
    """Draw a release to an SVG file, whole or not at all, and return its path.

    There are no tiles and there is no network. The true points are drawn only where they are
    handed in; then "not for release" stands on the map, and the file is for its owner alone.

    Parameters
    ----------
    kind
        ``map``; or, with the originals, ``density`` before and after, or the ``rose`` of the
        displacements.
    """
    target = Path(path)
    if target.suffix.lower() != ".svg":
        raise InputError("A map is written as SVG; name a file that ends in .svg.")
    drawn = drawing(masked, original, kind=kind, release=release)
    with whole_file(target, private=original is not None) as part:
        part.write_text(drawn, encoding="utf-8")
    return target


def drawing(
    masked: Points | Release,
    original: Points | None = None,
    *,
    kind: Kind = "map",
    release: int = 0,
) -> Markup:
    """Return the drawing of a release as SVG."""
    xy, said = _seen(masked, release)
    if kind not in get_args(Kind):
        raise ParameterError(
            f"The 'kind' of a drawing must be one of {', '.join(get_args(Kind))}."
        )
    if original is None and kind != "map":
        raise InputError(f"A drawing of the kind '{kind}' needs the originals; hand them in.")
    if original is None:
        return chart(Flat.around(xy, masked.crs).metres(xy), said)
    common(masked.crs, original.crs)
    if len(original) != len(xy):
        raise InputError(
            f"There must be as many released points as originals: {len(original):,} and not"
            f" {len(xy):,}."
        )
    if kind == "map":
        flat = Flat.around(np.concatenate([xy, original.xy]), masked.crs)
        return chart(flat.metres(xy), said, flat.metres(original.xy))
    flat = Flat.around(original.xy, masked.crs)  # as the measures have it
    draw = surfaces if kind == "density" else rose
    return draw(flat.metres(original.xy), flat.metres(xy))


def _seen(masked: Points | Release, release: int) -> tuple[Floats, str]:
    if isinstance(masked, Points):
        return masked.xy, ""
    if not 0 <= release < masked.size:
        raise InputError(f"There are {masked.size} releases, from 0; there is no {release}.")
    return masked.xy[release], masked.method
