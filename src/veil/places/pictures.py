"""Drawings of points: self-contained SVG, without tiles and without a network."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats
from veil.measures.plane import PlanePoint
from veil.places.measures import CELLS, Frame, centres, hottest, surface
from veil.places.points import Points
from veil.places.projection import Flat
from veil.places.release import Release
from veil.studies.experiment import Cell
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.svg import at
from veil.studies.results import Section

WARNING = "not for release"
INK, SOFT, RELEASED, TRUE = "#1b1b1b", "#6b6b6b", "#1d5c8f", "#c4431a"
_MARGIN = 0.04  # of the longer side, around the points
_FONT = "system-ui, sans-serif"
MOST_DOTS = 20_000  # points that are drawn


@dataclass(frozen=True)
class Sheet:
    """Where metres are drawn: `left`, `top` and the sides in units of the drawing."""

    left: float
    top: float
    width: float
    height: float
    west: float
    north: float
    scale: float  # units of the drawing per metre

    @classmethod
    def around(
        cls, metres: Floats, left: float, top: float, width: float, height: float
    ) -> "Sheet":
        """Return a sheet on which all points (n, 2) find room, in the middle."""
        low, high = metres.min(axis=0), metres.max(axis=0)
        spans = np.maximum(high - low, 1e-9)
        room = 1 + 2 * _MARGIN
        scale = float(min(width / spans[0], height / spans[1])) / room
        if not float((high - low).max()) > 0:
            scale = min(width, height) / 100  # one place: a hundred metres around it
        middle = (low + high) / 2
        west, north = middle[0] - width / scale / 2, middle[1] + height / scale / 2
        return cls(left, top, width, height, float(west), float(north), scale)

    def place(self, metres: Floats) -> Floats:
        """Return where points (n, 2) are in the drawing; down is south there."""
        return np.column_stack(
            [
                self.left + (metres[:, 0] - self.west) * self.scale,
                self.top + (self.north - metres[:, 1]) * self.scale,
            ]
        )

    def paper(self) -> Markup:
        """Draw the sheet itself."""
        return tag(
            "rect", x=at(self.left), y=at(self.top), width=at(self.width), height=at(self.height),
            fill="#fdfdfb", stroke="#c9c9c4", class_="sheet",
        )  # fmt: skip

    def bar(self) -> Markup:
        """Draw the scale: a round length, about a fifth of the width."""
        length = round_length(self.width / self.scale / 5)
        x, y = self.left + 10, self.top + self.height - 10
        end = x + length * self.scale
        said = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
        line = tag(
            "path", d=f"M{at(x)} {at(y - 4)}V{at(y)}H{at(end)}V{at(y - 4)}", fill="none",
            stroke=INK, stroke_width="1.5",
        )  # fmt: skip
        arrow = self.left + self.width - 14
        up = tag(
            "path", d=f"M{at(arrow)} {at(y)}v-16m-4 5l4 -6l4 6", fill="none", stroke=INK,
            stroke_width="1.5",
        )  # fmt: skip
        return join(
            tag("g", line, words(end + 6, y, said, 11), class_="scale"),
            tag("g", up, words(arrow, y - 22, "N", 11, "middle"), class_="north"),
        )


def round_length(metres: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not longer.

    >>> round_length(137.0), round_length(4900.0), round_length(0.7)
    (100.0, 2000.0, 0.5)
    """
    power = 10.0 ** math.floor(math.log10(metres))
    return max(step * power for step in (1, 2, 5) if step * power <= metres)


def words(
    x: float, y: float, text: str, size: float, anchor: str = "start", fill: str = INK
) -> Markup:
    """Write words into a drawing."""
    return tag(
        "text", text, x=at(x), y=at(y), font_family=_FONT, font_size=f"{size:g}", fill=fill,
        text_anchor=anchor,
    )  # fmt: skip


def warning(x: float, y: float) -> Markup:
    """Say that a drawing holds what must not leave."""
    return tag(
        "text", WARNING, x=at(x), y=at(y), font_family=_FONT, font_size="14", font_weight="bold",
        fill=TRUE, text_anchor="end", class_="warning",
    )  # fmt: skip


def dots(places: Floats, colour: str, wide: float, class_: str, opacity: float = 1.0) -> Markup:
    """Draw many points as one path of round dots."""
    d = "".join(f"M{at(x)} {at(y)}h0" for x, y in places.tolist())
    return tag(
        "path", d=d, fill="none", stroke=colour, stroke_width=f"{wide:g}", stroke_linecap="round",
        opacity=f"{opacity:g}", class_=class_,
    )  # fmt: skip


def picture(width: float, height: float, title: str, says: str, *parts: Markup) -> Markup:
    """Return a whole drawing, with its title and description for those who cannot see it."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", says),
        tag("rect", width=at(width), height=at(height), fill="#ffffff"),
        *parts,
        class_="map",
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"0 0 {at(width)} {at(height)}",
        width=at(width),
        height=at(height),
    )


def thin_slice(count: int, most: int = MOST_DOTS) -> slice:
    """Return which of many points are drawn: all, or every so many of them."""
    return slice(None, None, max(1, -(-count // most)))


CHART_WIDTH, CHART_HEIGHT, CHART_HEAD, CHART_EDGE = 640.0, 560.0, 34.0, 10.0
_JOINED = 2_000  # points up to which true and released ones are joined by lines


def chart(released: Floats, said: str, original: Floats | None = None) -> Markup:
    """Draw released points (n, 2) in metres; `said` is what made them.

    They are drawn from west to east, whatever row they are of: their order would be a link.
    """
    order = np.lexsort((released[:, 1], released[:, 0]))
    released, original = released[order], None if original is None else original[order]
    whole = released if original is None else np.concatenate([released, original])
    sheet = Sheet.around(
        whole,
        CHART_EDGE,
        CHART_HEAD,
        CHART_WIDTH - 2 * CHART_EDGE,
        CHART_HEIGHT - CHART_HEAD - CHART_EDGE,
    )
    shown = thin_slice(len(released))
    places = sheet.place(released[shown])
    parts = [sheet.paper()]
    if original is not None:
        parts += _true(sheet, places, original[shown])
    size = 4.5 if len(places) < 2_000 else 2.5
    parts.append(dots(places, RELEASED, size, "released", 0.75))
    parts.append(sheet.bar())
    parts.append(words(CHART_EDGE, 22, _head(len(released), len(places), said), 13))
    if original is not None:
        parts.append(warning(CHART_WIDTH - CHART_EDGE, 22))
        parts.append(
            words(CHART_WIDTH - CHART_EDGE - 8, CHART_HEAD + 18, "○ true points", 11, "end", TRUE)
        )
    says = f"{len(released):,} released points, north up."
    if original is not None:
        says += f" The true points are shown too: {WARNING}."
    return picture(CHART_WIDTH, CHART_HEIGHT, "Map of released points", says, *parts)


def _head(count: int, shown: int, said: str) -> str:
    some_of = "" if shown == count else f" ({shown:,} of them drawn)"
    return f"{count:,} released points{some_of}{': ' + said if said else ''}"


def _true(sheet: Sheet, released: Floats, original: Floats) -> list[Markup]:
    """Draw true points as rings, joined with what was released for them."""
    places = sheet.place(original)
    rings = "".join(
        f"M{at(x - 2.5)} {at(y)}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0" for x, y in places.tolist()
    )
    found = [tag("path", d=rings, fill="none", stroke=TRUE, stroke_width="1", class_="original")]
    if len(places) <= _JOINED:
        lines = "".join(
            f"M{at(x)} {at(y)}L{at(u)} {at(v)}"
            for (x, y), (u, v) in zip(places.tolist(), released.tolist(), strict=True)
        )
        found.insert(
            0, tag("path", d=lines, fill="none", stroke=SOFT, stroke_width="0.5", opacity="0.5")
        )
    return found


SECTORS = 16
ROSE_SIDE, ROSE_HEAD, ROSE_FOOT = 340.0, 34.0, 26.0
_REACH = 136.0  # of the longest petal


def rose(original: Floats, released: Floats) -> Markup:
    """Draw how points (n, 2) moved, in metres: a petal for each of sixteen directions.

    The area of a petal is the share of the points that went that way; a ring shows what even
    directions would give. Dark is the nearer half of all, light the farther.
    """
    moved = released - original
    far = np.hypot(moved[:, 0], moved[:, 1])
    width, height = ROSE_SIDE, ROSE_HEAD + ROSE_SIDE + ROSE_FOOT
    x, y = width / 2, ROSE_HEAD + ROSE_SIDE / 2
    shares, near = petals(moved)
    top = float(np.sqrt(max(shares.max(), 1 / SECTORS)))
    parts = []
    for sector in range(SECTORS):
        for amount, opacity in ((shares[sector], "0.45"), (near[sector], "0.8")):
            reach = _REACH * float(np.sqrt(amount)) / top
            parts.append(_petal(x, y, sector, reach, opacity))
    ring = _REACH * float(np.sqrt(1 / SECTORS)) / top
    d = f"M{at(x - ring)} {at(y)}a{at(ring)} {at(ring)} 0 1 0 {at(2 * ring)} 0"
    d += f"a{at(ring)} {at(ring)} 0 1 0 {at(-2 * ring)} 0"
    parts.append(tag("path", d=d, fill="none", stroke=TRUE, stroke_dasharray="4 3"))
    for label, dx, dy in (("N", 0, -1), ("E", 1, 0), ("S", 0, 1), ("W", -1, 0)):
        reach = _REACH + 14
        parts.append(words(x + dx * reach, y + dy * reach + 4, label, 12, "middle", SOFT))
    middle, most = np.quantile(far, [0.5, 0.95]).tolist()
    said = f"moved: mean {far.mean():,.0f} m, median {middle:,.0f} m, 95 % within {most:,.0f} m"
    parts.append(words(x, height - 10, said, 11, "middle"))
    parts.append(words(10, 20, "Displacement", 13, fill=INK))
    parts.append(warning(width - 10, 20))
    says = f"Directions of displacement in {SECTORS} petals; {said}."
    return picture(width, height, "Displacement rose", says, *parts)


def petals(moved: Floats) -> tuple[Floats, Floats]:
    """Return the share of points by direction (16,), north first, and of the nearer half alone.

    >>> petals(np.array([[0.0, 1.0], [5.0, 0.0]]))[0][[0, 4]].tolist()
    [0.5, 0.5]
    """
    far = np.hypot(moved[:, 0], moved[:, 1])
    azimuth = np.arctan2(moved[:, 0], moved[:, 1])
    sector = np.rint(azimuth / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    still = far == 0  # went nowhere
    near = (far <= np.median(far)) & ~still
    counts = [np.bincount(sector[one], minlength=SECTORS) for one in (~still, near)]
    return counts[0] / len(moved), counts[1] / len(moved)


def _petal(x: float, y: float, sector: int, reach: float, opacity: str) -> Markup:
    """Draw one petal as a sector of a circle."""
    middle, half = 2 * np.pi * sector / SECTORS, np.pi / SECTORS * 0.92
    points = [
        (x + reach * np.sin(middle + turn), y - reach * np.cos(middle + turn))
        for turn in (-half, half)
    ]
    (x0, y0), (x1, y1) = points
    d = f"M{at(x)} {at(y)}L{at(x0)} {at(y0)}A{at(reach)} {at(reach)} 0 0 1 {at(x1)} {at(y1)}Z"
    return tag("path", d=d, fill=RELEASED, fill_opacity=opacity, class_="petal")


SURFACE_SIDE, SURFACE_EDGE, SURFACE_HEAD = 300.0, 10.0, 52.0
_SHADES = ("#e3edf6", "#c3d9ec", "#9bc0de", "#6da3cd", "#4686b8", "#2a699d", "#154b7a", "#082f52")


def surfaces(original: Floats, released: Floats) -> Markup:
    """Draw the density of points (n, 2) and of a release (n, 2), both in metres, in one scale."""
    frame = Frame.of(original)
    before, after = surface(original, frame), surface(released, frame)
    top = float(max(before.max(), after.max()))
    width = 2 * SURFACE_SIDE + 3 * SURFACE_EDGE
    parts = [
        _panel(before / top, frame, SURFACE_EDGE, "before: the true points"),
        _panel(after / top, frame, 2 * SURFACE_EDGE + SURFACE_SIDE, "after: the release"),
        words(SURFACE_EDGE, 18, "Density of points; outlined: the densest tenth of the cells", 12),
        warning(width - SURFACE_EDGE, 18),
    ]
    says = "Two maps of density side by side, of the true points and of the release."
    return picture(
        width, SURFACE_HEAD + SURFACE_SIDE + SURFACE_EDGE, "Density before and after", says, *parts
    )


def _panel(cells: Floats, frame: Frame, left: float, said: str) -> Markup:
    """Draw one surface (64, 64) in eight shades, and around its hottest cells a line."""
    columns, rows = centres(frame)
    corners = np.array([[columns[0], rows[0]], [columns[-1], rows[-1]]])
    sheet = Sheet.around(corners, left, SURFACE_HEAD, SURFACE_SIDE, SURFACE_SIDE)
    steps = np.array([columns[1] - columns[0], rows[1] - rows[0]])
    shades = np.minimum((cells * len(_SHADES)).astype(int), len(_SHADES) - 1)
    shades[cells < 1 / (4 * len(_SHADES))] = -1  # hardly anything: left as paper
    painted = [
        tag("path", d=_runs(shades == level, columns, rows, steps, sheet), fill=colour)
        for level, colour in enumerate(_SHADES)
        if (shades == level).any()
    ]
    hot = np.zeros(CELLS * CELLS, dtype=bool)
    hot[hottest(cells)] = True
    edge = _outline(hot.reshape(CELLS, CELLS), columns, rows, steps, sheet)
    line = tag("path", d=edge, fill="none", stroke=INK, stroke_width="1", class_="hot")
    return join(
        sheet.paper(), *painted, line, sheet.bar(), words(left, SURFACE_HEAD - 8, said, 12)
    )


def _runs(mask: Floats, columns: Floats, rows: Floats, steps: Floats, sheet: Sheet) -> str:
    """Return rectangles over the runs of a mask (64, 64), row by row."""
    found = []
    for row, inside in enumerate(mask):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
        for start, stop in ends.reshape(-1, 2).tolist():
            corner = np.array([[columns[start] - steps[0] / 2, rows[row] + steps[1] / 2]])
            x, y = sheet.place(corner)[0].tolist()
            wide = (stop - start) * steps[0] * sheet.scale
            high = steps[1] * sheet.scale
            found.append(f"M{at(x)} {at(y)}h{at(wide)}v{at(high + 0.3)}h{at(-wide)}z")
    return "".join(found)


def _outline(mask: Floats, columns: Floats, rows: Floats, steps: Floats, sheet: Sheet) -> str:
    """Return the edges between cells inside and outside of a mask (64, 64)."""
    padded = np.pad(mask.astype(int), 1)
    upright = np.argwhere(np.diff(padded, axis=1)[1:-1])  # (edges, 2): row, column to its right
    level = np.argwhere(np.diff(padded, axis=0)[:, 1:-1])
    west, south = columns[0] - steps[0] / 2, rows[0] - steps[1] / 2
    wide, high = steps * sheet.scale
    found = []
    for edges, drawn in ((upright, f"v{at(-high)}"), (level, f"h{at(wide)}")):
        corners = np.column_stack([west + edges[:, 1] * steps[0], south + edges[:, 0] * steps[1]])
        found += [f"M{at(x)} {at(y)}{drawn}" for x, y in sheet.place(corners).tolist()]
    return "".join(found)


PLANE_SIDE, PLANE_LEFT, PLANE_TOP, PLANE_FOOT = 240.0, 46.0, 16.0, 44.0


def spots(rows: Sequence[PlanePoint], said: str) -> Markup:
    """Draw methods as points, joined in their order; each carries its number as ``data-stop``."""
    places = [(_x(float(row.risk)), _y(float(row.utility))) for row in rows]
    line = "M" + "L".join(f"{at(x)} {at(y)}" for x, y in places)
    marks = [
        tag(
            "g",
            tag("circle", cx=at(x), cy=at(y), r="5", fill=RELEASED),
            tag("title", f"{row.spec}: risk {row.risk:.3f}, utility {row.utility:.3f}"),
            class_="spot",
            data_stop=number,
        )
        for number, ((x, y), row) in enumerate(zip(places, rows, strict=True))
    ]
    return picture(
        PLANE_LEFT + PLANE_SIDE + 14,
        PLANE_TOP + PLANE_SIDE + PLANE_FOOT,
        "Risk and utility",
        said,
        *_axes(),
        tag("path", d=line, fill="none", stroke=SOFT, stroke_width="1"),
        *marks,
    )


def _axes() -> list[Markup]:
    frame = tag(
        "rect",
        x=at(PLANE_LEFT),
        y=at(PLANE_TOP),
        width=at(PLANE_SIDE),
        height=at(PLANE_SIDE),
        fill="#fdfdfb",
        stroke="#c9c9c4",
    )
    diagonal = tag(
        "path", d=f"M{at(_x(0))} {at(_y(0))}L{at(_x(1))} {at(_y(1))}", fill="none", stroke=SOFT,
        stroke_width="0.7", stroke_dasharray="4 3",
    )  # fmt: skip
    parts = [frame, diagonal]
    for value in (0.0, 0.5, 1.0):
        parts.append(
            words(_x(value), PLANE_TOP + PLANE_SIDE + 15, f"{value:g}", 10, "middle", SOFT)
        )
        parts.append(words(PLANE_LEFT - 6, _y(value) + 3, f"{value:g}", 10, "end", SOFT))
    parts.append(
        words(
            PLANE_LEFT + PLANE_SIDE / 2,
            PLANE_TOP + PLANE_SIDE + 34,
            "share identified →",
            11,
            "middle",
            INK,
        )
    )
    up = words(0, 0, "utility →", 11, "middle", INK)
    return [
        *parts,
        tag("g", up, transform=f"translate(12 {at(PLANE_TOP + PLANE_SIDE / 2)}) rotate(-90)"),
    ]


def _x(risk: float) -> float:
    return PLANE_LEFT + PLANE_SIDE * (0.04 + 0.92 * risk)


def _y(utility: float) -> float:
    return PLANE_TOP + PLANE_SIDE * (0.96 - 0.92 * utility)


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
    """Return at most six cells, of as many methods as there are."""
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
    return [chart(seen, release.method), surfaces(true, seen), rose(true, seen)]
