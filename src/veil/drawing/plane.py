"""The risk-utility plane: for reports and pages, as a table, for notebooks and for terminals.

Risk is on the horizontal axis, utility on the vertical one, both from 0 to 1. Curves are given as
numbers and labels. Every picture has a table with the same figures.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from veil.drawing import axes
from veil.drawing import page as pages
from veil.drawing.axes import Curve, Labels, Point, Span, unit_x, unit_y
from veil.drawing.markup import Markup, Section, interval, join, number, tag
from veil.drawing.svg import at

CORNERS = (
    (0.0, 0.0, "no utility"),
    (1.0, 1.0, "no privacy"),
    (0.0, 1.0, "optimal"),
    (1.0, 0.0, "trash"),
)
Figure = tuple[float, float, float]  # a value and its interval


class Estimated(Protocol):
    """A number with its interval."""

    def __float__(self) -> float: ...

    @property
    def low(self) -> float:
        """Lower end of the interval."""

    @property
    def high(self) -> float:
        """Upper end of the interval."""


@dataclass(frozen=True, slots=True)
class Plane:
    """What is on one plane.

    Attributes
    ----------
    curves
        Their points go from the most private to the most useful.
    utility
        How utility is measured.
    chance
        The risk that a blind guess reaches.
    plain
        The utility without protection, and what that is called.
    scores
        The QuIPU score of each curve.
    """

    title: str
    curves: tuple[Curve, ...]
    utility: str = ""
    chance: float | None = None
    plain: tuple[str, float] | None = None
    scores: Mapping[str, float] = field(default_factory=dict)


def figure_of(value: Estimated) -> Figure:
    """Return an estimate as its value and the ends of its interval."""
    return float(value), value.low, value.high


def place(
    name: str,
    risk: Figure,
    utility: Figure,
    *,
    heading: str = "",
    label: str = "",
    ring: bool = False,
    facts: Mapping[str, str] | None = None,
    data: Mapping[str, str] | None = None,
) -> Point:
    """Return a point of the plane; its tip has the heading, or the name, and both figures."""
    tip = (
        f"{heading or name}\n"
        f"risk {number(risk[0])} {interval(*risk[1:])}\n"
        f"utility {number(utility[0])} {interval(*utility[1:])}"
    )
    figures = {"risk": f"{risk[0]:.6g}", "utility": f"{utility[0]:.6g}"}
    return Point(
        risk[0], utility[0], _span(risk), _span(utility), name, label, tip, ring,
        facts or {}, {**figures, **(data or {})},
    )  # fmt: skip


def _span(figure: Figure) -> Span | None:
    return axes.finite(*figure[1:]) if figure[1] != figure[2] else None


def draw(
    plane: Plane, identity: str, shown: Container[str] | None = None, *, file: bool = False
) -> Markup:
    """Draw a plane.

    Of curves not in `shown`, only points that can be chosen are visible until a script shows the
    rest. `identity` is unique on a page; a `file` is a complete document.
    """
    first = [curve for curve in plane.curves if shown is None or curve.name in shown]
    rest = [curve for curve in plane.curves if curve not in first]
    labels = Labels()
    for x, y, _ in CORNERS:
        labels.block(unit_x(x), unit_y(y))
        _block_corner(labels, x, y)
    for curve in first:
        labels.avoid(_places(curve))
    for curve in plane.curves:
        _block_points(labels, curve, bars=curve in first)
    levels = _levels(plane, labels)
    front = [_curve(curve, labels) for curve in first]
    for curve in rest:  # their labels stay clear of the others, too
        labels.avoid(_places(curve))
    behind = [_curve(curve, labels, " rest") for curve in rest]
    parts = (_ground(plane.utility), levels, *behind, *front)
    return axes.chart(identity, plane.title, _describe(plane), *parts, file=file)


def draw_stops(name: str, stops: Sequence[tuple[str, Figure, Figure]]) -> Markup:
    """Draw the strengths of one mechanism, each with its spec, risk and utility.

    Each point carries its number as ``data-stop``, so that a script can choose it.
    """
    points = tuple(
        place(spec, risk, utility, ring=True, data={"stop": str(number)})
        for number, (spec, risk, utility) in enumerate(stops)
    )
    return draw(Plane("Risk and utility", (Curve(name, points),)), "stops", file=True)


def _ground(utility: str) -> Markup:
    ticks = [(unit_x(value), f"{value:g}") for value in axes.QUARTERS]
    x0, x1, y0, y1 = (at(f(v)) for f in (unit_x, unit_y) for v in (0.0, 1.0))
    measured = f"utility ({utility}) →" if utility else "utility →"
    parts = [
        tag("path", class_="gain", d=f"M{x0} {y0}L{x1} {y1}H{x0}Z"),
        axes.frame(ticks, "risk (attacker’s success) →", measured),
        tag("path", class_="diagonal", d=f"M{x0} {y0}L{x1} {y1}"),
    ]
    for risk, worth, name in CORNERS:
        x, y = unit_x(risk), unit_y(worth)
        side, anchor = (-1, "end") if risk else (1, "start")
        aside, down = (9 * side, 0) if worth else (4 * side, 19)  # points crowd at no utility
        parts.append(tag("circle", class_="corner", cx=at(x), cy=at(y), r=3))
        parts.append(axes.text(x + aside, y + down, name, "named", anchor))
    return join(*parts)


def _block_corner(labels: Labels, x: float, y: float) -> None:
    left = unit_x(x) - (65 if x else 5)
    top = unit_y(y) + (-10 if y else 9)
    labels.taken.append((left, top, left + 70, top + 12))


def _block_points(labels: Labels, curve: Curve, *, bars: bool) -> None:
    """Keep labels off rings, and off the bars of curves that are seen."""
    for point, (x, y) in zip(curve.points, _places(curve), strict=True):
        if point.ring:
            labels.block(x, y, 8.0)
        across, along = _ends(point)
        if bars and across:
            labels.faint.append((across[0], y - 1, across[1], y + 1))
        if bars and along:
            labels.faint.append((x - 1, along[1], x + 1, along[0]))


def _levels(plane: Plane, labels: Labels) -> Markup:
    """Draw the thin lines: the risk of a blind guess, and the utility without protection."""
    parts = []
    top, left, right = axes.TOP, axes.LEFT, axes.LEFT + axes.SIDE
    if plane.chance is not None:
        d = f"M{at(unit_x(plane.chance))} {top}V{top + axes.HEIGHT}"
        parts.append(tag("path", class_="chance", d=d))
    if plane.plain is not None:
        name, worth = plane.plain
        parts.append(axes.level(worth, "plain"))
        places = [
            (x, unit_y(worth) + down)
            for down in (-4, -16, 12)
            for x in (right - 100, left + 20, left + 110)
        ]
        boxes = [(x, y - 9, x + 95, y + 3) for x, y in places]
        i = next((i for i, box in enumerate(boxes) if labels.free(box)), 0)
        labels.taken.append(boxes[i])
        parts.append(axes.text(*places[i], f"{name} {number(worth)}", "level", "start"))
    return join(*parts)


def _curve(curve: Curve, labels: Labels, rest: str = "") -> Markup:
    places = _places(curve)
    parts = axes.draw_line(places)
    for point, spot in zip(curve.points, places, strict=True):
        parts.append(axes.draw_point(point, curve.style, spot, *_ends(point)))
    count = len(places)
    for i in sorted(range(count), key=lambda i: min(i, count - 1 - i)):  # the ends first
        if curve.points[i].label:
            parts.append(labels.place(*places[i], curve.points[i].label))
    return tag("g", *parts, class_=curve.classes + rest, data_curve=curve.name)


def _places(curve: Curve) -> list[tuple[float, float]]:
    return [(unit_x(point.x), unit_y(point.y)) for point in curve.points]


def _ends(point: Point) -> tuple[Span | None, Span | None]:
    across, along = point.across, point.along
    return (
        across and (unit_x(across[0]), unit_x(across[1])),
        along and (unit_y(along[0]), unit_y(along[1])),
    )


def _describe(plane: Plane) -> str:
    """Name the ends of each curve; a table below the plane has every figure."""
    sentences = []
    for curve in plane.curves:
        first, last = curve.points[0], curve.points[-1]
        sentences.append(
            f"{curve.name}: from risk {number(first.x, 2)} and utility {number(first.y, 2)} to"
            f" risk {number(last.x, 2)} and utility {number(last.y, 2)}."
        )
    return " ".join(sentences) or "No point can be drawn."


def styles(names: Sequence[str]) -> dict[str, int]:
    """Return numbers of curves for their colours and marks; the first ones differ most.

    >>> styles(["tem", "cmp", "tem"])
    {'tem': 0, 'cmp': 1}
    """
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def table(plane: Plane, caption: str = "Risk and utility, with 95 % intervals") -> Markup:
    """Return the figures of all points as a table: the alternative to the drawing."""
    points = [point for curve in plane.curves for point in curve.points]
    facts = list(dict.fromkeys(name for point in points for name in point.facts))
    body = [
        pages.row(
            point.name,
            _figure(point.x, point.across),
            _figure(point.y, point.along),
            *(point.facts.get(name, "") for name in facts),
        )
        for point in points
    ]
    return pages.table(caption, [pages.head("configuration", "risk", "utility", *facts)], body)


def _figure(value: float, span: Span | None) -> Markup:
    return join(number(value), " ", tag("small", interval(*span) if span else ""))


_HOW = (
    "Further right, the attacker succeeds more often; further up, the release is more useful."
    " Above the dashed line, more is kept than given away. Bars are 95 % intervals."
)
_SCORES = "QuIPU scores: 1 is best, and that of a single point is 0"


def page(plane: Plane, summary: Sequence[str]) -> str:
    """Return a plane as a page, with its legend and tables; `summary` has its sentences."""
    body = [pages.row(name, number(score)) for name, score in plane.scores.items()]
    scores = [pages.table(_SCORES, [pages.head("curve", "score")], body)] if body else []
    sections = [
        Section(
            "plane", "Risk and utility", (tag("p", _HOW, class_="hint"), *_with_legend(plane))
        ),
        Section("figures", "Figures", (table(plane), *scores)),
    ]
    return pages.page(plane.title, [join(sentence) for sentence in summary], sections)


def _with_legend(plane: Plane) -> tuple[Markup, Markup]:
    names = {curve.name: curve.style for curve in plane.curves}
    panel = tag("figure", draw(plane, "plane"), class_="panel")
    return axes.legend(names), tag("div", panel, class_="panels")


def html(plane: Plane) -> Markup:
    """Return a plane for a notebook: the drawing with its style, its legend and its table."""
    figures = tag("details", tag("summary", "All figures"), table(plane))
    scoped = pages.PLANES.replace(":root", "&")  # nested, so that it styles nothing else
    ground = "background:var(--ground);color:var(--ink);padding:.5rem;"
    style = tag("style", Markup(f".veil-plane{{{ground}{scoped}}}"))
    return tag("div", style, *_with_legend(plane), figures, class_="veil-plane")


def text(plane: Plane, width: int = 61, height: int = 21) -> str:
    """Return a plane for a terminal: a letter for each point of a curve, `*` where curves meet.

    >>> point = place("cmp(epsilon=5)", (0.5, 0.4, 0.6), (1.0, 0.9, 1.0))
    >>> print(text(Plane("", (Curve("cmp", (point,)),)), width=11, height=3))
    utility
     1 |     a    .
       |     .
     0 |.
       +-----------
        0        1  risk
    a cmp
    """
    cells = [[" "] * width for _ in range(height)]
    for row_ in range(height):
        cells[height - 1 - row_][round(row_ / (height - 1) * (width - 1))] = "."
    letters = {curve.name: chr(ord("a") + i % 26) for i, curve in enumerate(plane.curves)}
    for curve in plane.curves:
        for point in curve.points:
            x, y = (min(max(value, 0.0), 1.0) for value in (point.x, point.y))
            column, line = round(x * (width - 1)), round((1 - y) * (height - 1))
            other = cells[line][column] not in (" ", ".", letters[curve.name])
            cells[line][column] = "*" if other else letters[curve.name]
    ends = {0: "1", height - 1: "0"}
    lines = [f" {ends.get(i, ' ')} |{''.join(line).rstrip()}" for i, line in enumerate(cells)]
    names = [f"{letter} {name}" for name, letter in letters.items()]
    axis = [f"   +{'-' * width}", f"    0{'1':>{width - 2}}  risk"]
    return "\n".join(["utility", *lines, *axis, *names])
