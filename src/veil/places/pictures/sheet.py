"""A sheet of paper for a map: north is up, both axes have one scale, and a bar says which."""

import math
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.svg import at

WARNING = "not for release"
INK, SOFT, RELEASED, TRUE = "#1b1b1b", "#6b6b6b", "#1d5c8f", "#c4431a"
_MARGIN = 0.04  # of the longer side, around the points
_FONT = "system-ui, sans-serif"
MOST = 20_000  # points that are drawn


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


def some(count: int, most: int = MOST) -> slice:
    """Return which of many points are drawn: all, or every so many of them."""
    return slice(None, None, max(1, -(-count // most)))
