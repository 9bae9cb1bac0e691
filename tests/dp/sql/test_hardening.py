"""What a connection cannot do, even if a statement of another kind got through."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.dp.sql.database import Database
from veil.dp.sql.engine import Statement

RULE = {"budget": {"ledger": "none", "epsilon": 1}, "tables": {"t": {"columns": {"n": {}}}}}
FORBIDDEN = {
    "duckdb": [
        "CREATE TABLE x (n INT)", "INSERT INTO t VALUES (2)", "DROP TABLE t", "COPY t TO '{file}'",
        "SELECT * FROM read_text('{file}')", "SELECT * FROM read_csv('{file}')", "FROM '{file}'",
        "ATTACH '{file}' AS y", "INSTALL httpfs", "SET enable_external_access = true",
        "SET threads = 2", "EXPORT DATABASE '{file}'", "SELECT * FROM glob('/*')",
    ],
    "sqlite": [
        "CREATE TABLE x (n INT)", "INSERT INTO t VALUES (2)", "DROP TABLE t", "DELETE FROM t",
        "PRAGMA query_only = OFF", "ATTACH '{file}' AS y", "SELECT load_extension('x')",
        "VACUUM INTO '{file}'", "SELECT readfile('{file}')", "SELECT randomblob(9)",
        "CREATE TEMP TABLE x (n INT)",
        "SELECT * FROM pragma_database_list",
    ],
    "postgresql": [
        "CREATE TABLE x (n INT)", "INSERT INTO public.t VALUES (2)", "DROP TABLE public.t",
        "COPY public.t TO '{file}'", "COPY public.t TO PROGRAM 'cat'",
        "SELECT nextval('public.counter')", "SELECT n FROM t",  # names are looked up nowhere
    ],
}  # fmt: skip


@pytest.fixture
def db(store: Store) -> Iterator[Database]:
    store.put("t", {"n": "whole"}, [(1,)])
    if store.engine == "postgresql":
        store.run("CREATE SEQUENCE IF NOT EXISTS counter")
    with dp.connect(store.url, RULE) as db:
        yield db


def test_connections_read_and_do_nothing_else(db: Database, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.write_text("a\n1\n")
    for forbidden in FORBIDDEN[store.engine]:
        with pytest.raises(Exception, match=r"."):
            db._engine.run([Statement(forbidden.format(file=file), ())])
    asked = Statement('SELECT COUNT(*) FROM "t"' if store.engine != "postgresql" else
                      "SELECT COUNT(*) FROM public.t", ())  # fmt: skip
    assert db._engine.run([asked]) == [[(1,)]]
    assert file.read_text() == "a\n1\n"


def test_two_connections_of_one_process(store: Store) -> None:
    store.put("t", {"n": "whole"}, [(1,)])
    with dp.connect(store.url, RULE) as one, dp.connect(store.url, RULE) as other:
        assert len(one.sql("SELECT COUNT(*) FROM t", 0.5).rows) == 1
        assert len(other.sql("SELECT COUNT(*) FROM t", 0.5).rows) == 1


def test_a_server_that_was_away_is_asked_again(server: str, tmp_path: Path) -> None:
    store = Store("postgresql", tmp_path, server)
    store.put("t", {"n": "whole"}, [(1,)])
    with dp.connect(store.url, RULE) as db:
        with store.writing() as made:
            made.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'veil'"
            )
        assert len(db.sql("SELECT COUNT(*) FROM t", 0.5).rows) == 1
        assert db.budget.spent.epsilon == 0.5
