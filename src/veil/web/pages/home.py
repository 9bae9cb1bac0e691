"""The search form, refused and waiting searches, and the plane of the last audit."""

from typing import Literal, NamedTuple

from veil.proxy.settings import Decision
from veil.search.locality import DEFAULT, HERE, stand_in_notice
from veil.studies.report.drawing import Plot, draw
from veil.web.pages.shell import Common, render, trusted
from veil.web.pages.slider import search_values
from veil.web.pages.words import is_spent

_LEAD = (
    "The engine sees other texts instead of your query. Its results are re-ranked by your query"
    " on this machine."
)


def home(common: Common) -> str:
    """Return the page with the search form."""
    stand_in = common.standing == "stand-in"
    values = {
        "lead": HERE if common.own else _LEAD,
        "stand_in": stand_in_notice(common.collection or common.engine) if stand_in else "",
        "embedded": common.collection == DEFAULT,
    }
    return render("home.html", values | search_values(common, focus=True))


def confirm(common: Common, query: str, reason: str) -> str:
    """Return a page for a search started by another site; it runs when the user confirms it."""
    return render("confirm.html", {"reason": reason} | search_values(common, query))


Kind = Literal["budget", "gate", "risk", "engine", "input", "busy"]

_TITLES: dict[Kind, str] = {
    "budget": "The budget does not allow this",
    "gate": "One of your rules refuses this query",
    "risk": "Too easy to guess",
    "engine": "The engine did not answer",
    "input": "This cannot be searched",
    "busy": "Too many searches at once",
}
_NOTHING = "Nothing was sent."
_SENT: dict[Kind, str] = {
    "budget": "Nothing was sent. The query is never sent unprotected instead.",
    "gate": _NOTHING,
    "risk": _NOTHING,
    "engine": (
        "Some variants may have been sent, and count as spent. Searching again sends the same"
        " ones. The query itself was not sent, unless you had requested that."
    ),
    "input": _NOTHING,
    "busy": _NOTHING,
}
_NEXT: dict[Kind, str] = {
    "budget": "",
    "gate": "Change the query, or the rule.",
    "risk": "Move the slider towards private, or use other words.",
    "engine": "Try again in a moment.",
    "input": "Change the query below.",
    "busy": "Wait for the running ones, then try again.",
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
    """Return why a search failed or was refused; the query can be edited.

    `unsent` means that nothing was sent, which the message of an engine then says already.
    """
    spent = kind == "budget" and is_spent(common.budget)
    status = _NOTHING if common.own else _SENT[kind]
    values = {
        "title": "The budget is spent" if spent else _TITLES[kind],
        "message": message,
        "gate": gate,
        "sent": "" if unsent and kind == "engine" else status,
        "next": _NEXT[kind],
    }
    return render("refused.html", values | search_values(common, query))


class PlotOption(NamedTuple):
    """A plane in the list of the audit's planes."""

    place: int
    label: str


def plane(common: Common) -> str:
    """Return the plane of the last audit, with the settings of the slider."""
    measured = common.plane
    stops = [(stop.setting.mechanism, stop.setting.size) for stop in measured.stops]
    drawing = draw(measured.rows, stops)
    groups: dict[str, list[PlotOption]] = {}
    for place, plot in enumerate(drawing.plots):
        title = plot.title.removeprefix(_group(plot))
        label = f"{plot.attacker.partition('(')[0]}{title}"
        groups.setdefault(_group(plot), []).append(PlotOption(place, label))
    attacker = _attacker(common)
    matches = [place for place, plot in enumerate(drawing.plots) if plot.attacker == attacker]
    values = {
        "plots": list(groups.items()),
        "first": matches[0] if matches else 0,
        "drawing": trusted(drawing.html),
    }
    return render("plane.html", values | search_values(common))


def _attacker(common: Common) -> str:
    """Return the attacker of the current setting, or the first one that the audit measured."""
    stops = common.plane.stops
    return next((stop.risk.attacker for stop in (stops[common.stop], *stops) if stop.measured), "")


def _group(plot: Plot) -> str:
    return plot.title.partition(f", {plot.measure}: ")[0]
