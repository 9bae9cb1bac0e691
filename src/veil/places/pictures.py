"""Draw releases of points, as map files and in study reports."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.data.files import whole_file
from veil.drawing.maps import Surface, draw_points, draw_rose, draw_surfaces
from veil.drawing.markup import Markup, tag
from veil.places.measures import Frame, centres, hottest, surface
from veil.places.points import Points
from veil.places.projection import Flat, common
from veil.places.release import Release
from veil.studies.experiment import Cell
from veil.studies.results import Section

Kind = Literal["map", "density", "rose"]


def plot(
    masked: Points | Release,
    path: str | Path,
    original: Points | None = None,
    *,
    kind: Kind = "map",
    release: int = 0,
) -> Path:
    """Draw a release to an SVG file, completely or not at all, and return its path.

    The map has no tiles and needs no network. If the originals are passed, they are drawn, too;
    the map is then marked "not for release", and only its owner can read the file.

    Parameters
    ----------
    kind
        ``map``; with the originals also ``density`` (before and after) or ``rose`` (the
        displacements).
    """
    target = Path(path)
    if target.suffix.lower() != ".svg":
        raise InputError("A map is written as SVG. Name a file that ends in .svg.")
    svg = drawing(masked, original, kind=kind, release=release)
    with whole_file(target, private=original is not None) as part:
        part.write_text(svg, encoding="utf-8")
    return target


def drawing(
    masked: Points | Release,
    original: Points | None = None,
    *,
    kind: Kind = "map",
    release: int = 0,
) -> Markup:
    """Return the drawing of a release as SVG."""
    xy, maker = _points_of(masked, release)
    if kind not in get_args(Kind):
        raise ParameterError(
            f"The 'kind' of a drawing must be one of {', '.join(get_args(Kind))}."
        )
    if original is None and kind != "map":
        raise InputError(f"A drawing of the kind '{kind}' needs the originals. Pass them.")
    if original is None:
        return draw_points(Flat.around(xy, masked.crs).metres(xy), maker)
    common(masked.crs, original.crs)
    if len(original) != len(xy):
        raise InputError(
            f"There must be {len(original):,} released points, one per original. Got {len(xy):,}"
            " instead."
        )
    if kind == "map":
        flat = Flat.around(np.concatenate([xy, original.xy]), masked.crs)
        return draw_points(flat.metres(xy), maker, flat.metres(original.xy))
    flat = Flat.around(original.xy, masked.crs)  # as in the measures
    compare = surfaces if kind == "density" else draw_rose
    return compare(flat.metres(original.xy), flat.metres(xy))


def _points_of(masked: Points | Release, release: int) -> tuple[Floats, str]:
    if isinstance(masked, Points):
        return masked.xy, ""
    if not 0 <= release < masked.size:
        raise InputError(
            f"The 'release' must be from 0 to {masked.size - 1}. Got {release} instead."
        )
    return masked.xy[release], masked.method


def surfaces(original: Floats, released: Floats) -> Markup:
    """Draw the density of points (n, 2) and of a release (n, 2), both in metres."""
    frame = Frame.of(original)
    before, after = (_surface(surface(points, frame)) for points in (original, released))
    return draw_surfaces(before, after, *centres(frame))


def _surface(cells: Floats) -> Surface:
    hot = np.zeros(cells.size, dtype=bool)
    hot[hottest(cells)] = True
    return Surface(cells, hot.reshape(cells.shape))


MOST_PICTURES = 6  # configurations
Draw = Callable[[str, int, str], Release]

_HINT = (
    "The first release of some configurations, redrawn from their seeds. Pictures with the true"
    " points are not for release, so keep this report private."
)


def picture_sections(points: Points, cells: Sequence[Cell], draw: Draw) -> list[Section]:
    """Return a section with pictures of at most six cells."""
    parts: list[Markup] = [tag("p", _HINT, class_="hint")]
    for cell in choose_cells(cells):
        release = draw(str(cell.mechanism), cell.size, cell.release.key)
        parts += [tag("h3", str(cell.mechanism)), tag("div", *_pictures(points, release))]
    return [Section("maps", "Maps", tuple(parts), private=True)]


def choose_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return at most six cells of as many mechanisms as possible, at the ends of their curves."""
    curves: dict[str, list[Cell]] = {}
    for cell in cells:
        curves.setdefault(cell.mechanism.name, []).append(cell)
    ends = [curve[-1] for curve in curves.values()]
    ends += [curve[0] for curve in curves.values() if len(curve) > 1]
    keys = {cell.release.key for cell in ends[:MOST_PICTURES]}
    return [cell for cell in cells if cell.release.key in keys]


def _pictures(points: Points, release: Release) -> list[Markup]:
    flat = Flat.around(points.xy, points.crs)
    true, masked = flat.metres(points.xy), flat.metres(release.xy[0])
    return [draw_points(masked, release.method), surfaces(true, masked), draw_rose(true, masked)]
