"""The risk-utility plane of the last audit, on which the stops of the slider lie."""

from veil.studies.report.drawing import Plot, draw
from veil.web.pages import _stops
from veil.web.pages._shell import document
from veil.web.pages.common import Common
from veil.web.pages.markup import ON, Markup, tag

_WHAT = (
    "What was measured in the audit: how often an attacker guesses the query, and how good the"
    " results are. The slider moves along the configurations that no other one beats."
)


def plane(common: Common) -> str:
    """Return the plane of the last audit, with the stops of the slider."""
    measured = common.plane
    stops = [(stop.setting.mechanism, stop.setting.size) for stop in measured.stops]
    drawn = draw(measured.rows, stops)
    return document(
        "Plane",
        tag("h1", "Plane"),
        tag("p", _WHAT, class_="lead"),
        _stops.abroad(common),
        tag("h2", "Planes", class_="aside-only"),
        _choice(drawn.plots, _attacker(common)),
        tag("div", Markup(drawn.html), class_="planes", data_now=common.stop),
        tag("h2", "Stops of the slider"),
        *_stops.origin(measured),
        _stops.table(measured, common.stop, links=True),
        common=common,
        here="/plane",
        kind="drawn",
        drawn=True,
    )


def _attacker(common: Common) -> str:
    """Return the attacker of the stop, or of the first that the audit measured."""
    stops = common.plane.stops
    return next((stop.risk.attacker for stop in (stops[common.stop], *stops) if stop.measured), "")


def _choice(plots: tuple[Plot, ...], attacker: str) -> Markup:
    """Return the choice of one plane; the script shows it, as without one all are shown."""
    wanted = [i for i, plot in enumerate(plots) if plot.attacker == attacker]
    first = wanted[0] if wanted else 0
    groups: dict[str, list[Markup]] = {}
    for i, plot in enumerate(plots):
        who = plot.attacker.partition("(")[0]
        words = plot.title.removeprefix(_head(plot))
        option = tag("option", f"{who}{words}", value=i, selected=ON if i == first else None)
        groups.setdefault(_head(plot), []).append(option)
    return tag(
        "p",
        tag("label", "Attacker and success ", for_="plot"),
        tag(
            "select",
            *(tag("optgroup", *options, label=name) for name, options in groups.items()),
            tag("option", "all planes", value="all"),
            id="plot",
            autocomplete="off",
        ),
        hidden=ON,
        class_="choice",
    )


def _head(plot: Plot) -> str:
    return plot.title.partition(f", {plot.measure}: ")[0]
