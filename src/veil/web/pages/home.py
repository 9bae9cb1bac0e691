"""The search box, a search that waits or was refused, and the plane of the last audit."""

from typing import Literal, NamedTuple

from veil.proxy.settings import Decision
from veil.search.locality import DEFAULT, HERE, stand_in_notice
from veil.studies.report.drawing import Plot, draw
from veil.web.pages.shell import Common, render, trusted
from veil.web.pages.slider import search_values
from veil.web.pages.words import is_spent

_LEAD = (
    "The engine sees other texts in place of your query. What it answers is put in order by your"
    " query here, on this machine."
)


def home(common: Common) -> str:
    """Return the page with the search box."""
    stand_in = common.standing == "stand-in"
    values = {
        "lead": HERE if common.own else _LEAD,
        "stand_in": stand_in_notice(common.collection or common.engine) if stand_in else "",
        "embedded": common.collection == DEFAULT,
    }
    return render("home.html", values | search_values(common, focus=True))


def held(common: Common, query: str, reason: str) -> str:
    """Return a search that another site started: it runs once the user presses the button."""
    return render("held.html", {"reason": reason} | search_values(common, query))


Kind = Literal["budget", "gate", "risk", "engine", "input", "busy"]

_TITLES: dict[Kind, str] = {
    "budget": "The budget does not allow this",
    "gate": "A rule of yours refuses this query",
    "risk": "Too easy to guess",
    "engine": "The engine did not answer",
    "input": "This cannot be searched",
    "busy": "Too many searches at once",
}
_NOTHING = "Nothing was sent."
_SENT: dict[Kind, str] = {
    "budget": "Nothing was sent; the query is never sent in clear instead.",
    "gate": _NOTHING,
    "risk": _NOTHING,
    "engine": (
        "Some variants may have been sent, and count as spent; asking again sends the same ones."
        " The query itself was not sent, unless you had asked for that."
    ),
    "input": _NOTHING,
    "busy": _NOTHING,
}
_NEXT: dict[Kind, str] = {
    "budget": "",
    "gate": "Change the query, or the rule.",
    "risk": "Move the slider towards private, or put it in other words.",
    "engine": "Try again in a moment.",
    "input": "Change the query below.",
    "busy": "Wait for those that run, then try again.",
}


def refused(
    common: Common,
    query: str,
    kind: Kind,
    message: str,
    gate: Decision | None = None,
    *,
    unsent: bool = False,
) -> str:
    """Return why a search was not done, or not completed; the query can be changed.

    `unsent` says that nothing was sent, as the message of an engine already does.
    """
    spent = kind == "budget" and is_spent(common.budget)
    sent = _NOTHING if common.own else _SENT[kind]
    values = {
        "title": "The budget is spent" if spent else _TITLES[kind],
        "message": message,
        "gate": gate,
        "sent": "" if unsent and kind == "engine" else sent,
        "next": _NEXT[kind],
    }
    return render("refused.html", values | search_values(common, query))


class PlotOption(NamedTuple):
    """One plane of the audit in the list of planes."""

    place: int
    label: str


def plane(common: Common) -> str:
    """Return the plane of the last audit, with the stops of the slider."""
    measured = common.plane
    stops = [(stop.setting.mechanism, stop.setting.size) for stop in measured.stops]
    drawing = draw(measured.rows, stops)
    groups: dict[str, list[PlotOption]] = {}
    for place, plot in enumerate(drawing.plots):
        title = plot.title.removeprefix(_group(plot))
        label = f"{plot.attacker.partition('(')[0]}{title}"
        groups.setdefault(_group(plot), []).append(PlotOption(place, label))
    attacker = _attacker(common)
    wanted = [place for place, plot in enumerate(drawing.plots) if plot.attacker == attacker]
    values = {
        "plots": list(groups.items()),
        "first": wanted[0] if wanted else 0,
        "drawing": trusted(drawing.html),
    }
    return render("plane.html", values | search_values(common))


def _attacker(common: Common) -> str:
    """Return the attacker of the stop, or the first one that the audit measured."""
    stops = common.plane.stops
    return next((stop.risk.attacker for stop in (stops[common.stop], *stops) if stop.measured), "")


def _group(plot: Plot) -> str:
    return plot.title.partition(f", {plot.measure}: ")[0]
