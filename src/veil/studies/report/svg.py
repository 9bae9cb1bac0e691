"""Marks, axes and labels of our small charts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from veil.studies.report.markup import Markup, join, number, tag
from veil.studies.results import Row

SIDE = 300  # the plot's width
HEIGHT = SIDE + 12  # below 0 words have room
LEFT, TOP, RIGHT, BOTTOM = 46, 10, 14, 42
PAD = 0.05  # of the unit on each side, so that marks at 0 and 1 are whole
COLOURS = 8
Span = tuple[float, float] | None
Box = tuple[float, float, float, float]  # left, top, right, bottom

_SHAPES = (
    "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0Z",
    "M-3.6 -3.6H3.6V3.6H-3.6Z",
    "M0 -4.6L4.4 3.4H-4.4Z",
    "M0 -5L5 0L0 5L-5 0Z",
    "M0 4.6L4.4 -3.4H-4.4Z",
    "M-1.5 -4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
    "M0 -5L1.5 -1.6L5 -1.5L2.2 0.8L3.1 4.4L0 2.4L-3.1 4.4L-2.2 0.8L-5 -1.5L-1.5 -1.6Z",
    "M-4 -2.2L-2.2 -4L0 -1.8L2.2 -4L4 -2.2L1.8 0L4 2.2L2.2 4L0 1.8L-2.2 4L-4 2.2L-1.8 0Z",
    "M-4.6 -2H4.6V2H-4.6Z",
    "M-2 -4.6H2V4.6H-2Z",
    "M0 -4.8L4.6 -1.5L2.8 3.9H-2.8L-4.6 -1.5Z",
)


def unit_x(value: float) -> float:
    """Place of a value from 0 to 1 on the horizontal axis."""
    return LEFT + SIDE * (min(max(value, 0.0), 1.0) + PAD) / (1 + 2 * PAD)


def unit_y(value: float) -> float:
    """Place of a value from 0 to 1 on the vertical axis."""
    return TOP + SIDE * (1 + PAD - min(max(value, 0.0), 1.0)) / (1 + 2 * PAD)


def at(value: float) -> str:
    """Write a coordinate."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def shape(style: int) -> Markup:
    """Return the mark of a curve; the eleven shapes and eight colours repeat out of step."""
    return tag("path", class_="mark", d=_SHAPES[style % len(_SHAPES)])


def colour(style: int) -> str:
    """Return the class that gives a curve its colour."""
    return f"c{style % COLOURS}"


def bars(x: float, y: float, across: Span, along: Span) -> Markup:
    """Draw error bars around a point; all in places of the drawing."""
    d = ""
    if across and all(map(math.isfinite, across)):
        d += f"M{at(across[0])} {at(y)}H{at(across[1])}"
    if along and all(map(math.isfinite, along)):
        d += f"M{at(x)} {at(along[0])}V{at(along[1])}"
    return tag("path", class_="bars", d=d) if d else Markup("")


def text(x: float, y: float, words: str, class_: str, anchor: str = "middle") -> Markup:
    """Write words into the drawing."""
    return tag("text", words, class_=class_, x=at(x), y=at(y), text_anchor=anchor)


def frame(across: Sequence[tuple[float, str]], under: str, beside: str, top: str = "1") -> Markup:
    """Draw the grid, ticks and names of the axes; the vertical one goes from 0 to 1."""
    ends = TOP + HEIGHT, LEFT + SIDE
    parts = [tag("rect", class_="frame", x=LEFT, y=TOP, width=SIDE, height=HEIGHT)]
    for x, label in across:
        parts.append(tag("path", class_="grid", d=f"M{at(x)} {TOP}V{ends[0]}"))
        parts.append(text(x, ends[0] + 15, label, "tick"))
    for value, label in ((0.0, "0"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1.0, top)):
        y = unit_y(value)
        parts.append(tag("path", class_="grid", d=f"M{LEFT} {at(y)}H{ends[1]}"))
        parts.append(text(LEFT - 6, y + 3.5, label, "tick", "end"))
    parts.append(text(LEFT + SIDE / 2, ends[0] + 34, under, "axis"))
    turned = tag("g", text(0, 0, beside, "axis"), transform=f"translate(11 {TOP + HEIGHT / 2}) "
                 "rotate(-90)")  # fmt: skip
    return join(*parts, turned)


def drawing(identity: str, title: str, description: str, *parts: Markup) -> Markup:
    """Return the whole drawing, with its title and description for those who cannot see it."""
    width, height = LEFT + SIDE + RIGHT, TOP + HEIGHT + BOTTOM
    return tag(
        "svg",
        tag("title", title, id=f"{identity}-title"),
        tag("desc", description, id=f"{identity}-desc"),
        *parts,
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
        viewBox=f"0 0 {width} {height}",
    )


def marked(
    row: Row, style: int, place: tuple[float, float], ends: Markup, tip: str, **data: str
) -> Markup:
    """Draw one point: its error bars, its mark, and what is read on pointing at it."""
    x, y = place
    spot = tag("g", shape(style), transform=f"translate({at(x)} {at(y)})", class_="spot")
    return tag(
        "g", ends, spot, tag("title", tip), class_="point", data_spec=row.spec,
        data_value=f"{row.value:g}", **data,
    )  # fmt: skip


@dataclass
class Labels:
    """Small labels beside points, each where it covers nothing, else not at all."""

    taken: list[Box] = field(default_factory=list)
    faint: list[Box] = field(default_factory=list)  # may be covered where there is no other place

    def block(self, x: float, y: float, reach: float = 4.0) -> None:
        """Keep labels off a mark."""
        self.taken.append((x - reach, y - reach, x + reach, y + reach))

    def avoid(self, places: Sequence[tuple[float, float]]) -> None:
        """Keep labels off the marks of a curve and the line between them."""
        for x, y in places:
            self.block(x, y)
        for (x0, y0), (x1, y1) in pairwise(places):
            steps = int(math.hypot(x1 - x0, y1 - y0) // 4)
            for i in range(1, steps):
                share = i / steps
                self.block(x0 + share * (x1 - x0), y0 + share * (y1 - y0), 1.0)

    def free(self, box: Box, *, whole: bool = True) -> bool:
        """Whether a box is inside of the frame and covers nothing, or faint things only."""
        inside = box[0] > LEFT and box[2] < LEFT + SIDE and box[1] > TOP and box[3] < TOP + HEIGHT
        taken = [*self.taken, *self.faint] if whole else self.taken
        return inside and not any(_meet(box, one) for one in taken)

    def place(self, x: float, y: float, words: str) -> Markup:
        """Return the label at the first free place around the point, or nothing."""
        width = 5.2 * len(words)
        around = ((7, 3), (-7 - width, 3), (-width / 2, -7), (-width / 2, 13), (6, -6),
                  (6, 12), (-6 - width, -6), (-6 - width, 12))  # fmt: skip
        for whole, (dx, dy) in product((True, False), around):
            box = (x + dx - 1, y + dy - 8, x + dx + width + 2, y + dy + 1)
            if self.free(box, whole=whole):
                self.taken.append(box)
                return text(x + dx, y + dy, words, "value", "start")
        return Markup("")


def short(value: float) -> str:
    """Write the value of a parameter."""
    return f"{value:g}" if math.isfinite(value) else number(value)


def span(row: Row, place: Callable[[float], float]) -> Span:
    """Return the ends of a row's interval in places of the drawing."""
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return None
    return place(row.low), place(row.high)


def _meet(one: Box, other: Box) -> bool:
    return (
        one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    )  # fmt: skip
