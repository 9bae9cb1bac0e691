"""The planes of a report, drawn: one for each attacker and measure, with one legend."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

from veil.studies import DEFAULT
from veil.studies.domains import vocabulary
from veil.studies.experiment import Vocabulary
from veil.studies.panels import Curve, Panel, Point, panels
from veil.studies.report import captions as hints
from veil.studies.report import svg as _svg
from veil.studies.report.markup import PLANES, Markup, interval, join, number, percent, tag
from veil.studies.report.markup import SCRIPT as _SCRIPT
from veil.studies.report.tables import plane_figures
from veil.studies.results import Row

FEW = 5
_ALL = 7  # so many are drawn without a choice


def best_curves(
    found: Sequence[Panel], stop: Callable[[Row], str | None] | None = None
) -> list[str]:
    """Return the names of the curves to draw at first, in the order that they have.

    Those with the most stops of the slider, if there are any, come first; then those with the
    largest share of the points that no other one beats, over all planes.
    """
    names = list(dict.fromkeys(curve.name for panel in found for curve in panel.curves))
    if len(names) <= _ALL:
        return names
    shares = dict.fromkeys(names, 0.0)
    stops: dict[str, set[str]] = {}
    for panel in found:
        front = _front(panel)
        for name, _ in front:
            shares[name] += 1 / len(front)
        for curve in panel.curves:
            told = {stop(point.risk) or "" for point in curve.points} if stop else set()
            stops.setdefault(curve.name, set()).update(told - {""})
    first = sorted(names, key=lambda name: (-len(stops[name]), -shares[name]))[:FEW]
    return [name for name in names if name in first]


def _front(panel: Panel) -> list[tuple[str, Point]]:
    """Return the points of a plane that no other one beats."""
    points = [(curve.name, point) for curve in panel.curves for point in curve.points]
    return [one for one in points if not any(_beats(two, one[1]) for _, two in points)]


def _beats(one: Point, two: Point) -> bool:
    risk, utility = one.risk.score - two.risk.score, one.utility.score - two.utility.score
    return risk <= 0 <= utility and (risk < 0 or utility > 0)


Stop = Callable[[Row], str | None]

CORNERS = (
    (0.0, 0.0, "no utility"),
    (1.0, 1.0, "no privacy"),
    (0.0, 1.0, "optimal"),
    (1.0, 0.0, "trash"),
)


def draw_plane(
    panel: Panel,
    styles: Mapping[str, int],
    shown: Container[str],
    identity: str,
    stop: Stop | None = None,
) -> Markup:
    """Draw one panel with its caption.

    Of curves that are not `shown` only the stops are seen, until a script shows the rest. With
    `stop` points can be told and chosen by a script: each has its number of releases, and those
    that `stop` has a name for carry that name and a ring.
    """
    words = vocabulary(panel.domain)
    first = [curve for curve in panel.curves if curve.name in shown]
    rest = [curve for curve in panel.curves if curve.name not in shown]
    labels = _svg.Labels()
    for x, y, _ in CORNERS:
        labels.block(_svg.unit_x(x), _svg.unit_y(y))
        _block_corner(labels, x, y)
    for curve in first:
        labels.avoid(_places(curve))
    for curve in panel.curves:
        _block_points(labels, curve, stop, bars=curve in first)
    levels = _levels(panel, labels, words)
    front = [_curve(curve, styles[curve.name], labels, stop, words) for curve in first]
    for curve in rest:  # their labels keep off the others, too
        labels.avoid(_places(curve))
    behind = [_curve(curve, styles[curve.name], labels, stop, words, " rest") for curve in rest]
    drawn = _svg.drawing(
        identity,
        f"Risk and utility against {panel.attacker}, {panel.measure}",
        _describe(panel),
        _ground(words),
        levels,
        *behind,
        *front,
    )
    says = words.axis(panel.measure).says
    caption = [tag("strong", panel.measure), tag("span", f": {says}")]
    if panel.chance is not None:
        caption.append(tag("span", f". Dotted: a blind guess, {percent(panel.chance)}."))
    if panel.lost:
        caption.append(
            tag("span", f" Without a point: {panel.lost}, a figure is missing or not a number.")
        )
    return tag("figure", tag("figcaption", *caption), drawn, class_="panel")


def _ground(words: Vocabulary) -> Markup:
    ticks = [(_svg.unit_x(value), f"{value:g}") for value in (0.0, 0.25, 0.5, 0.75, 1.0)]
    x0, x1, y0, y1 = (_svg.at(f(v)) for f in (_svg.unit_x, _svg.unit_y) for v in (0.0, 1.0))
    parts = [
        tag("path", class_="gain", d=f"M{x0} {y0}L{x1} {y1}H{x0}Z"),
        _svg.frame(ticks, "risk (attacker’s success) →", f"utility ({words.utility.name}) →"),
        tag("path", class_="diagonal", d=f"M{x0} {y0}L{x1} {y1}"),
    ]
    for x, y, named in CORNERS:
        at_x, at_y = _svg.unit_x(x), _svg.unit_y(y)
        side = -1 if x else 1
        parts.append(tag("circle", class_="corner", cx=_svg.at(at_x), cy=_svg.at(at_y), r=3))
        beside, below = (9 * side, 0) if y else (4 * side, 19)  # points crowd at no utility
        parts.append(
            _svg.text(at_x + beside, at_y + below, named, "named", "end" if x else "start")
        )
    return join(*parts)


def _block_corner(labels: _svg.Labels, x: float, y: float) -> None:
    at_x, at_y = _svg.unit_x(x), _svg.unit_y(y)
    left = at_x - 65 if x else at_x - 5
    top = at_y - 10 if y else at_y + 9
    labels.taken.append((left, top, left + 70, top + 12))


def _block_points(labels: _svg.Labels, curve: Curve, stop: Stop | None, *, bars: bool) -> None:
    """Keep labels off rings, and off the bars of curves that are seen."""
    for point, (x, y) in zip(curve.points, _places(curve), strict=True):
        if stop and stop(point.risk):
            labels.block(x, y, 8.0)
        across, along = _spans(point)
        if bars and across:
            labels.faint.append((across[0], y - 1, across[1], y + 1))
        if bars and along:
            labels.faint.append((x - 1, along[1], x + 1, along[0]))


def _levels(panel: Panel, labels: _svg.Labels, words: Vocabulary) -> Markup:
    """Draw the thin lines: what a blind guess reaches, and the utility without protection."""
    parts = []
    top, right = _svg.TOP, _svg.LEFT + _svg.SIDE
    if panel.chance is not None:
        x = _svg.unit_x(panel.chance)
        parts.append(
            tag("path", class_="chance", d=f"M{_svg.at(x)} {top}V{top + _svg.HEIGHT}")
        )  # fmt: skip
    if panel.plain is not None:
        y = _svg.unit_y(panel.plain.score)
        parts.append(tag("path", class_="plain", d=f"M{_svg.LEFT} {_svg.at(y)}H{right}"))
        level = f"{words.plain} {number(panel.plain.score)}"
        places = [
            (left, y + down)
            for down in (-4, -16, 12)
            for left in (right - 100, _svg.LEFT + 20, _svg.LEFT + 110)
        ]
        boxes = [(left, low - 9, left + 95, low + 3) for left, low in places]
        i = next((i for i, box in enumerate(boxes) if labels.free(box)), 0)
        labels.taken.append(boxes[i])
        parts.append(_svg.text(*places[i], level, "level", "start"))
    return join(*parts)


def _curve(
    curve: Curve,
    style: int,
    labels: _svg.Labels,
    stop: Stop | None,
    words: Vocabulary,
    rest: str = "",
) -> Markup:
    places = _places(curve)
    line = "L".join(f"{_svg.at(x)} {_svg.at(y)}" for x, y in places)
    parts = [tag("path", class_="line", d=f"M{line}")] if len(places) > 1 else []
    for point, place in zip(curve.points, places, strict=True):
        ends = _svg.bars(*place, *_spans(point))
        data = {
            "data_risk": f"{point.risk.score:.6g}",
            "data_utility": f"{point.utility.score:.6g}",
        }
        if stop:
            data["data_size"] = str(point.risk.size)
            if name := stop(point.risk):
                data["data_stop"] = name
                ends = join(_ring(*place), ends)
        parts.append(
            _svg.marked(point.risk, style, place, ends, _tip(curve.name, point, words), **data)
        )
    count = len(places)
    for i in sorted(range(count), key=lambda i: min(i, count - 1 - i)):  # the ends first
        if curve.points[i].risk.parameter:
            parts.append(labels.place(*places[i], _svg.short(curve.points[i].risk.value)))
    kind = f"curve {_svg.colour(style)}" + (" dashed" if style >= _svg.COLOURS else "")
    return tag("g", *parts, class_=kind + rest, data_curve=curve.name)


def _ring(x: float, y: float) -> Markup:
    return tag("circle", class_="ring", cx=_svg.at(x), cy=_svg.at(y), r=8)


def _places(curve: Curve) -> list[tuple[float, float]]:
    return [
        (_svg.unit_x(point.risk.score), _svg.unit_y(point.utility.score)) for point in curve.points
    ]


def _spans(point: Point) -> tuple[_svg.Span, _svg.Span]:
    return _svg.span(point.risk, _svg.unit_x), _svg.span(point.utility, _svg.unit_y)


def _tip(name: str, point: Point, words: Vocabulary) -> str:
    risk, utility = point.risk, point.utility
    swept = f"{risk.parameter} {_svg.short(risk.value)}, " if risk.parameter else ""
    return (
        f"{name}: {swept}{risk.size} {words.size}\n"
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


@dataclass(frozen=True, slots=True)
class Group:
    """The planes of one attacker on one data and task, and the table of their figures.

    `plots` are pairs of a measure of the attacker's success and its plane.
    """

    domain: str
    data: str
    task: str
    attacker: str
    plots: tuple[tuple[str, Markup], ...]
    figures: Markup

    @property
    def title(self) -> str:
        """Say who attacks, and where."""
        where = f"{self.data} with {self.task}" if self.task else self.data
        return f"Attacker {self.attacker} on {where}"

    @property
    def parts(self) -> tuple[Markup, Markup, Markup]:
        """The heading, the planes, and the table that opens on request."""
        return (
            tag("h3", self.title),
            tag("div", *(drawn for _, drawn in self.plots), class_="panels"),
            tag("details", tag("summary", "All figures of these planes"), self.figures),
        )


def groups(
    rows: Sequence[Row],
    found: Sequence[Panel],
    styles: Mapping[str, int],
    shown: Container[str],
    stop: Stop | None = None,
) -> list[Group]:
    """Draw the panels by attacker; see `plane` for `shown` and `stop`."""
    placed: dict[tuple[str, str, str], list[Panel]] = {}
    for panel in found:
        if vocabulary(panel.domain).axis(panel.measure).scored:  # others are in the table alone
            placed.setdefault((panel.data, panel.task, panel.attacker), []).append(panel)
    return [
        Group(
            inside[0].domain,
            *place,
            tuple(
                (panel.measure, draw_plane(panel, styles, shown, f"plane-{i}-{j}", stop))
                for j, panel in enumerate(inside)
            ),
            plane_figures(rows, *place),
        )
        for i, (place, inside) in enumerate(placed.items())
    ]


def styles_of(
    found: Sequence[Panel], shown: Sequence[str], others: Sequence[str] = ()
) -> dict[str, int]:
    """Give each curve of the panels, and others by name, a number: its colour and its mark.

    Those that are shown at first have the first ones, which are the easiest to tell apart.
    """
    drawn = [curve.name for panel in found for curve in panel.curves]
    return {name: i for i, name in enumerate(dict.fromkeys([*shown, *drawn, *others]))}


def legend(styles: Mapping[str, int], drawn: Sequence[str], shown: Container[str]) -> Markup:
    """Return the names of curves, each beside its line and mark; the rest opens on request."""
    first = [_entry(name, styles[name]) for name in drawn if name in shown]
    rest = [_entry(name, styles[name], "rest") for name in drawn if name not in shown]
    parts = [tag("ul", *first)]
    if rest:
        parts.append(
            tag("details", tag("summary", f"{len(rest)} further curves"), tag("ul", *rest))
        )
    return tag("div", *parts, class_="legend")


def _entry(name: str, style: int, kind: str | None = None) -> Markup:
    dashed = " dashed" if style >= _svg.COLOURS else ""
    sample = tag(
        "svg",
        tag("path", class_="line", d="M0 7H26"),
        tag("g", _svg.shape(style), transform="translate(13 7)"),
        viewBox="0 0 26 14",
        class_=f"curve {_svg.colour(style)}{dashed}",
        aria_hidden="true",
    )
    return tag("li", sample, tag("span", name), data_curve=name, class_=kind)


_OURS = """\
caption,figcaption,.hint{color:var(--soft);font-size:.85rem}
.ring{fill:transparent;stroke:currentColor;stroke-width:1;stroke-dasharray:2 2}
.point[data-stop]{cursor:pointer}
.point[data-stop]:hover .ring,.chosen .ring{stroke-width:2;stroke-dasharray:none}
.chosen .ring{fill:var(--mark)}
"""
STYLE = PLANES + _OURS
SCRIPT = f"(() => {{{_SCRIPT}}})();\n"  # its names are its own


@dataclass(frozen=True, slots=True)
class Plot:
    """One plane: the risk by one attacker and measure against the utility, as HTML."""

    data: str
    task: str
    attacker: str
    measure: str
    title: str
    html: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """All planes of a table, as HTML in pieces and as a whole.

    Attributes
    ----------
    hint
        How to read a plane, as text.
    legend
        The names of the curves; the script makes each a button that hides or shows its curve. Of
        many, a few are shown at first.
    plots
        One for each attacker and measure.
    html
        Everything: the hint, the legend, and for each attacker a heading of the third level, its
        planes, and a table of all figures.
    """

    hint: str
    legend: str
    plots: tuple[Plot, ...]
    html: str


def draw(rows: Sequence[Row], stops: Sequence[tuple[str, int]] = ()) -> Drawing:
    """Draw the planes of a table.

    Parameters
    ----------
    stops
        Configurations that can be chosen, by their spec and number of releases.

    Notes
    -----
    `STYLE` and `SCRIPT` are served as files of their own; without them the tables still say
    everything. Each point carries ``data-spec`` and ``data-size``, and if it is one of the
    `stops` a ring and its place among them as ``data-stop``; a script may give it the class
    ``chosen``. A drawing is one image to a screen reader: what can be chosen must be offered
    elsewhere too, for the keyboard.
    """
    places = {one: str(i) for i, one in enumerate(stops)}
    found = panels(rows)

    def stop(row: Row) -> str | None:
        return places.get((row.spec, row.size))

    shown = best_curves(found, stop if stops else None)
    styles = styles_of(found, shown)
    drawn = groups(rows, found, styles, shown, stop)
    names = legend(styles, list(styles), shown)
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    hint = hints.plane(words) + (" Points with a ring are stops of the slider." if stops else "")
    hint += hints.few(len(shown), len(styles), stops=bool(stops))
    whole = join(
        tag("p", hint, class_="hint"), names, *(part for one in drawn for part in one.parts)
    )
    return Drawing(hint, names, tuple(plot for one in drawn for plot in _plots(one)), whole)


def _plots(group: Group) -> list[Plot]:
    where, words = (group.data, group.task, group.attacker), vocabulary(group.domain)
    return [
        Plot(*where, measure, f"{group.title}, {measure}: {words.axis(measure).says}", html)
        for measure, html in group.plots
    ]
