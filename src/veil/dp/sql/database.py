"""A database that is asked in SQL: opened, checked, charged, read and answered with noise.

Noise for every number of every group: here what the data say becomes a release.
All groups are drawn for in the order of their keys, one quantity after the other.
"""

import math
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from veil.core.errors import EngineError, InputError, RefusedError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.dp.accounting.budget import Budget
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.sql.engine import SEED, Engine, Statement
from veil.dp.sql.plan import Explanation, NoisyQuantity, Plan, explain, make_plan, quantile_of
from veil.dp.sql.quantities import MAKERS, Cell, Noisy, Rank, Sum, Units
from veil.dp.sql.query import Value, read_query
from veil.dp.sql.schema import Table as Source
from veil.dp.sql.schema import load_policy, order, tables_of
from veil.dp.sql.statements import Exact, Group, PlannedStatement, exact_of, write_statements


@dataclass(frozen=True, slots=True)
class Released:
    """Groups in the order of their keys, and their noisy numbers, one for each quantity."""

    groups: tuple[Group, ...]
    noisy: tuple[tuple[Noisy, ...], ...]


def release(plan: Plan, exact: Exact, rng: Generator) -> Released:
    """Add noise to what the data say; groups whose keys are not public pass a threshold."""
    groups = groups_of(plan, exact)
    columns = [_column(one, groups, exact, rng) for one in plan.measured]
    rows = [tuple(column[i] for column in columns) for i in range(len(groups))]
    if plan.threshold is None:
        return Released(groups, tuple(rows))
    at = plan.places[Units()]
    kept = [i for i, row in enumerate(rows) if row[at].number >= plan.threshold]
    return Released(tuple(groups[i] for i in kept), tuple(rows[i] for i in kept))


def groups_of(plan: Plan, exact: Exact) -> tuple[Group, ...]:
    """Return the groups: all that are public, or those that the data have, in order."""
    if plan.combinations is not None:
        return plan.combinations
    if not plan.query.keys:
        return ((),)
    return tuple(sorted(exact.numbers, key=lambda group: [order(key) for key in group]))


def _column(
    one: NoisyQuantity, groups: Sequence[Group], exact: Exact, rng: Generator
) -> list[Noisy]:
    if isinstance(one.quantity, Rank):
        return [_rank(one, one.quantity, group, exact, rng) for group in groups]
    numbers = [exact.numbers.get(group, {}).get(one.quantity, 0) for group in groups]
    noise = discrete_laplace(one.scale, len(groups), rng).tolist()
    return [_noisy(one, number + drawn) for number, drawn in zip(numbers, noise, strict=True)]


def _noisy(one: NoisyQuantity, number: int) -> Noisy:
    levels = one.levels
    if not isinstance(one.quantity, Sum) or levels is None:
        return Noisy(number, one.std)
    step = float(levels.step)
    if one.quantity.power == 0:
        value = number * levels.step
        plain = int(value) if levels.step.denominator == 1 else float(value)
        return Noisy(plain, one.std * step)
    if levels.square:
        half = (levels.high - levels.low) / 2
        return Noisy(number, one.std, step, -levels.offset * step, (0.0, half * half))
    start = levels.low - levels.offset * step
    return Noisy(number, one.std, step, start, (levels.low, levels.high), levels.middle)


def _rank(one: NoisyQuantity, quantity: Rank, group: Group, exact: Exact, rng: Generator) -> Noisy:
    """Draw a cell by the exponential mechanism."""
    levels = one.levels
    if levels is None:
        raise AssertionError
    pairs = sorted(exact.cells.get((group, quantity.place), []))
    cells = np.array([cell for cell, _ in pairs], dtype=np.int64)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    cell = int(quantile_of(one).draw(np.repeat(cells, counts), 1, rng)[0])
    value = levels.low + cell * float(levels.step)
    whole = levels.step == 1 and levels.low.is_integer()
    return Noisy(int(value) if whole else min(levels.high, value), one.std)


class Std(tuple[float, ...]):
    """Standard deviations of the noise by column: by its number, or by its name."""

    names: tuple[str, ...] = ()

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - a number, a slice or a name
        return super().__getitem__(self.names.index(at) if isinstance(at, str) else at)


@dataclass(frozen=True, eq=False)
class Table:
    """A noisy answer.

    Attributes
    ----------
    columns, rows
        Names of the columns, and rows of plain values: keys, and noisy numbers.
    cost
        What the whole query cost.
    std
        Standard deviation of the noise in each column; 0 for keys, NaN for quantiles. Of averages
        and variances, whose noise depends on the noisy count, it is that of the row with the most.
    errors
        The same for each number of each row, nearly.
    threshold
        How many units a group must have, in noisy numbers, to be told of; None if all are.
    seeded
        Whether who knows the seed can repeat the draws: **not private**.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    cost: Guarantee
    std: Std
    errors: list[tuple[float, ...]]
    threshold: int | None
    seeded: bool


def answer(plan: Plan, released: Released, *, seeded: bool) -> Table:
    """Put noisy numbers together as the query asks for them; HAVING and ORDER BY come now."""
    query = plan.query
    rows: list[tuple[tuple[Value, ...], tuple[float, ...]]] = []
    for group, noisy in zip(released.groups, released.noisy, strict=True):
        cells = [
            MAKERS[one.name]([noisy[plan.places[need]] for need in one.needs])
            for one in query.aggregates
        ]
        values = (*group, *(cell.value for cell in cells))
        rows.append((values, (*[0.0] * len(group), *(cell.std for cell in cells))))
    if query.having is not None:
        having = query.having
        rows = [row for row in rows if having(row[0])]
    for by in reversed(query.orders):
        rows = _sorted(rows, by.step, descending=by.descending, nulls_first=by.nulls_first)
    end = None if query.limit is None else query.offset + query.limit
    rows = rows[query.offset : end]
    at = [output.at for output in query.outputs]
    names = tuple(output.label for output in query.outputs)
    errors = [tuple(stds[i] for i in at) for _, stds in rows]
    return Table(
        names,
        [tuple(values[i] for i in at) for values, _ in rows],
        plan.cost,
        _stds(plan, names, at, errors),
        errors,
        plan.threshold,
        seeded,
    )


def _sorted(
    rows: list[tuple[tuple[Value, ...], tuple[float, ...]]],
    step: Any,  # noqa: ANN401 - a step of the query
    *,
    descending: bool,
    nulls_first: bool,
) -> list[tuple[tuple[Value, ...], tuple[float, ...]]]:
    """Sort rows by one value; rows that are equal stay in the order of their keys."""
    nulls = [row for row in rows if step(row[0]) is None]
    others = [row for row in rows if step(row[0]) is not None]
    others.sort(key=lambda row: step(row[0]), reverse=descending)
    return nulls + others if nulls_first else others + nulls


def _stds(
    plan: Plan, names: tuple[str, ...], at: Sequence[int], errors: list[tuple[float, ...]]
) -> Std:
    """Return one number a column: where rows differ, the largest."""
    keys = len(plan.query.keys)
    found = []
    for i, place in enumerate(at):
        known = _known(plan, place - keys)
        column = [row[i] for row in errors if not math.isnan(row[i])]
        found.append(known if known is not None else max(column, default=math.nan))
    made = Std(found)
    made.names = names
    return made


def _known(plan: Plan, number: int) -> float | None:
    """Return the noise of a column that is the same in every row, also where there is none."""
    if number < 0:
        return 0.0
    aggregate = plan.query.aggregates[number]
    if aggregate.name not in ("COUNT", "SUM"):
        return None
    one = plan.measured[plan.places[aggregate.needs[0]]]
    return one.std * float(one.step)


_KEPT = 256  # plans
_ANY = "add or remove one unit with all rows"
FAILED = (
    "The database did not answer. What the query costs is charged all the same, since that it"
    " failed may tell something; check the database, and ask again."
)

FORGOTTEN = (
    'The policy names no ledger (ledger = "none"): what was spent is forgotten when this program'
    " ends, and the next one has the whole budget again; name a file in [budget], as"
    ' ledger = "people.ledger".'
)


class PreparedQuery(NamedTuple):
    """A plan, and its statements for the engine."""

    plan: Plan
    asked: list[PlannedStatement]


class Database:
    """A database that is open for noisy answers; `veil.dp.connect` opens one.

    Attributes
    ----------
    budget
        What may be spent, and what was; every connection to the same ledger shares it.
    tables
        The tables that may be asked, as the policy lists them.
    seeded
        Whether who knows the seed can repeat the draws: **not private**.
    """

    def __init__(
        self, engine: Engine, tables: dict[str, Source], budget: Budget, rng: Randomness = None
    ) -> None:
        self.budget, self.tables = budget, tables
        self.seeded = rng is not None
        self._engine = engine
        self._rng: Generator | None = None if rng is None else generator(rng)
        self._plans: OrderedDict[object, PreparedQuery] = OrderedDict()
        self._lock = Lock()

    def sql(
        self,
        query: str,
        epsilon: float = 0.5,
        delta: float = 0.0,
        params: Sequence[object] = (),
    ) -> Table:
        """Answer one SELECT with noise, and charge the budget for it.

        Parameters
        ----------
        query
            One SELECT of counts, sums, averages, variances and quantiles of listed columns.
        epsilon, delta
            What the whole query costs, however many columns it has; delta is needed, and charged,
            only where the keys of GROUP BY are not all public.
        params
            Values for each ``?``: they are data, and never read as SQL.

        Raises
        ------
        RefusedError
            The query is not one that is answered. Nothing is charged.
        BudgetError
            It would cost more than is left. Nothing is charged.
        """
        made = self._made(query, epsilon, delta, params)
        draws = generator(None) if self._rng is None else self._rng
        seed = int(draws.integers(2**63)) if self._rng is not None else secrets.randbits(63)
        statements = [_seeded(one.statement, seed) for one in made.asked]
        self._engine.ready()
        self.budget.spend(self._charge(made.plan.cost), note="sql")
        try:
            exact = exact_of(made.asked, self._engine.run(statements))
            return answer(made.plan, release(made.plan, exact, draws), seeded=self.seeded)
        except Exception:  # noqa: BLE001 - whatever it is may quote the data
            raise EngineError(FAILED) from None

    def explain(
        self,
        query: str,
        epsilon: float = 0.5,
        delta: float = 0.0,
        params: Sequence[object] = (),
    ) -> Explanation:
        """Say what a query would compute, with how much noise, at what cost; nothing is read."""
        made = self._made(query, epsilon, delta, params)
        return explain(made.plan, [one.statement.sql for one in made.asked])

    def close(self) -> None:
        """Close the database."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _charge(self, cost: Guarantee) -> Guarantee:
        """Return what is charged: units of all tables count alike, so that costs add up."""
        units = {None if table.unit is None else table.unit.name for table in self.tables.values()}
        return cost if len(units) == 1 else replace(cost, unit="unit", neighbours=_ANY)

    def _made(
        self, query: str, epsilon: float, delta: float, params: Sequence[object]
    ) -> PreparedQuery:
        """Return the plan of a query; those of the last queries are kept."""
        if not isinstance(query, str):
            raise RefusedError("A query must be a text with one SELECT.")
        if isinstance(params, str) or not isinstance(params, Sequence):
            raise RefusedError("The values of a query must be given as a list.")
        key = (query, repr(epsilon), repr(delta), repr([(type(one), one) for one in params]))
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key]
        plan = make_plan(read_query(query, self.tables, params), epsilon, delta)
        made = PreparedQuery(plan, write_statements(plan, self._engine.speech))
        with self._lock:
            self._plans[key] = made
            while len(self._plans) > _KEPT:
                self._plans.popitem(last=False)
        return made


def _seeded(statement: Statement, seed: int) -> Statement:
    """Put the seed of this query's sample in its place."""
    return statement._replace(
        values=tuple(seed if value is SEED else value for value in statement.values)
    )


def connect(url: str, policy: Mapping[str, Any] | str | Path, rng: Randomness = None) -> Database:
    """Open a database, and check the policy against it.

    Parameters
    ----------
    url
        ``duckdb:FILE``, ``sqlite:FILE`` or ``postgresql://...``; it is opened for reading alone.
    policy
        What may be asked: a mapping, or the path of a TOML file (see `veil.dp.sql.schema`). Its
        budget must name a ledger, which all programs share, or say ``"none"``.
    rng
        None for fresh randomness of the operating system. A seed or a generator is for
        experiments: answers are marked as seeded and **not private**.
    """
    loaded = load_policy(policy)
    engine = _opened(url)
    try:
        tables = tables_of(loaded.policy, engine)
        rule = loaded.policy.budget
        budget = Budget(rule.epsilon, rule.delta, rule.accountant, loaded.ledger)
    except BaseException:
        engine.close()
        raise
    return Database(engine, tables, budget, rng)


def _opened(url: str) -> Engine:
    """Open a database by what its address begins with; others are not loaded."""
    kind, _, rest = url.partition(":") if isinstance(url, str) else ("", "", "")
    if kind == "duckdb" and rest:
        from veil.dp.sql.engines.duckdb import DuckDB

        return DuckDB(rest)
    if kind == "sqlite" and rest:
        from veil.dp.sql.engines.sqlite import SQLite

        return SQLite(rest)
    if kind in ("postgresql", "postgres") and rest.startswith("//"):
        from veil.dp.sql.engines.postgresql import PostgreSQL

        return PostgreSQL(url)
    raise InputError(
        "The address of a database must be duckdb:FILE, sqlite:FILE or postgresql://HOST/NAME."
    )


__all__ = ["Cell", "Std", "Table", "answer"]
