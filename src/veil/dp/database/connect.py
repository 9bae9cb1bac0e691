"""Open a database for noisy answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.core.rng import Randomness
from veil.dp.accounting.budget import Budget
from veil.dp.database.database import Database
from veil.dp.database.engines.engine import Engine
from veil.dp.database.policy import load_policy
from veil.dp.database.schema import tables_of


def connect(url: str, policy: Mapping[str, Any] | str | Path, rng: Randomness = None) -> Database:
    """Open a database, and check the policy against it.

    Parameters
    ----------
    url
        ``duckdb:FILE``, ``sqlite:FILE`` or ``postgresql://...``; it is opened for reading alone.
    policy
        What may be asked: a mapping, or the path of a TOML file (see `veil.dp.database.policy`).
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
        from veil.dp.database.engines.duckdb import DuckDB

        return DuckDB(rest)
    if kind == "sqlite" and rest:
        from veil.dp.database.engines.sqlite import SQLite

        return SQLite(rest)
    if kind in ("postgresql", "postgres") and rest.startswith("//"):
        from veil.dp.database.engines.postgresql import PostgreSQL

        return PostgreSQL(url)
    raise InputError(
        "The address of a database must be duckdb:FILE, sqlite:FILE or postgresql://HOST/NAME."
    )
