"""What a policy may say, and that it is held against the database before anything is asked."""

import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.core.errors import InputError, LedgerError, MissingExtraError, install_hint
from veil.dp.sql.schema import load_policy

Rule = dict[str, Any]


def rule(**table: object) -> Rule:
    return {
        "budget": {"ledger": "none", "epsilon": 1.0},
        "tables": {"t": table or {"columns": {"n": {}}}},
    }


BAD: list[tuple[object, str]] = [
    ({}, "needs 'budget'"),
    ({"tables": {"t": {}}}, "needs 'budget'"),
    ({"budget": {"ledger": "none", "epsilon": 1}}, "needs 'tables'"),
    ({"budget": {"ledger": "none", "epsilon": 1}, "tables": {}}, "tables"),
    ({**rule(), "colour": 1}, "unknown entry 'colour'"),
    (
        {"budget": {"ledger": "none", "epsilon": 1, "gamma": 2}, "tables": {"t": {}}},
        "'budget.gamma'",
    ),
    ({"budget": {"ledger": "none", "epsilon": 0}, "tables": {"t": {}}}, "budget.epsilon"),
    ({"budget": {"ledger": "none", "epsilon": "1"}, "tables": {"t": {}}}, "budget.epsilon"),
    (
        {"budget": {"ledger": "none", "epsilon": float("inf")}, "tables": {"t": {}}},
        "budget.epsilon",
    ),
    (
        {"budget": {"ledger": "none", "epsilon": 1, "delta": 1}, "tables": {"t": {}}},
        "budget.delta",
    ),
    (
        {"budget": {"ledger": "none", "epsilon": 1, "accountant": "mine"}, "tables": {"t": {}}},
        "accountant",
    ),
    ({"budget": {"epsilon": 1}, "tables": {"t": {}}}, "at budget: 'ledger' must be a file"),
    ({"budget": {"epsilon": 1, "ledger": ""}, "tables": {"t": {}}}, "'ledger' must be a file"),
    ({"budget": {"epsilon": 1, "ledger": " "}, "tables": {"t": {}}}, "'ledger' must be a file"),
    ({"budget": {"epsilon": 1, "ledger": False}, "tables": {"t": {}}}, "budget.ledger"),
    (rule(max_row=1), "'tables.t.max_row'"),
    (rule(unit="u", max_rows=0), "max_rows"),
    (rule(unit="u", max_groups=0), "max_groups"),
    (rule(unit="u", max_rows=1.5), "max_rows"),
    (rule(unit="u", max_rows=True), "max_rows"),
    (rule(max_rows=2), "need a 'unit'"),
    (rule(columns={"n": {"bounds": [1, 1]}}), "the lower first"),
    (rule(columns={"n": {"bounds": [2, 1]}}), "the lower first"),
    (rule(columns={"n": {"bounds": [0, float("nan")]}}), "bounds"),
    (rule(columns={"n": {"bounds": [0, float("inf")]}}), "bounds"),
    (rule(columns={"n": {"bounds": [0, 1e40]}}), "bounds"),
    (rule(columns={"n": {"bounds": [0, 1e-40]}}), "bounds"),
    (rule(columns={"n": {"bounds": [0]}}), "bounds"),
    (rule(columns={"n": {"bounds": ["a", "b"]}}), "bounds"),
    (rule(columns={"n": {"keys": []}}), "keys"),
    (rule(columns={"n": {"keys": [1, 1]}}), "each value once"),
    (rule(columns={"n": {"keys": [1, "a"]}}), "all numbers or all strings"),
    (rule(columns={"n": {"key": [1]}}), "'tables.t.columns.n.key'"),
    (rule(columns=["n"]), "columns"),
    ("missing.toml", "Cannot read"),
    (7, "must be a mapping or the path"),
    # against the database
    (rule(columns={"z": {}}), "'t.z', but the database has no such column"),
    (rule(unit="z"), "'t.z', but the database has no such column"),
    (
        {"budget": {"ledger": "none", "epsilon": 1}, "tables": {"z": {}}},
        "'z', but the database has no such table",
    ),
    ({"budget": {"ledger": "none", "epsilon": 1}, "tables": {"v": {}}}, "Views are not allowed"),
    (rule(columns={"s": {"bounds": [0, 1]}}), "does not contain numbers"),
    (rule(columns={"s": {"keys": [1]}}), "must have the type of the column"),
    (rule(columns={"n": {"keys": ["a"]}}), "must have the type of the column"),
    (rule(columns={"d": {"keys": ["spring"]}}), "must have the type of the column"),
    (rule(columns={"s": {"keys": ["a\0"]}}), "without NUL"),
    (rule(columns={"b": {}}), "unsupported type"),
]


def test_what_a_policy_must_not_say(store: Store, tmp_path: Path) -> None:
    blob = {"duckdb": "BLOB", "sqlite": "BLOB", "postgresql": "bytea"}[store.engine]
    store.run("DROP VIEW IF EXISTS v")
    store.put("t", {"n": "whole", "s": "text", "d": "time", "b": blob}, [])
    store.run("CREATE VIEW v AS SELECT * FROM t")
    try:
        for given, sentence in BAD:
            what = tmp_path / given if isinstance(given, str) else given
            with pytest.raises(InputError) as told:
                dp.connect(store.url, what)  # type: ignore[arg-type]
            assert sentence in str(told.value), (given, told.value)
            assert str(told.value).endswith(".")
    finally:
        store.run("DROP VIEW v")


@pytest.mark.parametrize(
    "url", ["", "duckdb:", "mysql://x/y", "duckdb:nowhere.db", "sqlite:nowhere.db", "file.db", 3,
            "postgresql://127.0.0.1:1/x", "postgresql:x"],
)  # fmt: skip
def test_addresses_that_lead_nowhere(url: str) -> None:
    with pytest.raises(InputError):
        dp.connect(url, rule())


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_files_of_another_kind(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("no database at all\n" * 100)
    with pytest.raises(InputError, match="Cannot open"):
        dp.connect(f"{engine}:{path}", rule())


def test_a_policy_of_a_file(duck: Store, tmp_path: Path) -> None:
    duck.put("t", {"n": "whole", "s": "text", "d": "time"}, [(1, "a", "2024-01-01")] * 9)
    path = tmp_path / "policy.toml"
    path.write_text(
        """
        [budget]
        epsilon = 3
        delta = 1e-6
        ledger = "spent.ledger"
        [tables.t.columns]
        n = {bounds = [0, 10]}
        s = {keys = ["a", "b"]}
        d = {keys = [2024-01-01, 2024-01-02T00:00:00]}
        """
    )
    with dp.connect(duck.url, str(path), rng=1) as db:
        assert db.sql("SELECT s, COUNT(*) FROM t GROUP BY s", 1).columns == ("s", "COUNT(*)")
        days = db.sql("SELECT d, COUNT(*) FROM t GROUP BY d", 1)
        assert [row[0] for row in days.rows] == ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]
    assert (tmp_path / "spent.ledger").is_file()  # beside the policy
    with dp.connect(duck.url, path) as db:
        assert db.budget.remaining.epsilon == 1
    path.write_text(path.read_text().replace("epsilon = 3", "epsilon = 30"))
    with pytest.raises(LedgerError):
        dp.connect(duck.url, path)


@pytest.mark.parametrize("text", ["= nonsense", "a" * 10, '[budget]\nepsilon = "\xff"'])
def test_files_that_are_no_toml(text: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError):
        load_policy(path)


def test_keys_are_in_their_own_order(duck: Store) -> None:
    duck.put("t", {"n": "whole", "d": "time"}, [])
    keys = {"n": {"keys": [3, 1, 2]}, "d": {"keys": [date(2024, 1, 2), "2024-01-01"]}}
    with dp.connect(duck.url, rule(columns=keys)) as db:
        listed = db.tables["t"].columns
        assert listed["n"].keys == (1, 2, 3)
        assert listed["d"].keys == ("2024-01-01 00:00:00", "2024-01-02 00:00:00")


def test_columns_of_no_type_are_what_the_policy_says(tmp_path: Path) -> None:
    store = Store("sqlite", tmp_path)
    store.put(
        "t",
        {"u": "", "n": "", "s": "", "z": ""},
        [(i % 3, i % 4, "ab"[i % 2], 1) for i in range(24)],
    )
    known = {"n": {"bounds": [0, 3], "keys": [0, 1, 2, 3]}, "s": {"keys": ["a", "b"]}}
    with dp.connect(store.url, rule(unit="u", max_rows=9, max_groups=2, columns=known)) as db:
        assert db.tables["t"].columns["s"].column.kind == "text"
    with dp.connect(
        store.url, {**rule(columns=known), "budget": {"ledger": "none", "epsilon": 1e10}}, rng=1
    ) as db:
        found = db.sql("SELECT s, COUNT(*), SUM(n) FROM t GROUP BY s", 1e9).rows
        assert [row[:2] for row in found] == [("a", 12), ("b", 12)]
        assert [row[2] for row in found] == pytest.approx([12, 24], abs=1e-6)
        assert db.sql("SELECT n, COUNT(*) FROM t WHERE n > 1 GROUP BY n", 1e9).rows == [
            (0, 0), (1, 0), (2, 6), (3, 6),
        ]  # fmt: skip
    with pytest.raises(InputError, match="no declared type"):
        dp.connect(store.url, rule(columns={"z": {}}))


@pytest.mark.parametrize(
    ("missing", "remedy"), [("duckdb", install_hint("sql")), ("sqlglot", install_hint("sql"))]
)
def test_what_is_not_installed_is_named(
    duck: Store, monkeypatch: pytest.MonkeyPatch, missing: str, remedy: str
) -> None:
    duck.put("t", {"n": "whole"}, [])
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "veil.dp.sql.engines.duckdb", raising=False)
    with (
        pytest.raises(MissingExtraError, match=re.escape(remedy)),
        dp.connect(duck.url, rule()) as db,
    ):
        db.sql("SELECT COUNT(*) FROM t", 0.5)


def test_a_budget_that_every_program_has_anew_must_be_said(duck: Store, tmp_path: Path) -> None:
    """Two programs: with a ledger they share the budget; without one the owner must say so."""
    duck.put("t", {"n": "whole"}, [(1,)])
    path = tmp_path / "policy.toml"
    text = "[budget]\nepsilon = 1\n{}\n[tables.t]\n"
    path.write_text(text.format(""))
    with pytest.raises(InputError, match='"none" if every program may spend the whole budget'):
        dp.connect(duck.url, path)
    for line, left in (('ledger = "none"', 1.0), ('ledger = "people.ledger"', 0.5)):
        path.write_text(text.format(line))
        for _ in range(2):
            with dp.connect(duck.url, path) as db:
                before = db.budget.remaining.epsilon
                db.sql("SELECT COUNT(*) FROM t", 0.5)
        assert before == left
    assert not (tmp_path / "none").exists()
