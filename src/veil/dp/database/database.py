"""A database that is asked in SQL: checked, charged, read, and answered with noise."""

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from types import TracebackType
from typing import NamedTuple, Self

from numpy.random import Generator

from veil.core.errors import EngineError, RefusedError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.dp.accounting.budget import Budget
from veil.dp.database.answer import Table, answer
from veil.dp.database.engines.engine import SEED, Engine, Statement
from veil.dp.database.explanation import Explanation, explain
from veil.dp.database.noise import release
from veil.dp.database.plan import Plan, make_plan
from veil.dp.database.query import read_query
from veil.dp.database.schema import Table as Source
from veil.dp.database.statements import Asked, asked_of, exact_of

_KEPT = 256  # plans
_ANY = "add or remove one unit with all rows"
FAILED = (
    "The database did not answer. What the query costs is charged all the same, since that it"
    " failed may tell something; check the database, and ask again."
)

FORGOTTEN = (
    "The policy names no ledger: what was spent is forgotten when this program ends, and the next"
    ' one has the whole budget again; name one, as ledger = "people.ledger" in [budget].'
)


class Made(NamedTuple):
    """A plan, and its statements for the engine."""

    plan: Plan
    asked: list[Asked]


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
        self._plans: OrderedDict[object, Made] = OrderedDict()
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

    def _made(self, query: str, epsilon: float, delta: float, params: Sequence[object]) -> Made:
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
        made = Made(plan, asked_of(plan, self._engine.speech))
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
