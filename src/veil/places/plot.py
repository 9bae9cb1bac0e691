"""Draw a release as a map: an SVG file that loads nothing."""

from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.data.files import whole_file
from veil.places.flat import Flat
from veil.places.pictures.chart import chart
from veil.places.points import Points
from veil.places.projection import common
from veil.places.release import Release
from veil.studies.report.markup import Markup


def plot(
    masked: Points | Release, path: str | Path, original: Points | None = None, *, release: int = 0
) -> Path:
    """Write the map of a release to an SVG file, whole or not at all, and return its path.

    There are no tiles and there is no network. The true points are drawn only where they are
    handed in; then "not for release" stands on the map, and the file is for its owner alone.
    """
    target = Path(path)
    if target.suffix.lower() != ".svg":
        raise InputError("A map is written as SVG; name a file that ends in .svg.")
    drawn = drawing(masked, original, release=release)
    with whole_file(target, private=original is not None) as part:
        part.write_text(drawn, encoding="utf-8")
    return target


def drawing(
    masked: Points | Release, original: Points | None = None, *, release: int = 0
) -> Markup:
    """Return the map of a release as SVG."""
    xy, said = _seen(masked, release)
    if original is None:
        return chart(Flat.around(xy, masked.crs).metres(xy), said)
    common(masked.crs, original.crs)
    if len(original) != len(xy):
        raise InputError(
            f"There must be as many released points as originals: {len(original):,} and not"
            f" {len(xy):,}."
        )
    flat = Flat.around(np.concatenate([xy, original.xy]), masked.crs)
    return chart(flat.metres(xy), said, flat.metres(original.xy))


def _seen(masked: Points | Release, release: int) -> tuple[Floats, str]:
    if isinstance(masked, Points):
        return masked.xy, ""
    if not 0 <= release < masked.size:
        raise InputError(f"There are {masked.size} releases, from 0; there is no {release}.")
    return masked.xy[release], masked.method
