"""The risk-utility plane: one drawing for each attacker and measure of success."""

from collections.abc import Callable, Mapping

from veil.studies import _svg
from veil.studies._curves import Curve, Panel, Point
from veil.studies._markup import Markup, interval, join, number, percent, tag
from veil.studies.table import Row

Stop = Callable[[Row], str | None]

CORNERS = (
    (0.0, 0.0, "no utility"),
    (1.0, 1.0, "no privacy"),
    (0.0, 1.0, "optimal"),
    (1.0, 0.0, "trash"),
)
SUCCESS = {
    "lazy": "the first guess is right (P@1)",
    "active": "the truth is among ten guesses (R@10)",
    "motivated": "one divided by the rank of the truth (MRR)",
    "persistent": "rank-biased precision of the rank of the truth, at most 1 − p",
}


def plane(
    panel: Panel, styles: Mapping[str, int], identity: str, stop: Stop | None = None
) -> Markup:
    """Draw one panel with its caption.

    With `stop` points can be told and chosen by a script: each has its number of variants, and
    those that `stop` has a name for carry that name and a ring.
    """
    labels = _svg.Labels()
    for x, y, _ in CORNERS:
        labels.block(_svg.unit_x(x), _svg.unit_y(y))
        _block_corner(labels, x, y)
    for curve in panel.curves:
        labels.avoid(_places(curve))
    drawn = _svg.drawing(
        identity,
        f"Risk and utility against {panel.attacker}, {panel.measure}",
        _describe(panel),
        _ground(),
        _levels(panel, labels),
        *(_curve(curve, styles[curve.name], labels, stop) for curve in panel.curves),
    )
    caption = [tag("strong", panel.measure), tag("span", f": {success(panel.measure)}")]
    if panel.chance is not None:
        caption.append(tag("span", f". Dotted: a blind guess, {percent(panel.chance)}."))
    if panel.lost:
        caption.append(
            tag("span", f" Without a point: {panel.lost}, a figure is missing or not a number.")
        )
    return tag("figure", tag("figcaption", *caption), drawn, class_="panel")


def success(measure: str) -> str:
    """Say what counts as success of an attacker."""
    return SUCCESS.get(measure, "the attacker's success")


def _ground() -> Markup:
    ticks = [(_svg.unit_x(value), f"{value:g}") for value in (0.0, 0.25, 0.5, 0.75, 1.0)]
    x0, x1, y0, y1 = (_svg.at(f(v)) for f in (_svg.unit_x, _svg.unit_y) for v in (0.0, 1.0))
    parts = [
        tag("path", class_="gain", d=f"M{x0} {y0}L{x1} {y1}H{x0}Z"),
        _svg.frame(ticks, "risk (attacker’s success) →", "utility (nDCG@10) →"),
        tag("path", class_="diagonal", d=f"M{x0} {y0}L{x1} {y1}"),
    ]
    for x, y, words in CORNERS:
        at_x, at_y = _svg.unit_x(x), _svg.unit_y(y)
        side = -1 if x else 1
        parts.append(tag("circle", class_="corner", cx=_svg.at(at_x), cy=_svg.at(at_y), r=3))
        parts.append(
            _svg.text(at_x + 9 * side, at_y + (0 if y else 7), words, "named",
                      "end" if x else "start")
        )  # fmt: skip
    return join(*parts)


def _block_corner(labels: _svg.Labels, x: float, y: float) -> None:
    at_x, at_y = _svg.unit_x(x), _svg.unit_y(y)
    left = at_x - 65 if x else at_x + 5
    labels.taken.append((left, at_y - 10, left + 60, at_y + 10))


def _levels(panel: Panel, labels: _svg.Labels) -> Markup:
    """Draw the thin lines: what a blind guess reaches, and the utility without protection."""
    parts = []
    top, right = _svg.TOP, _svg.LEFT + _svg.SIDE
    if panel.chance is not None:
        x = _svg.unit_x(panel.chance)
        parts.append(
            tag("path", class_="chance", d=f"M{_svg.at(x)} {top}V{top + _svg.SIDE}")
        )  # fmt: skip
    if panel.plain is not None:
        y = _svg.unit_y(panel.plain.score)
        parts.append(tag("path", class_="plain", d=f"M{_svg.LEFT} {_svg.at(y)}H{right}"))
        words = f"plain search {number(panel.plain.score)}"
        parts.append(_svg.text(right - 5, y - 4, words, "level", "end"))
        labels.taken.append((right - 105, y - 13, right, y))
    return join(*parts)


def _curve(curve: Curve, style: int, labels: _svg.Labels, stop: Stop | None) -> Markup:
    places = _places(curve)
    line = "L".join(f"{_svg.at(x)} {_svg.at(y)}" for x, y in places)
    parts = [tag("path", class_="line", d=f"M{line}")] if len(places) > 1 else []
    for point, place in zip(curve.points, places, strict=True):
        ends = _svg.bars(
            *place, _svg.span(point.risk, _svg.unit_x), _svg.span(point.utility, _svg.unit_y)
        )
        data = {
            "data_risk": f"{point.risk.score:.6g}",
            "data_utility": f"{point.utility.score:.6g}",
        }
        if stop:
            data["data_size"] = str(point.risk.size)
            if name := stop(point.risk):
                data["data_stop"] = name
                ends = join(_ring(*place), ends)
        parts.append(_svg.marked(point.risk, style, place, ends, _tip(curve.name, point), **data))
    count = len(places)
    for i in sorted(range(count), key=lambda i: min(i, count - 1 - i)):  # the ends first
        if curve.points[i].risk.parameter:
            parts.append(labels.place(*places[i], _svg.short(curve.points[i].risk.value)))
    kind = f"curve {_svg.colour(style)}" + (" dashed" if style >= _svg.COLOURS else "")
    return tag("g", *parts, class_=kind, data_curve=curve.name)


def _ring(x: float, y: float) -> Markup:
    return tag("circle", class_="ring", cx=_svg.at(x), cy=_svg.at(y), r=8)


def _places(curve: Curve) -> list[tuple[float, float]]:
    return [
        (_svg.unit_x(point.risk.score), _svg.unit_y(point.utility.score)) for point in curve.points
    ]


def _tip(name: str, point: Point) -> str:
    risk, utility = point.risk, point.utility
    swept = f"{risk.parameter} {_svg.short(risk.value)}, " if risk.parameter else ""
    return (
        f"{name}: {swept}{risk.size} variants\n"
        f"risk {number(risk.score)} {interval(risk.low, risk.high)}\n"
        f"utility {number(utility.score)} {interval(utility.low, utility.high)}"
    )


def _describe(panel: Panel) -> str:
    """Tell each curve's ends in words; the table below the panels has every figure."""
    told = []
    for curve in panel.curves:
        first, last = curve.points[0], curve.points[-1]
        told.append(
            f"{curve.name}: from risk {number(first.risk.score, 2)} and utility"
            f" {number(first.utility.score, 2)} to risk {number(last.risk.score, 2)} and utility"
            f" {number(last.utility.score, 2)}."
        )
    return " ".join(told) or "No point can be drawn."
