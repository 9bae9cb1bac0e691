"""One PostgreSQL server for all tests, and a store of each kind for each of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.dp.sql.stores import ENGINES, Store
from tests.search.engines.database import running


@pytest.fixture(scope="package")
def server() -> Iterator[str]:
    """Return the address of a database of a server of our own."""
    with running() as told:
        given = dict(part.split("=", 1) for part in told.split())
        place = f"{given['user']}@{given['host']}:{given['port']}"
        yield f"postgresql://{place}/{given['dbname']}?sslmode=disable"


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Return an empty database of each kind in turn."""
    engine = str(request.param)
    address = str(request.getfixturevalue("server")) if engine == "postgresql" else ""
    return Store(engine, tmp_path, address)


@pytest.fixture
def duck(tmp_path: Path) -> Store:
    """Return an empty DuckDB file, for what is the same with all."""
    return Store("duckdb", tmp_path)
