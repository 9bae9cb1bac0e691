"""Before and after: the surfaces of density of the true points and of a release, side by side."""

import numpy as np

from veil.core.types import Floats
from veil.places.measures.frame import Frame
from veil.places.measures.surface import CELLS, centres, hottest, surface
from veil.places.pictures.sheet import INK, Sheet, picture, warning, words
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.svg import at

SIDE, EDGE, HEAD = 300.0, 10.0, 52.0
_SHADES = ("#e3edf6", "#c3d9ec", "#9bc0de", "#6da3cd", "#4686b8", "#2a699d", "#154b7a", "#082f52")


def surfaces(original: Floats, released: Floats) -> Markup:
    """Draw the density of points (n, 2) and of a release (n, 2), both in metres, in one scale."""
    frame = Frame.of(original)
    before, after = surface(original, frame), surface(released, frame)
    top = float(max(before.max(), after.max()))
    width = 2 * SIDE + 3 * EDGE
    parts = [
        _panel(before / top, frame, EDGE, "before: the true points"),
        _panel(after / top, frame, 2 * EDGE + SIDE, "after: the release"),
        words(EDGE, 18, "Density of points; outlined: the densest tenth of the cells", 12),
        warning(width - EDGE, 18),
    ]
    says = "Two maps of density side by side, of the true points and of the release."
    return picture(width, HEAD + SIDE + EDGE, "Density before and after", says, *parts)


def _panel(cells: Floats, frame: Frame, left: float, said: str) -> Markup:
    """Draw one surface (64, 64) in eight shades, and around its hottest cells a line."""
    columns, rows = centres(frame)
    corners = np.array([[columns[0], rows[0]], [columns[-1], rows[-1]]])
    sheet = Sheet.around(corners, left, HEAD, SIDE, SIDE)
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
    return join(sheet.paper(), *painted, line, sheet.bar(), words(left, HEAD - 8, said, 12))


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
