"""A small database of people, and a policy for it."""

from pathlib import Path
from typing import Any

import pytest

from veil import dp
from veil.dp.sql.database import Database

duckdb: Any = pytest.importorskip("duckdb", reason="the extra 'sql' is not installed")
pytest.importorskip("sqlglot", reason="the extra 'sql' is not installed")

NAME = "xanthippe"  # of a person; no answer may hold it


def people(
    folder: Path, epsilon: float = 3.0, rng: int | None = None, ledger: Path | None = None
) -> Database:
    """Write 200 people, and open them for noisy answers."""
    file = folder / "people.duckdb"
    with duckdb.connect(str(file)) as db:
        db.execute(
            "CREATE TABLE people AS SELECT i AS person, i % 2 AS sex, i * 100 AS income,"
            " ? AS name FROM range(200) AS t(i)",
            [NAME],
        )
    policy = {
        "budget": {"epsilon": epsilon, "delta": 1e-6, "ledger": str(ledger or "none")},
        "tables": {
            "people": {
                "unit": "person",
                "columns": {"sex": {"keys": [0, 1]}, "income": {"bounds": [0, 20_000]}},
            }
        },
    }
    return dp.connect(f"duckdb:{file}", policy, rng=rng)
