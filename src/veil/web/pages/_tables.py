"""The page of tables: open a file, say what its columns are, protect it, take it with its card."""

from veil.core.component import summary
from veil.tables.mechanisms import MECHANISMS
from veil.tables.presets import STRENGTHS
from veil.web.pages.markup import ON, Common, Markup, tag, void
from veil.web.pages.shell import document

_WHAT = (
    "Protect the records of a file. It is read by this server alone and not kept; what you"
    " download has no identifier, its rows are in a random order, and a card says what is proved."
)
_ROLES = (
    ("Identifier", "names somebody: never released."),
    ("Known", "a quasi-identifier: what an attacker may know of somebody, such as age, sex or"
     " postcode. Together they find people."),
    ("Confidential", "what must not be learnt, such as an illness or an income."),
    ("Weight", "the sampling weight of a survey."),
    ("Other", "none of these: released as it is."),
)  # fmt: skip
_PROPOSED = "The roles are proposed by names and counts: check each of them."
_ONCE = (
    "Each protected file that you publish is a release of its own: what is proved of one is not"
    " proved of two together. Try here as often as you like, and publish one."
)
_DRAWN = "These drawings show the original, too: they are for you and not for release."


def tables(common: Common) -> str:
    """Return the page; a script does the rest."""
    return document(
        "Tables",
        tag("h1", "Tables"),
        tag("p", _WHAT, class_="lead"),
        tag(
            "noscript",
            tag("p", "This page needs scripts; without them use 'veil tables' in a terminal."),
        ),
        _field("Table", void("input", type="file", id="tables-file", accept=".csv,.tsv,.txt")),
        tag("p", "", id="tables-told", role="status", class_="working"),
        tag("div", _columns(), _stand(), id="tables-opened", hidden=ON, class_="tables-opened"),
        _choice(),
        tag("div", _side(), _pictures(), id="tables-found", hidden=ON, class_="tables-found"),
        common=common,
        here="/tables",
        kind="tables",
        scripts=("tables.js",),
    )


def _field(label: str, control: Markup) -> Markup:
    return tag("p", tag("label", label, for_="tables-file"), control, class_="tables-field")


def _columns() -> Markup:
    roles = [tag("div", tag("dt", name), tag("dd", says)) for name, says in _ROLES]
    heads = [tag("th", name, scope="col") for name in ("Column", "Values", "Role")]
    return tag(
        "section",
        tag("h2", "What are the columns?", id="tables-what"),
        tag("p", _PROPOSED, class_="hint"),
        tag(
            "div",
            tag(
                "table",
                tag("thead", tag("tr", *heads)),
                tag("tbody"),
                id="tables-columns",
                aria_labelledby="tables-what",
            ),
            class_="scroll",
        ),
        tag("details", tag("summary", "What the roles mean"), tag("dl", *roles, class_="facts")),
    )


def _stand() -> Markup:
    return tag(
        "section",
        tag("h2", "As it is"),
        tag("p", "", id="tables-empty"),
        tag("dl", id="tables-stand", class_="facts"),
        tag("div", id="tables-sizes"),
    )


def _choice() -> Markup:
    methods = [
        tag("option", f"{name}: {summary(MECHANISMS.get(name)).rstrip('.')}", value=name)
        for name in STRENGTHS
    ]
    return tag(
        "div",
        tag("label", "Protect it by", for_="tables-method"),
        tag("select", *methods, id="tables-method"),
        tag("button", "Show the plane", type="button", id="tables-go"),
        id="tables-choice",
        hidden=ON,
        class_="choice",
    )


def _side() -> Markup:
    return tag(
        "div",
        tag("h2", "Risk and utility"),
        tag("div", id="tables-plane"),
        tag("label", "Weaker to stronger", for_="tables-stop"),
        void("input", type="range", id="tables-stop", min="0", max="6", value="2"),
        tag("p", tag("code", "", id="tables-spec")),
        tag("dl", id="tables-figures", class_="facts"),
        tag("p", "", id="tables-cost"),
        tag("p", "", id="tables-caveat", class_="hint"),
        tag("p", "", id="tables-kept", class_="hint"),
        tag("p", "", id="tables-left", class_="hint"),
        tag(
            "p",
            void("input", type="checkbox", id="tables-safe"),
            tag("label", " quote cells that a spreadsheet would run", for_="tables-safe"),
        ),
        tag(
            "p",
            tag("a", "Download the table", id="tables-download", class_="button"),
            " ",
            tag("a", "and its card", id="tables-card", class_="button"),
            class_="tables-take",
        ),
        tag("p", _ONCE, class_="hint"),
        class_="tables-side",
    )


def _pictures() -> Markup:
    return tag(
        "section",
        tag("h2", "Before and after"),
        tag("p", _DRAWN, class_="hint"),
        tag("div", id="tables-drawn", class_="tables-drawn"),
    )
