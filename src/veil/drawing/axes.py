"""Axes, marks, labels and legends of charts with curves.

Vertical axes go from 0 to 1. Colours are classes of `picture.css`.
"""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from veil.drawing.markup import Markup, join, number, tag
from veil.drawing.svg import at

SIDE = 300  # width of the plot
HEIGHT = SIDE + 12  # with space for labels below 0
LEFT, TOP, RIGHT, BOTTOM = 46, 10, 14, 42
PAD = 0.05  # of the unit on each side, so that marks at 0 and 1 are whole
COLOURS = 8
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
Span = tuple[float, float]
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


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve.

    Attributes
    ----------
    x, y
        Its coordinates.
    across, along
        Bounds of the intervals of x and of y, if known.
    name
        Its name, such as the spec of a mechanism.
    label
        A few characters next to the mark, if they fit.
    tip
        Text of the tooltip.
    ring
        Whether it can be chosen.
    facts
        Further columns of the table of all points.
    data
        Attributes for scripts, each with ``data-`` before its name.
    """

    x: float
    y: float
    across: Span | None = None
    along: Span | None = None
    name: str = ""
    label: str = ""
    tip: str = ""
    ring: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in their order, with a number that gives them their colour and mark."""

    name: str
    points: tuple[Point, ...]
    style: int = 0
    mark: int | None = None  # another mark than that of the style

    @property
    def classes(self) -> str:
        """The classes that give the curve its colour; a second round of colours is dashed."""
        return f"curve {colour(self.style)}" + (" dashed" if self.style >= COLOURS else "")


def unit_x(value: float) -> float:
    """Place of a value from 0 to 1 on the horizontal axis."""
    return LEFT + SIDE * (min(max(value, 0.0), 1.0) + PAD) / (1 + 2 * PAD)


def unit_y(value: float) -> float:
    """Place of a value from 0 to 1 on the vertical axis."""
    return TOP + SIDE * (1 + PAD - min(max(value, 0.0), 1.0)) / (1 + 2 * PAD)


class LogScale:
    """The logarithmic horizontal axis of counts from `low` to `high`; labels fit behind it."""

    def __init__(self, counts: Iterable[float]) -> None:
        self.counts = sorted(set(counts))
        self.low, self.high = max(self.counts[0], 1), max(self.counts[-1], 1)

    def place(self, count: float) -> float:
        """Place of a count; a single one is in the middle."""
        left, width = LEFT + 16, SIDE - 56
        if self.low == self.high:
            return left + width / 2
        return left + width * math.log(max(count, 1) / self.low) / math.log(self.high / self.low)

    def ticks(self, usual: Sequence[float]) -> list[tuple[float, str]]:
        """Return labelled ticks: the first and last count, the usual ones, and others that fit."""
        inside = [count for count in usual if count in self.counts]
        labels: list[float] = []
        for count in dict.fromkeys([self.low, self.high, *inside, *self.counts]):
            if all(abs(self.place(count) - self.place(other)) > 18 for other in labels):
                labels.append(count)
        return [(self.place(count), f"{count:g}") for count in labels]


def shape(style: int) -> Markup:
    """Return the mark of a curve; the eleven shapes and eight colours repeat out of step."""
    return tag("path", class_="mark", d=_SHAPES[style % len(_SHAPES)])


def colour(style: int) -> str:
    """Return the class that gives a curve its colour."""
    return f"c{style % COLOURS}"


def text(x: float, y: float, words: str, class_: str, anchor: str = "middle") -> Markup:
    """Write words into a chart."""
    return tag("text", words, class_=class_, x=at(x), y=at(y), text_anchor=anchor)


def frame(ticks: Sequence[tuple[float, str]], below: str, left: str) -> Markup:
    """Draw the grid, the ticks and the names of the axes."""
    bottom, right = TOP + HEIGHT, LEFT + SIDE
    parts = [tag("rect", class_="frame", x=LEFT, y=TOP, width=SIDE, height=HEIGHT)]
    for x, label in ticks:
        parts.append(tag("path", class_="grid", d=f"M{at(x)} {TOP}V{bottom}"))
        parts.append(text(x, bottom + 15, label, "tick"))
    for value in QUARTERS:
        y = unit_y(value)
        parts.append(tag("path", class_="grid", d=f"M{LEFT} {at(y)}H{right}"))
        parts.append(text(LEFT - 6, y + 3.5, f"{value:g}", "tick", "end"))
    parts.append(text(LEFT + SIDE / 2, bottom + 34, below, "axis"))
    turned = f"translate(11 {TOP + HEIGHT / 2}) rotate(-90)"
    return join(*parts, tag("g", text(0, 0, left, "axis"), transform=turned))


def level(value: float, class_: str) -> Markup:
    """Draw a thin horizontal line at a value."""
    return tag("path", class_=class_, d=f"M{LEFT} {at(unit_y(value))}H{LEFT + SIDE}")


def chart(
    identity: str, title: str, description: str, *parts: Markup, file: bool = False
) -> Markup:
    """Return the whole chart, with its title and description for screen readers.

    `identity` is unique on a page. A `file` is a complete document.
    """
    width, height = LEFT + SIDE + RIGHT, TOP + HEIGHT + BOTTOM
    return tag(
        "svg",
        tag("title", title, id=f"{identity}-title"),
        tag("desc", description, id=f"{identity}-desc"),
        *parts,
        class_="chart",
        xmlns="http://www.w3.org/2000/svg" if file else None,
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
        viewBox=f"0 0 {width} {height}",
        width=width if file else None,
        height=height if file else None,
    )


def draw_line(places: Sequence[tuple[float, float]]) -> list[Markup]:
    """Join the places of a curve, if there are several."""
    d = "L".join(f"{at(x)} {at(y)}" for x, y in places)
    return [tag("path", class_="line", d=f"M{d}")] if len(places) > 1 else []


def draw_point(
    point: Point, style: int, place: tuple[float, float], across: Span | None, along: Span | None
) -> Markup:
    """Draw one point with its intervals, all in places of the drawing, and its tip."""
    x, y = place
    parts = []
    if point.ring:
        parts.append(tag("circle", class_="ring", cx=at(x), cy=at(y), r=8))
    bars = f"M{at(across[0])} {at(y)}H{at(across[1])}" if across else ""
    bars += f"M{at(x)} {at(along[0])}V{at(along[1])}" if along else ""
    if bars:
        parts.append(tag("path", class_="bars", d=bars))
    mark = tag("g", shape(style), transform=f"translate({at(x)} {at(y)})", class_="spot")
    data = {f"data_{name}": value for name, value in point.data.items()}
    return tag(
        "g", *parts, mark, tag("title", point.tip), class_="point", data_spec=point.name, **data
    )


def legend(names: Mapping[str, int], shown: Container[str] | None = None) -> Markup:
    """Return the names of curves, each next to its line and mark, by their styles.

    Names that are not `shown` at first open on request; by default all are.
    """
    first = [name for name in names if shown is None or name in shown]
    rest = [name for name in names if name not in first]
    parts = [tag("ul", *(_entry(name, names[name]) for name in first))]
    if rest:
        entries = (_entry(name, names[name], "rest") for name in rest)
        summary = tag("summary", f"{len(rest)} further curves")
        parts.append(tag("details", summary, tag("ul", *entries)))
    return tag("div", *parts, class_="legend")


def _entry(name: str, style: int, class_: str | None = None) -> Markup:
    sample = tag(
        "svg",
        tag("path", class_="line", d="M0 7H26"),
        tag("g", shape(style), transform="translate(13 7)"),
        viewBox="0 0 26 14",
        class_=Curve(name, (), style).classes,
        aria_hidden="true",
    )
    return tag("li", sample, tag("span", name), data_curve=name, class_=class_)


@dataclass
class Labels:
    """Small labels next to points, each where it covers nothing, or left out."""

    taken: list[Box] = field(default_factory=list)
    faint: list[Box] = field(default_factory=list)  # may be covered if there is no other place

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
        """Return whether a box is inside of the frame and covers nothing, or faint things only."""
        inside = box[0] > LEFT and box[2] < LEFT + SIDE and box[1] > TOP and box[3] < TOP + HEIGHT
        taken = [*self.taken, *self.faint] if whole else self.taken
        return inside and not any(_overlap(box, other) for other in taken)

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


def _overlap(box: Box, other: Box) -> bool:
    return (
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
    )  # fmt: skip


def spread(places: Sequence[float], gap: float = 10.0) -> list[float]:
    """Move labels apart so that each has a line to itself, as near to its place as can be.

    >>> spread([50.0, 52.0, 90.0])
    [50.0, 60.0, 90.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for before, here in pairwise(order):
        moved[here] = max(moved[here], moved[before] + gap)
    limit = float(TOP + SIDE - 4)
    for here in reversed(order):
        moved[here] = min(moved[here], limit)
        limit = moved[here] - gap
    return moved


def short(value: float) -> str:
    """Write the value of a parameter."""
    return f"{value:g}" if math.isfinite(value) else number(value)


def finite(low: float, high: float) -> Span | None:
    """Return an interval, or None if it is not known."""
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
