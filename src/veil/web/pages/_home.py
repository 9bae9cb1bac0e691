"""The search box alone, and a search that waits for the user."""

from veil.search.opening import DEFAULT
from veil.web.pages._form import form
from veil.web.pages._shell import document
from veil.web.pages.common import Common
from veil.web.pages.markup import isolated, tag

_WHAT = (
    "The engine sees random variants of your query. What it answers is put in order by your"
    " query here, on this machine."
)
_DEMO = (
    "You are searching a catalogue of diagnoses, icd10cm, on this machine, for demonstration."
    " For the web: veil serve --engine 'searxng(url=…)'; for your own documents: --collection."
)


def home(common: Common) -> str:
    """Return the page with the search box."""
    return document(
        "",
        tag("h1", "Private search"),
        tag("p", _WHAT, class_="lead"),
        tag("p", _DEMO, class_="hint") if common.engine.endswith(f" over {DEFAULT}") else "",
        form(common, focus=True),
        common=common,
        here="/",
        kind="home",
    )


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
