"""The page of sensitive documents: one search, seen by who is not cleared and by who is."""

from veil.web.pages.markup import ON, Common, Markup, hidden, tag, void
from veil.web.pages.shell import document

_WHAT = (
    "One search, twice: left what somebody sees who is not cleared, right what is there. It runs"
    " on this machine, and nothing of it is kept or sent."
)
_START = "veil sensitive index mails/ --sensitivity labels.tsv -o IDX\nveil serve --sensitive IDX"
_LEFT = (
    "This list is all that the strategy shows. How many documents were withheld is not told here:"
    " who is not cleared would learn that they exist. A document that a human called sensitive"
    " (p = 1) is in no list of any strategy, nor is one without a probability."
)
_RIGHT = "For your eyes alone: this list holds sensitive documents. Do not show it to others."
_CHOICES = (  # spec with a place for its number, and what it does
    ("postfilter(threshold={})", "search everything, then take out what is likely sensitive"),
    ("prefilter(threshold={})", "search as if what is likely sensitive were not there"),
    ("demoted(beta={})", "move down what is likely sensitive"),
    ("relevance()", "withhold only what a human called sensitive"),
)


def sensitive(common: Common, documents: int | None) -> str:
    """Return the page; `documents` are those of the index, None where none was named."""
    parts = [_missing()] if documents is None else _parts(documents)
    return document(
        "Sensitive documents",
        tag("h1", "Sensitive documents"),
        *parts,
        common=common,
        here="/sensitive",
        kind="sensitive",
        scripts=() if documents is None else ("sensitive.js",),
    )


def _missing() -> Markup:
    return tag(
        "div",
        tag("p", "No index was named when this server was started.", class_="lead"),
        tag("p", "Make one of your documents, and start the server with it:"),
        tag("pre", tag("code", _START)),
        tag("p", "'veil sensitive search' asks the same from a terminal."),
    )


def _parts(documents: int) -> list[Markup]:
    return [
        tag("p", f"{_WHAT} {documents:,} documents are indexed.", class_="lead"),
        tag("noscript", tag("p", "This page needs scripts; use 'veil sensitive search'.")),
        _form(),
        tag("p", "", id="sensitive-told", role="status", class_="working"),
        tag(
            "div",
            _side("left", "Not cleared", _LEFT),
            _side("right", "Cleared", _RIGHT),
            id="sensitive-found",
            hidden=ON,
            class_="sensitive-found",
        ),
    ]


def _form() -> Markup:
    options = [
        tag("option", f"{spec.partition('(')[0]}: {does}", value=spec) for spec, does in _CHOICES
    ]
    return tag(
        "form",
        tag("label", hidden("Search for"), for_="sensitive-query"),
        tag(
            "p",
            void(
                "input",
                type="search",
                id="sensitive-query",
                maxlength="1000",
                required=ON,
                autocomplete="off",
                spellcheck="false",
                placeholder="Search for",
            ),
            tag("button", "Search", type="submit", id="sensitive-ask"),
            class_="sensitive-row",
        ),
        tag(
            "p",
            tag("label", "Decided by ", for_="sensitive-strategy"),
            tag("select", *options, id="sensitive-strategy"),
            tag(
                "span",
                tag("label", "Withheld from p = ", for_="sensitive-level", id="sensitive-means"),
                void(
                    "input", type="range", id="sensitive-level", min="0", max="1", step="0.01",
                    value="0.1",
                ),
                tag("output", "0.10", id="sensitive-value", for_="sensitive-level"),
                id="sensitive-slider",
            ),
            class_="sensitive-row",
        ),
        id="sensitive-form",
    )  # fmt: skip


def _side(name: str, title: str, says: str) -> Markup:
    return tag(
        "section",
        tag("h2", title, id=f"sensitive-{name}-title"),
        tag("p", "", id=f"sensitive-{name}-total"),
        tag("ol", id=f"sensitive-{name}", class_="sensitive-list"),
        tag("p", says, class_="hint"),
        *([tag("p", "", id="sensitive-caveat", class_="hint")] if name == "left" else []),
        aria_labelledby=f"sensitive-{name}-title",
    )
