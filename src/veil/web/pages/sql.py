"""The page of a database: ask in SQL, see noisy answers with their errors, and the budget."""

from dataclasses import dataclass

from veil.web.pages.markup import ON, Common, Markup, tag, void
from veil.web.pages.shell import document


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A table: what a unit of it is, and what may be said of each column."""

    name: str
    unit: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """The tables that may be asked, examples of questions, and the budget."""

    tables: tuple[TableSummary, ...]
    examples: tuple[str, ...]
    epsilon: float
    delta: float
    left: float
    delta_left: float
    seeded: bool
    durable: bool  # whether charges outlive the server


_WHAT = (
    "Counts, sums, averages and quantiles of the tables below. Each answer has noise: with one"
    " unit more or less, none is more than e to the power of epsilon times as likely, but for"
    " delta. It takes both of a budget that is shared by all who ask. A question that is refused"
    " costs nothing."
)
_FORGOTTEN = (
    'The policy names no ledger (ledger = "none"): what is spent is forgotten when this server'
    " ends, and the next one has the whole budget again."
)
_START = "veil serve --dp-db duckdb:people.duckdb --dp-policy policy.toml"


def database(common: Common, asked: DatabaseSummary | None) -> str:
    """Return the page; a script does the rest."""
    parts = [_missing()] if asked is None else _parts(asked)
    return document(
        "Ask a database",
        tag("h1", "Ask a database"),
        *parts,
        common=common,
        here="/database",
        kind="database",
        scripts=() if asked is None else ("database.js",),
    )


def _missing() -> Markup:
    return tag(
        "div",
        tag("p", "No database was named when this server was started.", class_="lead"),
        tag("p", "Start it with a database and the policy that says what may be asked:"),
        tag("pre", tag("code", _START)),
        tag(
            "p",
            "The policy lists tables, columns and the budget; docs/private-sql.md has one to begin"
            " with. 'veil dp sql' asks the same from a terminal.",
        ),
    )


def _parts(asked: DatabaseSummary) -> list[Markup]:
    warnings = ["Seeded: the noise can be repeated. NOT PRIVATE."] if asked.seeded else []
    warnings += [] if asked.durable else [_FORGOTTEN]
    return [
        tag("p", _WHAT, class_="lead"),
        *(tag("p", warning, class_="warning") for warning in warnings),
        tag("noscript", tag("p", "This page needs scripts; without them use 'veil dp sql'.")),
        _budget(asked),
        _form(asked),
        tag("p", "", id="database-told", role="status", class_="working"),
        tag("div", id="database-found", hidden=ON, class_="database-found"),
        tag("h2", "What may be asked"),
        *(_table(one) for one in asked.tables),
    ]


def _budget(asked: DatabaseSummary) -> Markup:
    return tag(
        "p",
        tag("label", "Budget ", for_="database-budget"),
        tag(
            "meter",
            "",
            id="database-budget",
            min="0",
            max=f"{asked.epsilon:g}",
            value=f"{asked.left:g}",
        ),
        " ",
        tag(
            "span",
            f"epsilon {asked.left:,g} of {asked.epsilon:,g} left{_delta(asked)}",
            id="database-left",
        ),
        class_="database-budget",
    )


def _delta(asked: DatabaseSummary) -> str:
    return f", delta {asked.delta_left:g} of {asked.delta:g} left" if asked.delta else ""


def _form(asked: DatabaseSummary) -> Markup:
    examples = [tag("option", "examples …", value="")]
    examples += [tag("option", one, value=one) for one in asked.examples]
    first = asked.examples[0] if asked.examples else ""
    return tag(
        "form",
        tag("label", "Question", for_="database-query"),
        tag(
            "textarea",
            first,
            id="database-query",
            rows="4",
            maxlength="10000",
            spellcheck="false",
            autocomplete="off",
        ),
        tag(
            "p",
            tag("select", *examples, id="database-examples", aria_label="Examples"),
            " ",
            tag("label", "epsilon ", for_="database-epsilon"),
            void(
                "input", id="database-epsilon", type="number", min="0.01", step="any", value="0.5"
            ),
            " ",
            tag("label", "delta ", for_="database-delta"),
            void("input", id="database-delta", type="number", min="0", step="any", value="0"),
            " ",
            tag("button", "Explain", type="button", id="database-explain"),
            " ",
            tag("button", "Ask", type="submit", id="database-ask", class_="button"),
            class_="database-row",
        ),
        id="database-form",
    )


def _table(one: TableSummary) -> Markup:
    rows = [tag("tr", tag("td", tag("code", name)), tag("td", what)) for name, what in one.columns]
    return tag(
        "details",
        tag("summary", tag("code", one.name), f": a unit is {one.unit}"),
        tag("table", tag("tbody", *rows)),
        open_=ON,
    )
