"""The search box alone, and a search that waits for the user."""

from veil.search.locality import DEFAULT, HERE, told_of_stand_in
from veil.web.pages._form import form
from veil.web.pages._shell import document
from veil.web.pages.common import Common
from veil.web.pages.markup import Markup, isolated, tag

_WHAT = (
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
        tag("p", HERE if common.own else _WHAT, class_="lead"),
        _stand_in(common) if common.standing == "stand-in" else "",
        form(common, focus=True),
        common=common,
        here="/",
        kind="home",
    )


def _stand_in(common: Common) -> Markup:
    embedded = common.collection == DEFAULT
    told = told_of_stand_in(common.collection or common.engine)
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
