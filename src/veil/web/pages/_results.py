"""The results, and beside them what the engine saw."""

from veil.proxy.results import Found
from veil.search.locality import DEMONSTRATION, HERE, told_of_stand_in
from veil.web.pages._cost import cost
from veil.web.pages._form import form, in_clear
from veil.web.pages._group import group
from veil.web.pages._items import items
from veil.web.pages._risk import risk
from veil.web.pages._seen import seen
from veil.web.pages._shell import document
from veil.web.pages._words import count
from veil.web.pages.common import Common
from veil.web.pages.markup import Markup, isolated, join, tag

_NOTHING = (
    "Nothing: no engine elsewhere was asked, nothing was spent of the budget, and the query was"
    " not written to the ledger. The demonstration shows what an engine elsewhere would see."
)


def results(common: Common, query: str, found: Found) -> str:
    """Return the results, and beside them what the engine saw."""
    left = tag(
        "section",
        tag("h1", "Results", id="results"),
        _place(common, found),
        tag("p", *_told(found), class_="hint"),
        items(found.results, here=found.here),
        Markup("") if found.plain else in_clear(common, query, found.gate),
        aria_labelledby="results",
        class_="found",
    )
    right = tag("aside", *_beside(common, found), aria_label="What this search gave away")
    return document(
        "Results",
        form(common, query, shown=not found.here),
        tag("div", left, right, class_="columns"),
        common=common,
        kind="answer",
    )


def _place(common: Common, found: Found) -> Markup:
    """Say in one line whom the query was kept from, if from anybody, and why."""
    if found.here:
        return tag("p", HERE, class_="note")
    if found.plain:
        return tag("p", "Sent in clear, at your request: the engine read the query itself.",
                   class_="warning")  # fmt: skip
    if common.own:
        return tag("p", DEMONSTRATION, class_="warning")
    if common.standing == "stand-in":
        return tag("p", told_of_stand_in(common.collection or common.engine), class_="hint")
    return Markup("")


def _told(found: Found) -> tuple[str, ...]:
    if not found.results:
        return ()
    shown = f"{count(len(found.results), 'result')}, put in order on this machine."
    jump = (" ", tag("a", "What the engine saw", href="#seen", class_="jump"))
    if found.plain:
        return (f"{count(len(found.results), 'result')}.",)
    if found.back is None:
        back = " How many of them plain search has is not known: the engine would have to see it."
    elif not found.back[1]:
        back = " Plain search finds nothing."
    else:
        back = f" {found.back[0]} of the first {found.back[1]} of plain search are among them."
        if not found.back[0]:
            back += " Nearer to useful it finds more, and gives more away."
    return (shown, back, *jump)


def _beside(common: Common, found: Found) -> list[Markup]:
    saw = "What an engine elsewhere would see" if common.own else "What the engine saw"
    parts = (
        (("seen", "What left this machine", tag("p", _NOTHING)),)
        if found.here
        else (
            ("seen", saw, _saw(found)),
            ("risk", "Risk", risk(common, found)),
            ("cost", "Cost", join(cost(found, own=common.own), _gate(found))),
        )
    )
    return [
        tag("section", tag("h2", head, id=name), inside, aria_labelledby=name)
        for name, head, inside in parts
    ]


def _saw(found: Found) -> Markup:
    if found.plain:
        return tag("p", "Your query, word by word.")
    return seen(found) if found.cover is None else group(found, found.cover)


def _gate(found: Found) -> Markup:
    """Say which rules kept the query from being sent plainly, if any did."""
    if found.gate.action != "obfuscate" or not found.gate.rules:
        return Markup("")
    return tag("p", isolated(found.gate.reason), class_="hint")
