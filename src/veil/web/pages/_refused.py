"""Why a search was not done, or not to its end."""

from typing import Literal

from veil.proxy.types import Decision
from veil.web.pages._day import is_spent
from veil.web.pages._form import form, in_clear
from veil.web.pages._shell import document
from veil.web.pages.common import Common
from veil.web.pages.markup import Markup, isolated, tag

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
    common: Common, query: str, kind: Kind, message: str, gate: Decision | None = None
) -> str:
    """Return why a search was not done, or not to its end; the query can be changed."""
    spent = kind == "budget" and is_spent(common.budget)
    head = "The budget is spent" if spent else _HEADS[kind]
    return document(
        head,
        tag("h1", head),
        tag(
            "div",
            tag("p", isolated(message)) if message else "",
            _why(gate, message),
            tag("p", tag("strong", _NOTHING if common.own else _SENT[kind]), " ", _NEXT[kind]),
            class_="note refused",
            role="alert",
        ),
        form(common, query),
        in_clear(common, query, gate),
        common=common,
        kind="home",
    )


def _why(gate: Decision | None, message: str) -> Markup:
    """Say what the rules say, where the message does not."""
    if gate is None or gate.action == "pass" or gate.reason in ("", message):
        return Markup("")
    return tag("p", isolated(gate.reason))
