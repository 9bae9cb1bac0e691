"""Draw releases of points: maps as files, and pictures in reports of studies."""

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
    """Draw a release to an SVG file, whole or not at all, and return its path.

    There are no tiles and there is no network. True points are drawn only if they are passed; the
    map is then marked "not for release", and only its owner may read the file.

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
    xy, maker = _points_of(masked, release)
    if kind not in get_args(Kind):
        raise ParameterError(
            f"The 'kind' of a drawing must be one of {', '.join(get_args(Kind))}."
        )
    if original is None and kind != "map":
        raise InputError(f"A drawing of the kind '{kind}' needs the originals; hand them in.")
    if original is None:
        return draw_points(Flat.around(xy, masked.crs).metres(xy), maker)
    common(masked.crs, original.crs)
    if len(original) != len(xy):
        raise InputError(
            f"There must be as many released points as originals: {len(original):,} and not"
            f" {len(xy):,}."
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
        raise InputError(f"There are {masked.size} releases, from 0; there is no {release}.")
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


MOST_PICTURES = 6  # configurations that are drawn
Draw = Callable[[str, int, str], Release]

_HINT = (
    "The first release of some configurations, drawn again from their seeds. What was made with"
    " the true points is not for release: keep this report to yourself."
)


def picture_sections(points: Points, cells: Sequence[Cell], draw: Draw) -> list[Section]:
    """Return a section with pictures of some cells: the ends of each curve first."""
    parts: list[Markup] = [tag("p", _HINT, class_="hint")]
    for cell in choose_cells(cells):
        release = draw(str(cell.mechanism), cell.size, cell.release.key)
        parts += [tag("h3", str(cell.mechanism)), tag("div", *_drawn(points, release))]
    return [Section("maps", "Maps", tuple(parts), private=True)]


def choose_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return at most six cells, of as many mechanisms as possible."""
    curves: dict[str, list[Cell]] = {}
    for cell in cells:
        curves.setdefault(cell.mechanism.name, []).append(cell)
    ends = [curve[-1] for curve in curves.values()]
    ends += [curve[0] for curve in curves.values() if len(curve) > 1]
    keys = {cell.release.key for cell in ends[:MOST_PICTURES]}
    return [cell for cell in cells if cell.release.key in keys]


def _drawn(points: Points, release: Release) -> list[Markup]:
    flat = Flat.around(points.xy, points.crs)
    true, seen = flat.metres(points.xy), flat.metres(release.xy[0])
    return [draw_points(seen, release.method), surfaces(true, seen), draw_rose(true, seen)]
