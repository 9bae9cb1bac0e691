"""The pictures of a study, for its report."""

from collections.abc import Callable, Sequence

from veil.places.flat import Flat
from veil.places.pictures.chart import chart
from veil.places.pictures.rose import rose
from veil.places.pictures.surfaces import surfaces
from veil.places.points import Points
from veil.places.release import Release
from veil.studies.experiment import Cell
from veil.studies.report.markup import Markup, tag
from veil.studies.table import Section

MOST = 6  # configurations that are drawn
Draw = Callable[[str, int, str], Release]

_HINT = (
    "The first release of some configurations, drawn again from their seeds. What was made with"
    " the true points is not for release: keep this report to yourself."
)


def pictured(points: Points, cells: Sequence[Cell], draw: Draw) -> list[Section]:
    """Return a section with pictures of some cells: the ends of each curve first."""
    parts: list[Markup] = [tag("p", _HINT, class_="hint")]
    for cell in chosen(cells):
        release = draw(str(cell.mechanism), cell.size, cell.release.key)
        parts += [tag("h3", str(cell.mechanism)), tag("div", *_drawn(points, release))]
    return [Section("maps", "Maps", tuple(parts), private=True)]


def chosen(cells: Sequence[Cell]) -> list[Cell]:
    """Return at most six cells, of as many methods as there are."""
    curves: dict[str, list[Cell]] = {}
    for cell in cells:
        curves.setdefault(cell.mechanism.name, []).append(cell)
    ends = [curve[-1] for curve in curves.values()]
    ends += [curve[0] for curve in curves.values() if len(curve) > 1]
    keys = {cell.release.key for cell in ends[:MOST]}
    return [cell for cell in cells if cell.release.key in keys]


def _drawn(points: Points, release: Release) -> list[Markup]:
    flat = Flat.around(points.xy, points.crs)
    true, seen = flat.metres(points.xy), flat.metres(release.xy[0])
    return [chart(seen, release.method), surfaces(true, seen), rose(true, seen)]
