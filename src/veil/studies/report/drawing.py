"""The planes of a table of results: one for each attacker and measure, with one legend."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

from veil.drawing import axes, page
from veil.drawing.markup import Markup, join, percent, tag
from veil.drawing.plane import Figure, Plane, place
from veil.drawing.plane import draw as draw_plane
from veil.drawing.plane import styles as number_styles
from veil.studies import DEFAULT
from veil.studies.domains import vocabulary
from veil.studies.experiment import Vocabulary
from veil.studies.panels import Curve, Panel, Point, panels
from veil.studies.report import captions as hints
from veil.studies.report.tables import plane_figures
from veil.studies.results import Row

FEW = 5
_ALL = 7  # up to this number, all curves are shown
Stop = Callable[[Row], str | None]


def best_curves(planes: Sequence[Panel], stop: Stop | None = None) -> list[str]:
    """Return the names of the curves to show at first, in their order.

    They are the curves with the most settings of the slider, if any, and then those with the
    largest share of the points that no other one beats, over all planes.
    """
    names = list(dict.fromkeys(curve.name for panel in planes for curve in panel.curves))
    if len(names) <= _ALL:
        return names
    shares = dict.fromkeys(names, 0.0)
    stops: dict[str, set[str]] = {}
    for panel in planes:
        front = _front(panel)
        for name, _ in front:
            shares[name] += 1 / len(front)
        for curve in panel.curves:
            ids = {stop(point.risk) or "" for point in curve.points} if stop else set()
            stops.setdefault(curve.name, set()).update(ids - {""})
    first = sorted(names, key=lambda name: (-len(stops[name]), -shares[name]))[:FEW]
    return [name for name in names if name in first]


def _front(panel: Panel) -> list[tuple[str, Point]]:
    """Return the points of a plane that no other one beats."""
    points = [(curve.name, point) for curve in panel.curves for point in curve.points]
    return [
        (name, point)
        for name, point in points
        if not any(_beats(other, point) for _, other in points)
    ]


def _beats(point: Point, other: Point) -> bool:
    risk = point.risk.score - other.risk.score
    utility = point.utility.score - other.utility.score
    return risk <= 0 <= utility and (risk < 0 or utility > 0)


def plane_of(panel: Panel, styles: Mapping[str, int], stop: Stop | None = None) -> Plane:
    """Return a panel as numbers and labels.

    With `stop`, scripts can identify and choose points: each has its number of releases, and each
    for which `stop` returns a name has that name and a ring.
    """
    words = vocabulary(panel.domain)
    return Plane(
        f"Risk and utility against {panel.attacker}, {panel.measure}",
        tuple(_curve(curve, styles[curve.name], stop, words) for curve in panel.curves),
        words.utility.name,
        panel.chance,
        (words.plain, panel.plain.score) if panel.plain else None,
    )


def _curve(curve: Curve, style: int, stop: Stop | None, words: Vocabulary) -> axes.Curve:
    points = []
    for point in curve.points:
        risk = point.risk
        name = (stop(risk) or "") if stop else ""
        data = {"value": f"{risk.value:g}"}
        data |= {"size": str(risk.size)} if stop else {}
        data |= {"stop": name} if name else {}
        value = axes.short(risk.value) if risk.parameter else ""
        swept = f"{risk.parameter} {value}, " if value else ""
        heading = f"{curve.name}: {swept}{risk.size} {words.size}"
        points.append(
            place(risk.spec, _figure(risk), _figure(point.utility), heading=heading, label=value,
                  ring=bool(name), data=data)
        )  # fmt: skip
    return axes.Curve(curve.name, tuple(points), style)


def _figure(row: Row) -> Figure:
    return row.score, row.low, row.high


def draw_panel(
    panel: Panel,
    styles: Mapping[str, int],
    shown: Container[str],
    identity: str,
    stop: Stop | None = None,
) -> Markup:
    """Draw one panel with its caption; of curves not in `shown`, only settings are visible."""
    words = vocabulary(panel.domain)
    caption = [tag("strong", panel.measure), tag("span", f": {words.axis(panel.measure).says}")]
    if panel.chance is not None:
        caption.append(tag("span", f". Dotted: a blind guess, {percent(panel.chance)}."))
    if panel.lost:
        caption.append(
            tag("span", f" Not shown: {panel.lost} with a figure that is missing or not finite.")
        )
    return page.figure(caption, draw_plane(plane_of(panel, styles, stop), identity, shown))


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
        """Heading with the attack, the data and the task."""
        where = f"{self.data} with {self.task}" if self.task else self.data
        return f"Attacker {self.attacker} on {where}"

    @property
    def parts(self) -> tuple[Markup, Markup, Markup]:
        """The heading, the planes, and the table that opens on request."""
        return (
            tag("h3", self.title),
            tag("div", *(drawing for _, drawing in self.plots), class_="panels"),
            tag("details", tag("summary", "All figures of these planes"), self.figures),
        )


def groups(
    rows: Sequence[Row],
    planes: Sequence[Panel],
    styles: Mapping[str, int],
    shown: Container[str],
    stop: Stop | None = None,
) -> list[Group]:
    """Draw the panels by attacker; see `draw_panel` for `shown` and `plane_of` for `stop`."""
    panels_of: dict[tuple[str, str, str], list[Panel]] = {}
    for panel in planes:
        if vocabulary(panel.domain).axis(panel.measure).scored:  # others are only in the table
            panels_of.setdefault((panel.data, panel.task, panel.attacker), []).append(panel)
    return [
        Group(
            inside[0].domain,
            *setting,
            tuple(
                (panel.measure, draw_panel(panel, styles, shown, f"plane-{i}-{j}", stop))
                for j, panel in enumerate(inside)
            ),
            plane_figures(rows, *setting),
        )
        for i, (setting, inside) in enumerate(panels_of.items())
    ]


def styles_of(
    planes: Sequence[Panel], shown: Sequence[str], others: Sequence[str] = ()
) -> dict[str, int]:
    """Return the number of each curve, and of `others`, for its colour and mark.

    Curves that are shown at first have the lowest numbers, whose colours differ most.
    """
    names = [curve.name for panel in planes for curve in panel.curves]
    return number_styles([*shown, *names, *others])


_OURS = """\
caption,figcaption,.hint{color:var(--soft);font-size:.85rem}
"""
STYLE = page.PLANES + _OURS
SCRIPT = f"(() => {{{page.SCRIPT}}})();\n"  # in a function, so that its names are local


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
    """All planes of a table as HTML, in parts and as a whole.

    Attributes
    ----------
    hint
        How to read a plane, as text.
    legend
        The names of the curves. The script turns each into a button that hides or shows its curve;
        of many curves, only a few are shown at first.
    plots
        One plane for each attack and measure.
    html
        Everything: the hint, the legend, and for each attack a third-level heading, its planes and
        a table of all figures.
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
        Settings that can be chosen, by spec and number of releases.

    Notes
    -----
    `STYLE` and `SCRIPT` are served as files; without them, the tables still show every figure.
    Each point has ``data-spec`` and ``data-size``. Settings also have a ring, and their index in
    `stops` as ``data-stop``; a script may give one the class ``chosen``. A drawing is one image to
    a screen reader, so choices must also be offered elsewhere, for the keyboard.
    """
    ids = {configuration: str(i) for i, configuration in enumerate(stops)}
    all_panels = panels(rows)

    def stop(row: Row) -> str | None:
        return ids.get((row.spec, row.size))

    shown = best_curves(all_panels, stop if stops else None)
    styles = styles_of(all_panels, shown)
    planes = groups(rows, all_panels, styles, shown, stop)
    names = axes.legend(styles, shown)
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    hint = hints.plane(words) + (
        " Points with a ring are settings of the slider." if stops else ""
    )
    hint += hints.few(len(shown), len(styles), stops=bool(stops))
    parts = [part for group in planes for part in group.parts]
    whole = join(tag("p", hint, class_="hint"), names, *parts)
    return Drawing(hint, names, tuple(plot for group in planes for plot in _plots(group)), whole)


def _plots(group: Group) -> list[Plot]:
    setting, words = (group.data, group.task, group.attacker), vocabulary(group.domain)
    return [
        Plot(*setting, measure, f"{group.title}, {measure}: {words.axis(measure).says}", html)
        for measure, html in group.plots
    ]
