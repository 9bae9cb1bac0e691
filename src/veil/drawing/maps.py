"""Maps of points: positions, densities and the directions of moves, without tiles or a network.

Points are given in metres, north up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats
from veil.drawing.markup import Markup, join, tag
from veil.drawing.svg import Colour, at, paint, picture, words

WARNING = "not for release"
_MARGIN = 0.04  # of the longer side, around the points
MOST_DOTS = 20_000  # points that are drawn
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Sheet:
    """A rectangle of the drawing in its units, and the metres that it shows."""

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
        """Return a sheet that holds all points (n, 2), in the middle."""
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
        """Return the coordinates of points (n, 2) in the drawing, where down is south."""
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
            **paint("sheet", "rule"),
        )  # fmt: skip

    def bar(self) -> Markup:
        """Draw the scale, a round length of about a fifth of the width, and where north is."""
        length = round_length(self.width / self.scale / 5)
        x, y = self.left + 10, self.top + self.height - 10
        end = x + length * self.scale
        label = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
        arrow = self.left + self.width - 14
        outline = {"stroke_width": "1.5", **paint(stroke="ink")}
        return join(
            tag("path", d=f"M{at(x)} {at(y - 4)}V{at(y)}H{at(end)}V{at(y - 4)}", **outline),
            words(end + 6, y, label),
            tag("path", d=f"M{at(arrow)} {at(y)}v-16m-4 5l4 -6l4 6", **outline),
            words(arrow, y - 22, "N", anchor="middle"),
        )


def round_length(metres: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not longer.

    >>> round_length(137.0), round_length(4900.0), round_length(0.7)
    (100.0, 2000.0, 0.5)
    """
    power = 10.0 ** math.floor(math.log10(metres))
    return max(step * power for step in (1, 2, 5) if step * power <= metres)


def warning(x: float, y: float) -> Markup:
    """Mark a drawing that holds originals."""
    return words(x, y, WARNING, 14, "end", "alert", class_="warning", font_weight="bold")


def dots(places: Floats, colour: Colour, width: float, class_: str, opacity: float) -> Markup:
    """Draw many points as one path of round dots."""
    d = "".join(f"M{at(x)} {at(y)}h0" for x, y in places.tolist())
    return tag(
        "path", d=d, stroke_width=f"{width:g}", stroke_linecap="round", opacity=f"{opacity:g}",
        **paint(stroke=colour, class_=class_),
    )  # fmt: skip


def thin_slice(count: int, most: int = MOST_DOTS) -> slice:
    """Return which of many points are drawn: all, or one of every few."""
    return slice(None, None, max(1, -(-count // most)))


_WIDTH, _HEIGHT, _HEAD, _EDGE = 640.0, 560.0, 34.0, 10.0
_JOINED = 2_000  # points up to which true and released ones are joined by lines


def draw_points(released: Floats, maker: str, original: Floats | None = None) -> Markup:
    """Draw released points (n, 2) on a map that names the mechanism, their `maker`.

    They are drawn from west to east, because the order of rows would link them to the originals.
    """
    order = np.lexsort((released[:, 1], released[:, 0]))
    released, original = released[order], None if original is None else original[order]
    whole = released if original is None else np.concatenate([released, original])
    sheet = Sheet.around(whole, _EDGE, _HEAD, _WIDTH - 2 * _EDGE, _HEIGHT - _HEAD - _EDGE)
    shown = thin_slice(len(released))
    places = sheet.place(released[shown])
    parts = [sheet.paper()]
    if original is not None:
        parts += _true(sheet, places, original[shown])
    size = 4.5 if len(places) < 2_000 else 2.5
    parts.append(dots(places, "after", size, "released", 0.75))
    parts.append(sheet.bar())
    parts.append(words(_EDGE, 22, _heading(len(released), len(places), maker), 13))
    if original is not None:
        parts.append(warning(_WIDTH - _EDGE, 22))
        parts.append(words(_WIDTH - _EDGE - 8, _HEAD + 18, "○ true points", 11, "end", "alert"))
    says = f"{len(released):,} released points, north up."
    if original is not None:
        says += f" The true points are shown too: {WARNING}."
    return picture(_WIDTH, _HEIGHT, "Map of released points", says, *parts)


def _heading(count: int, shown: int, maker: str) -> str:
    sample = "" if shown == count else f" ({shown:,} of them drawn)"
    return f"{count:,} released points{sample}{': ' + maker if maker else ''}"


def _true(sheet: Sheet, released: Floats, original: Floats) -> list[Markup]:
    """Draw true points as rings, each joined with the point that was released for it."""
    places = sheet.place(original)
    rings = "".join(
        f"M{at(x - 2.5)} {at(y)}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0" for x, y in places.tolist()
    )
    parts = [tag("path", d=rings, stroke_width="1", **paint(stroke="alert", class_="original"))]
    if len(places) <= _JOINED:
        lines = "".join(
            f"M{at(x)} {at(y)}L{at(u)} {at(v)}"
            for (x, y), (u, v) in zip(places.tolist(), released.tolist(), strict=True)
        )
        joint = tag("path", d=lines, stroke_width="0.5", opacity="0.5", **paint(stroke="soft"))
        parts.insert(0, joint)
    return parts


SECTORS = 16
_ROSE, _FOOT = 340.0, 26.0
_REACH = 136.0  # of the longest petal


def draw_rose(original: Floats, released: Floats) -> Markup:
    """Draw how points (n, 2) moved: a petal for each of sixteen directions.

    The area of a petal is the share of the points that moved that way; a ring shows petals of
    equal size. The nearer half of all points is dark, the farther one light.
    """
    moved = released - original
    far = np.hypot(moved[:, 0], moved[:, 1])
    width, height = _ROSE, _HEAD + _ROSE + _FOOT
    x, y = width / 2, _HEAD + _ROSE / 2
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
    parts.append(tag("path", d=d, stroke_dasharray="4 3", **paint(stroke="alert")))
    for label, dx, dy in (("N", 0, -1), ("E", 1, 0), ("S", 0, 1), ("W", -1, 0)):
        reach = _REACH + 14
        parts.append(words(x + dx * reach, y + dy * reach + 4, label, 12, "middle", "soft"))
    middle, most = np.quantile(far, [0.5, 0.95]).tolist()
    moves = f"moved: mean {far.mean():,.0f} m, median {middle:,.0f} m, 95 % within {most:,.0f} m"
    parts.append(words(x, height - 10, moves, anchor="middle"))
    parts.append(words(10, 20, "Displacement", 13))
    parts.append(warning(width - 10, 20))
    says = f"Directions of displacement in {SECTORS} petals; {moves}."
    return picture(width, height, "Displacement rose", says, *parts)


def petals(moved: Floats) -> tuple[Floats, Floats]:
    """Return the share of points by direction (16,), north first, and that of the nearer half.

    >>> petals(np.array([[0.0, 1.0], [5.0, 0.0]]))[0][[0, 4]].tolist()
    [0.5, 0.5]
    """
    far = np.hypot(moved[:, 0], moved[:, 1])
    azimuth = np.arctan2(moved[:, 0], moved[:, 1])
    sector = np.rint(azimuth / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    moving = far > 0
    near = (far <= np.median(far)) & moving
    counts = [np.bincount(sector[kind], minlength=SECTORS) for kind in (moving, near)]
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
    return tag("path", d=d, fill_opacity=opacity, **paint("after", class_="petal"))


_SURFACE, _SURFACE_HEAD = 300.0, 52.0
_SHADES = ("#e3edf6", "#c3d9ec", "#9bc0de", "#6da3cd", "#4686b8", "#2a699d", "#154b7a", "#082f52")


@dataclass(frozen=True, eq=False)
class Surface:
    """Densities (rows, columns) by cells going north, and which of the cells are outlined."""

    cells: Floats
    outlined: Mask


def draw_surfaces(before: Surface, after: Surface, columns: Floats, rows: Floats) -> Markup:
    """Draw the densities of points and of a release in one scale.

    `columns` and `rows` are the middles of the cells in metres.
    """
    top = float(max(before.cells.max(), after.cells.max()))
    width = 2 * _SURFACE + 3 * _EDGE
    parts = [
        *_panel(before, top, columns, rows, _EDGE, "before: the true points"),
        *_panel(after, top, columns, rows, 2 * _EDGE + _SURFACE, "after: the release"),
        words(_EDGE, 18, "Density of points; outlined: the densest tenth of the cells", 12),
        warning(width - _EDGE, 18),
    ]
    says = "Two maps of density side by side, of the true points and of the release."
    height = _SURFACE_HEAD + _SURFACE + _EDGE
    return picture(width, height, "Density before and after", says, *parts)


def _panel(
    surface: Surface, top: float, columns: Floats, rows: Floats, left: float, title: str
) -> Sequence[Markup]:
    """Draw one surface in eight shades, with a line around the outlined cells."""
    corners = np.array([[columns[0], rows[0]], [columns[-1], rows[-1]]])
    sheet = Sheet.around(corners, left, _SURFACE_HEAD, _SURFACE, _SURFACE)
    steps = np.array([columns[1] - columns[0], rows[1] - rows[0]])
    west, south = columns[0] - steps[0] / 2, rows[0] - steps[1] / 2
    shares = surface.cells / top
    shades = np.minimum((shares * len(_SHADES)).astype(int), len(_SHADES) - 1)
    shades[shares < 1 / (4 * len(_SHADES))] = -1  # hardly anything: left as paper
    painted = [
        tag("path", d=_runs(shades == level, west, south, steps, sheet), fill=colour,
            class_=f"shade-{level}")
        for level, colour in enumerate(_SHADES)
        if (shades == level).any()
    ]  # fmt: skip
    edge = _outline(surface.outlined, west, south, steps, sheet)
    line = tag("path", d=edge, stroke_width="1", **paint(stroke="ink", class_="hot"))
    label = words(left, _SURFACE_HEAD - 8, title, 12)
    return [sheet.paper(), *painted, line, sheet.bar(), label]


def _runs(mask: Mask, west: float, south: float, steps: Floats, sheet: Sheet) -> str:
    """Return rectangles over the runs of a mask, row by row."""
    parts = []
    for row, inside in enumerate(mask):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
        for start, stop in ends.reshape(-1, 2).tolist():
            corner = np.array([[west + start * steps[0], south + (row + 1) * steps[1]]])
            x, y = sheet.place(corner)[0].tolist()
            width, height = (stop - start) * steps[0] * sheet.scale, steps[1] * sheet.scale
            parts.append(f"M{at(x)} {at(y)}h{at(width)}v{at(height + 0.3)}h{at(-width)}z")
    return "".join(parts)


def _outline(mask: Mask, west: float, south: float, steps: Floats, sheet: Sheet) -> str:
    """Return the edges between cells inside and outside of a mask."""
    padded = np.pad(mask.astype(int), 1)
    upright = np.argwhere(np.diff(padded, axis=1)[1:-1])  # (edges, 2): row, column to its right
    level = np.argwhere(np.diff(padded, axis=0)[:, 1:-1])
    width, height = steps * sheet.scale
    parts = []
    for edges, stroke in ((upright, f"v{at(-height)}"), (level, f"h{at(width)}")):
        corners = np.column_stack([west + edges[:, 1] * steps[0], south + edges[:, 0] * steps[1]])
        parts += [f"M{at(x)} {at(y)}{stroke}" for x, y in sheet.place(corners).tolist()]
    return "".join(parts)
