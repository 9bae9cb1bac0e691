"""The database page: questions in SQL, noisy answers, and the remaining budget.

The database and its policy are set when the server starts, never by a request. Only noisy
answers leave it; no message contains a value of the data.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from veil.core.formatting import count_of
from veil.proxy.answers import Answer, CostAnswer, Figure
from veil.web.asks import Ask
from veil.web.messages import Request, Response, StatusError, page
from veil.web.operation import Operation
from veil.web.pages import render
from veil.web.service import Service

if TYPE_CHECKING:
    from veil.dp.sql.database import Database, Table
    from veil.dp.sql.schema import ListedColumn
    from veil.dp.sql.schema import Table as Source

Cell = str | int | float | bool | None
NONE = (
    "No database is open. Start the server with: veil serve --dp-db duckdb:FILE --dp-policy"
    " policy.toml."
)


class SqlAsk(Ask):
    """A question to the database."""

    verb: ClassVar[str] = "dp"

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=10_000,
            description="one SELECT of counts, sums, averages or quantiles",
            examples=["SELECT sex, COUNT(*) FROM pums GROUP BY sex"],
        ),
    ]
    epsilon: Annotated[float, Field(gt=0, description="cost of the whole query")] = 0.5
    delta: Annotated[float, Field(ge=0, lt=1, description="cost of keys that are not public")] = (
        0.0
    )
    params: Annotated[
        list[Cell], Field(max_length=100, description="values for each ? of the query")
    ] = Field(default_factory=list)


class LeftAnswer(Answer):
    """The budget of the policy."""

    epsilon: float = Field(description="in all")
    delta: float
    spent: float = Field(description="epsilon spent")
    left: float = Field(description="epsilon left")
    delta_left: float


class SqlAnswer(Answer):
    """A noisy answer."""

    columns: list[str]
    rows: list[list[Cell]]
    errors: list[list[Figure]] = Field(
        description="standard deviation of the noise of each number; null if unknown"
    )
    threshold: int | None = Field(
        description=("minimum noisy number of units in a reported group")
    )
    cost: CostAnswer
    budget: LeftAnswer
    seeded: bool


class ExplainedAnswer(Answer):
    """What a query would compute; nothing is read or spent."""

    says: str
    budget: LeftAnswer


def answer_query(service: Service, ask: SqlAsk) -> SqlAnswer:
    """Answer a query with noise, and charge the budget."""
    db = _database(service)
    release = db.sql(ask.query, ask.epsilon, ask.delta, ask.params)
    return SqlAnswer(
        columns=list(release.columns),
        rows=[list(row) for row in release.rows],
        errors=_errors(release),
        threshold=release.threshold,
        cost=CostAnswer.of(release.cost),
        budget=remaining_budget(db),
        seeded=release.seeded,
    )


def explain_query(service: Service, ask: SqlAsk) -> ExplainedAnswer:
    """Return what a query would compute and cost."""
    db = _database(service)
    says = str(db.explain(ask.query, ask.epsilon, ask.delta, ask.params))
    return ExplainedAnswer(says=says, budget=remaining_budget(db))


def remaining_budget(db: "Database") -> LeftAnswer:
    """Return the remaining budget."""
    spent, rest = db.budget.spent, db.budget.remaining
    return LeftAnswer(
        epsilon=db.budget.epsilon,
        delta=db.budget.delta,
        spent=spent.epsilon,
        left=rest.epsilon,
        delta_left=rest.delta,
    )


def _database(service: Service) -> "Database":
    if service.database is None:
        raise StatusError(404, NONE)
    return service.database


def _errors(table: "Table") -> list[list[float | None]]:
    return [[None if math.isnan(error) else error for error in row] for row in table.errors]


_COUNT = "SELECT COUNT(*) FROM {}"  # shown as examples, never run
_GROUPS = "SELECT {key}, COUNT(*) FROM {table} GROUP BY {key}"
_MIDDLES = "SELECT AVG({number}), MEDIAN({number}) FROM {table}"
_MEANS = "SELECT {key}, AVG({number}) FROM {table} GROUP BY {key}"


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A table: its privacy unit and what may be asked of each column."""

    name: str
    unit: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """The tables of the policy, example questions, and the budget.

    `durable` is whether charges outlive the server.
    """

    tables: tuple[TableSummary, ...]
    examples: tuple[str, ...]
    epsilon: float
    delta: float
    left: float
    delta_left: float
    seeded: bool
    durable: bool


async def show(service: Service, request: Request) -> Response:
    """Show the page for questions in SQL."""
    db, summary = service.database, None
    if db is not None:  # reading the ledger may wait for another process
        summary = await service.looks.run(request, partial(summary_of, db))
    common = await service.common(request)
    return page(render("database.html", {"common": common, "database": summary}))


def summary_of(db: "Database") -> DatabaseSummary:
    """Return what the page shows of a database, which is what its policy lists."""
    sources, rest = list(db.tables.values()), db.budget.remaining
    examples = [_COUNT.format(_quoted(source.name)) for source in sources[:1]]
    for source in sources[:2]:
        examples += _examples(source)
    return DatabaseSummary(
        tuple(_table_summary(source) for source in sources),
        tuple(examples[:5]),
        db.budget.epsilon,
        db.budget.delta,
        rest.epsilon,
        rest.delta,
        db.seeded,
        db.budget.durable,
    )


def _table_summary(source: "Source") -> TableSummary:
    unit = "a row" if source.unit is None else source.unit.name
    if source.unit is not None:
        unit += f", with at most {count_of(source.max_rows, 'row')} in each of at most"
        unit += f" {count_of(source.max_groups, 'group')}"
    return TableSummary(
        source.name,
        unit,
        tuple((name, _column_summary(column)) for name, column in source.columns.items()),
    )


def _column_summary(column: "ListedColumn") -> str:
    if column.keys is not None:
        return f"{len(column.keys):,} public keys"
    if column.bounds is not None:
        return f"from {column.bounds[0]:,g} to {column.bounds[1]:,g}"
    return "in conditions; a delta is needed to use it as a key"


def _examples(source: "Source") -> list[str]:
    keys = [name for name, column in source.columns.items() if column.keys is not None]
    numbers = [name for name, column in source.columns.items() if column.bounds is not None]
    key, number = (_quoted(names[0]) if names else "" for names in (keys, numbers))
    names = {"table": _quoted(source.name), "key": key, "number": number}
    candidates = [(_GROUPS, keys), (_MIDDLES, numbers), (_MEANS, keys and numbers)]
    return [example.format(**names) for example, fits in candidates if fits]


def _quoted(name: str) -> str:
    """Return an SQL identifier, in quotes if it needs them."""
    bare = name.isascii() and name.isidentifier() and name == name.lower()
    return name if bare else '"' + name.replace('"', '""') + '"'


OPERATIONS = (
    Operation(
        "POST",
        "/api/dp/sql",
        "Answer a question in SQL with noise, and charge the budget of the policy.",
        answer_query,
        SqlAsk,
        SqlAnswer,
    ),
    Operation(
        "POST",
        "/api/dp/explain",
        "Explain what a question in SQL would compute and cost. Nothing is read or spent.",
        explain_query,
        SqlAsk,
        ExplainedAnswer,
    ),
)
