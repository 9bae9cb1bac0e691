"""Private SQL databases: open, check the policy, charge the budget, and answer with noise.

Noise is drawn for all groups in the order of their keys, one quantity after the other.
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
    """Groups in the order of their keys, with a noisy number for each quantity."""

    groups: tuple[Group, ...]
    noisy: tuple[tuple[Noisy, ...], ...]


def release(plan: Plan, exact: Exact, rng: Generator) -> Released:
    """Add noise to exact numbers; groups with secret keys must pass the threshold."""
    groups = groups_of(plan, exact)
    columns = [_column(quantity, groups, exact, rng) for quantity in plan.measured]
    rows = [tuple(column[i] for column in columns) for i in range(len(groups))]
    if plan.threshold is None:
        return Released(groups, tuple(rows))
    at = plan.places[Units()]
    shown = [i for i, row in enumerate(rows) if row[at].number >= plan.threshold]
    return Released(tuple(groups[i] for i in shown), tuple(rows[i] for i in shown))


def groups_of(plan: Plan, exact: Exact) -> tuple[Group, ...]:
    """Return all public groups, or the groups in the data, in the order of their keys."""
    if plan.combinations is not None:
        return plan.combinations
    if not plan.query.keys:
        return ((),)
    return tuple(sorted(exact.numbers, key=lambda group: [order(key) for key in group]))


def _column(
    measured: NoisyQuantity, groups: Sequence[Group], exact: Exact, rng: Generator
) -> list[Noisy]:
    if isinstance(measured.quantity, Rank):
        return [_rank(measured, measured.quantity, group, exact, rng) for group in groups]
    numbers = [exact.numbers.get(group, {}).get(measured.quantity, 0) for group in groups]
    noise = discrete_laplace(measured.scale, len(groups), rng).tolist()
    return [
        _noisy(measured, number + amount) for number, amount in zip(numbers, noise, strict=True)
    ]


def _noisy(measured: NoisyQuantity, number: int) -> Noisy:
    levels = measured.levels
    if not isinstance(measured.quantity, Sum) or levels is None:
        return Noisy(number, measured.std)
    step = float(levels.step)
    if measured.quantity.power == 0:
        value = number * levels.step
        total = int(value) if levels.step.denominator == 1 else float(value)
        return Noisy(total, measured.std * step)
    if levels.square:
        half = (levels.high - levels.low) / 2
        return Noisy(number, measured.std, step, -levels.offset * step, (0.0, half * half))
    start = levels.low - levels.offset * step
    return Noisy(number, measured.std, step, start, (levels.low, levels.high), levels.middle)


def _rank(
    measured: NoisyQuantity, quantity: Rank, group: Group, exact: Exact, rng: Generator
) -> Noisy:
    """Draw a quantile with the exponential mechanism, and return the value of its cell."""
    levels = measured.levels
    if levels is None:
        raise AssertionError
    pairs = sorted(exact.cells.get((group, quantity.place), []))
    cells = np.array([cell for cell, _ in pairs], dtype=np.int64)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    cell = int(quantile_of(measured).draw(np.repeat(cells, counts), 1, rng)[0])
    value = levels.low + cell * float(levels.step)
    whole = levels.step == 1 and levels.low.is_integer()
    return Noisy(int(value) if whole else min(levels.high, value), measured.std)


class Std(tuple[float, ...]):
    """Standard deviations of the noise, indexed by column number or name."""

    names: tuple[str, ...] = ()

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - a number, a slice or a name
        return super().__getitem__(self.names.index(at) if isinstance(at, str) else at)


@dataclass(frozen=True, eq=False)
class Table:
    """A noisy answer.

    Attributes
    ----------
    columns, rows
        Column names, and rows of plain values: keys and noisy numbers.
    cost
        Cost of the whole query.
    std
        Standard deviation of the noise in each column; 0 for keys, NaN for quantiles. For averages
        and variances, whose noise depends on the noisy count, it is the largest of any row.
    errors
        The same for each number of each row, approximately.
    threshold
        Noisy number of units that a group needs to be released; None if all groups are.
    seeded
        True if anyone with the seed can reproduce the draws: **not private**.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    cost: Guarantee
    std: Std
    errors: list[tuple[float, ...]]
    threshold: int | None
    seeded: bool


def answer(plan: Plan, released: Released, *, seeded: bool) -> Table:
    """Compute the answer from noisy numbers, including HAVING and ORDER BY."""
    query = plan.query
    rows: list[tuple[tuple[Value, ...], tuple[float, ...]]] = []
    for group, noisy in zip(released.groups, released.noisy, strict=True):
        cells = [
            MAKERS[aggregate.name]([noisy[plan.places[need]] for need in aggregate.needs])
            for aggregate in query.aggregates
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
    """Sort rows by one value; ties stay in the order of their keys."""
    nulls = [row for row in rows if step(row[0]) is None]
    others = [row for row in rows if step(row[0]) is not None]
    others.sort(key=lambda row: step(row[0]), reverse=descending)
    return nulls + others if nulls_first else others + nulls


def _stds(
    plan: Plan, names: tuple[str, ...], at: Sequence[int], errors: list[tuple[float, ...]]
) -> Std:
    """Return one standard deviation per column, the largest if rows differ."""
    keys = len(plan.query.keys)
    stds = []
    for i, place in enumerate(at):
        fixed = _fixed_std(plan, place - keys)
        column = [row[i] for row in errors if not math.isnan(row[i])]
        stds.append(fixed if fixed is not None else max(column, default=math.nan))
    std = Std(stds)
    std.names = names
    return std


def _fixed_std(plan: Plan, number: int) -> float | None:
    """Return the noise of a column if it is the same in every row, also without rows."""
    if number < 0:
        return 0.0
    aggregate = plan.query.aggregates[number]
    if aggregate.name not in ("COUNT", "SUM"):
        return None
    measured = plan.measured[plan.places[aggregate.needs[0]]]
    return measured.std * float(measured.step)


_MAX_PLANS = 256  # in the cache
_ANY = "add or remove one unit with all rows"
FAILED = (
    "The database did not answer. The query was charged anyway, because a failure may reveal"
    " something about the data. Check the database and try again."
)

FORGOTTEN = (
    'The policy has no ledger (ledger = "none"): spending is forgotten when this program ends, and'
    " the next program has the whole budget again. To keep it, set a file in [budget], such as"
    ' ledger = "people.ledger".'
)


class PreparedQuery(NamedTuple):
    """A plan and its statements for the engine."""

    plan: Plan
    statements: list[PlannedStatement]


class Database:
    """An open database that gives noisy answers; created by `veil.dp.connect`.

    Attributes
    ----------
    budget
        Total and spent budget, shared by all connections to the same ledger.
    tables
        The tables that may be queried, as listed in the policy.
    seeded
        True if anyone with the seed can reproduce the draws: **not private**.
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
        """Charge the budget for one SELECT, and answer it with noise.

        Parameters
        ----------
        query
            One SELECT of counts, sums, averages, variances and quantiles of listed columns.
        epsilon, delta
            Cost of the whole query, regardless of its number of columns. delta is required, and
            charged, only if some keys of GROUP BY are not public.
        params
            Value of each ``?``, always treated as data, never as SQL.

        Raises
        ------
        RefusedError
            The query is not supported or not allowed. Nothing is charged.
        BudgetError
            The query costs more than remains. Nothing is charged.
        """
        prepared = self._prepare(query, epsilon, delta, params)
        draws = generator(None) if self._rng is None else self._rng
        seed = int(draws.integers(2**63)) if self._rng is not None else secrets.randbits(63)
        statements = [_seeded(planned.statement, seed) for planned in prepared.statements]
        self._engine.ready()
        self.budget.spend(self._charge(prepared.plan.cost), note="sql")
        try:
            exact = exact_of(prepared.statements, self._engine.run(statements))
            return answer(prepared.plan, release(prepared.plan, exact, draws), seeded=self.seeded)
        except Exception:  # noqa: BLE001 - whatever it is may quote the data
            raise EngineError(FAILED) from None

    def explain(
        self,
        query: str,
        epsilon: float = 0.5,
        delta: float = 0.0,
        params: Sequence[object] = (),
    ) -> Explanation:
        """Return what a query would compute, its noise and its cost, without reading data."""
        prepared = self._prepare(query, epsilon, delta, params)
        return explain(prepared.plan, [planned.statement.sql for planned in prepared.statements])

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
        """Return the charge, with one unit name for all tables so that costs add up."""
        units = {None if table.unit is None else table.unit.name for table in self.tables.values()}
        return cost if len(units) == 1 else replace(cost, unit="unit", neighbours=_ANY)

    def _prepare(
        self, query: str, epsilon: float, delta: float, params: Sequence[object]
    ) -> PreparedQuery:
        """Return the plan of a query, from a cache if possible."""
        if not isinstance(query, str):
            raise RefusedError("A query must be a string with one SELECT.")
        if isinstance(params, str) or not isinstance(params, Sequence):
            raise RefusedError("The 'params' of a query must be a list.")
        key = (query, repr(epsilon), repr(delta), repr([(type(value), value) for value in params]))
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key]
        plan = make_plan(read_query(query, self.tables, params), epsilon, delta)
        prepared = PreparedQuery(plan, write_statements(plan, self._engine.speech))
        with self._lock:
            self._plans[key] = prepared
            while len(self._plans) > _MAX_PLANS:
                self._plans.popitem(last=False)
        return prepared


def _seeded(statement: Statement, seed: int) -> Statement:
    """Return the statement with the seed of this query's sample."""
    return statement._replace(
        values=tuple(seed if value is SEED else value for value in statement.values)
    )


def connect(url: str, policy: Mapping[str, Any] | str | Path, rng: Randomness = None) -> Database:
    """Open a database and check the policy against it.

    Parameters
    ----------
    url
        ``duckdb:FILE``, ``sqlite:FILE`` or ``postgresql://...``; opened read-only.
    policy
        Budget and allowed queries: a mapping, or the path of a TOML file (see
        `veil.dp.sql.schema`). Its budget must name a ledger, which all programs share, or
        ``"none"``.
    rng
        None for fresh randomness from the operating system. A seed or a generator is for
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
    """Open the database of a URL; only its engine is imported."""
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
    raise InputError("A database URL must be duckdb:FILE, sqlite:FILE or postgresql://HOST/NAME.")


__all__ = ["Cell", "Std", "Table", "answer"]
