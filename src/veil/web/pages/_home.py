"""The search box alone, a search that waits or was refused, and the plane of the last audit."""

from typing import Literal

from veil.proxy.settings import Decision
from veil.search.locality import DEFAULT, HERE, stand_in_notice
from veil.studies.report.drawing import Plot, draw
from veil.web.pages import slider as _stops
from veil.web.pages.markup import ON, Common, Markup, isolated, tag
from veil.web.pages.shell import document, is_spent
from veil.web.pages.slider import form, in_clear

_HOME_LEAD = (
    "The engine sees other texts in place of your query. What it answers is put in order by your"
    " query here, on this machine."
)
_DEMO = (
    " It is a catalogue of diagnoses. For the web: veil serve --engine 'searxng(url=…)'; for your"
    " own documents: --collection."
)


def home(common: Common) -> str:
    """Return the page with the search box."""
    return document(
        "",
        tag("h1", "Search" if common.own else "Private search"),
        tag("p", HERE if common.own else _HOME_LEAD, class_="lead"),
        _stand_in(common) if common.standing == "stand-in" else "",
        form(common, focus=True),
        common=common,
        here="/",
        kind="home",
    )


def _stand_in(common: Common) -> Markup:
    embedded = common.collection == DEFAULT
    told = stand_in_notice(common.collection or common.engine)
    return tag("p", told, _DEMO if embedded else "", class_="hint")


def held(common: Common, query: str, reason: str) -> str:
    """Return a search that another site started: it runs when the user presses the button."""
    return document(
        "Not searched yet",
        tag("h1", "Not searched yet"),
        tag(
            "div",
            tag("p", isolated(reason)) if reason else "",
            tag("p", "If the query below is yours, press Search."),
            class_="note",
        ),
        form(common, query),
        common=common,
        kind="home",
    )


Kind = Literal["budget", "gate", "risk", "engine", "input", "busy"]

_HEADS: dict[Kind, str] = {
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
    """Return why a search was not done, or not to its end; the query can be changed.

    `unsent` says that nothing was sent, which the message of an engine tells already.
    """
    spent = kind == "budget" and is_spent(common.budget)
    head = "The budget is spent" if spent else _HEADS[kind]
    return document(
        head,
        tag("h1", head),
        tag(
            "div",
            tag("p", isolated(message)) if message else "",
            _why(gate, message),
            tag("p", *_sent(common, kind, unsent=unsent), _NEXT[kind]),
            class_="note refused",
            role="alert",
        ),
        form(common, query),
        in_clear(common, query, gate),
        common=common,
        kind="home",
    )


def _sent(common: Common, kind: Kind, *, unsent: bool) -> tuple[Markup | str, ...]:
    """Say what left this machine, unless the message says it."""
    if unsent and kind == "engine":
        return ()
    return (tag("strong", _NOTHING if common.own else _SENT[kind]), " ")


def _why(gate: Decision | None, message: str) -> Markup:
    """Say what the rules say, where the message does not."""
    if gate is None or gate.action == "pass" or gate.reason in ("", message):
        return Markup("")
    return tag("p", isolated(gate.reason))


_PLANE_LEAD = (
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
        tag("p", _PLANE_LEAD, class_="lead"),
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
