"""The budget is charged before anything is read, once, for all who share the ledger."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.core.errors import BudgetError, EngineError
from veil.dp.sql.database import FAILED, Database
from veil.dp.sql.engine import Statement, select

COUNT = "SELECT COUNT(*) FROM t"


def rule(folder: Path | None = None, epsilon: float = 1.0) -> dict[str, Any]:
    ledger = "none" if folder is None else str(folder / "spent.ledger")
    return {
        "budget": {"epsilon": epsilon, "delta": 1e-6, "ledger": ledger},
        "tables": {"t": {"columns": {"n": {"bounds": [0, 9]}, "s": {}}}},
    }


@pytest.fixture
def filled(duck: Store) -> Store:
    duck.put("t", {"n": "whole", "s": "text"}, [(i, "secret") for i in range(50)])
    return duck


class Failing:
    """An engine that fails in the middle of an answer, in words that quote the data."""

    def __init__(self, engine: Any, error: Exception) -> None:  # noqa: ANN401
        self._engine, self._error = engine, error
        self.speech = engine.speech
        self.asked: list[Statement] = []

    def ready(self) -> None:
        self._engine.ready()

    def run(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        self.asked += statements
        raise self._error

    def close(self) -> None:
        self._engine.close()

    def table(self, name: str) -> None:
        raise NotImplementedError(name)


@pytest.mark.parametrize("error", [ValueError("secret"), RuntimeError(), MemoryError("secret")])
def test_an_engine_that_fails_is_told_of_in_one_sentence_and_the_charge_stays(
    filled: Store, error: Exception
) -> None:
    with dp.connect(filled.url, rule()) as made:
        db = Database(Failing(made._engine, error), made.tables, made.budget)
        with pytest.raises(EngineError) as told:
            db.sql(COUNT, 0.25)
        assert str(told.value) == FAILED
        assert told.value.__cause__ is None
        assert told.value.__suppress_context__
        assert made.budget.spent.epsilon == 0.25


def test_an_answer_that_cannot_be_read_is_no_other_failure(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dp.connect(filled.url, rule()) as db:
        monkeypatch.setattr(type(db._engine), "run", lambda *_: [[("secret",)]])
        with pytest.raises(EngineError) as told:
            db.sql(COUNT, 0.25)
        assert str(told.value) == FAILED
        assert db.budget.spent.epsilon == 0.25


def test_nothing_is_read_for_a_query_that_is_not_paid_for(filled: Store) -> None:
    with dp.connect(filled.url, rule()) as made:
        engine = Failing(made._engine, ValueError())
        db = Database(engine, made.tables, made.budget)
        for query, epsilon in ((COUNT, 1.5), ("SELECT n FROM t", 0.1), (COUNT, -1.0)):
            with pytest.raises((BudgetError, dp.RefusedError, ValueError)):
                db.sql(query, epsilon)
        db.explain(COUNT, 0.5)
        assert engine.asked == []
        assert made.budget.spent.epsilon == 0


def test_ten_tenths_are_one(filled: Store) -> None:
    with dp.connect(filled.url, rule()) as db:
        for _ in range(10):
            db.sql(COUNT, 0.1)
        assert tuple(db.budget.remaining) == (0.0, 1e-6)
        with pytest.raises(BudgetError):
            db.sql(COUNT, 1e-9)


def test_delta_is_charged_where_it_is_needed_alone(filled: Store) -> None:
    with dp.connect(filled.url, rule()) as db:
        assert db.sql(COUNT, 0.1, 1e-7).cost.delta == 0
        assert db.sql("SELECT s, COUNT(*) FROM t GROUP BY s", 0.1, 1e-7).cost.delta == 1e-7
        assert db.budget.spent.delta == 1e-7


def test_tables_with_different_units_share_one_budget(filled: Store) -> None:
    filled.put("w", {"p": "whole"}, [(1,)])
    both = rule()
    both["tables"]["w"] = {"unit": "p"}
    with dp.connect(filled.url, both) as db:
        one, other = db.sql(COUNT, 0.25).cost, db.sql("SELECT COUNT(*) FROM w", 0.25).cost
        assert (one.unit, other.unit) == ("record", "p")
        assert db.budget.spent.epsilon == 0.5


def test_the_ledger_holds_nothing_of_data_queries_or_answers(
    filled: Store, tmp_path: Path
) -> None:
    with dp.connect(filled.url, rule(tmp_path)) as db:
        db.sql("SELECT COUNT(*) FROM t WHERE s = 'quokka' AND n > ?", 0.5, params=[7])
    for path in tmp_path.glob("spent.ledger*"):
        content = path.read_bytes()
        assert b"quokka" not in content
        assert b"secret" not in content
        assert b"SELECT COUNT" not in content


_CHILD = """
import sys, time
from veil import dp
from veil.dp.sql.engines.duckdb import DuckDB
if sys.argv[4] == "hang":
    def hang(self, statements):
        if "LIMIT 0" in statements[0].sql:
            return [[]]
        print("charged", flush=True)
        time.sleep(600)
    DuckDB.run = hang
db = dp.connect(sys.argv[1], {
    "budget": {"epsilon": 1.0, "delta": 1e-6, "ledger": sys.argv[2]},
    "tables": {"t": {"columns": {}}},
})
answered = 0
print("open", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    try:
        db.sql("SELECT COUNT(*) FROM t", 0.1)
        answered += 1
    except dp.RefusedError:
        raise
    except Exception as error:
        if type(error).__name__ != "BudgetError":
            raise
print(answered, flush=True)
"""


def child(store: Store, ledger: Path, times: int, how: str) -> "subprocess.Popen[str]":
    arguments = [store.url, str(ledger), str(times), how]
    made = subprocess.Popen(
        [sys.executable, "-c", _CHILD, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert made.stdout is not None
    assert made.stdout.readline() == "open\n"
    return made


def begin(made: "subprocess.Popen[str]") -> None:
    assert made.stdin is not None
    made.stdin.write("\n")
    made.stdin.flush()


def test_a_process_that_is_killed_before_its_answer_has_paid(
    filled: Store, tmp_path: Path
) -> None:
    ledger = tmp_path / "spent.ledger"
    made = child(filled, ledger, 1, "hang")
    begin(made)
    assert made.stdout is not None
    assert made.stdout.readline() == "charged\n"
    made.send_signal(signal.SIGKILL)
    made.wait(120)
    with dp.connect(filled.url, rule(tmp_path)) as db:
        assert db.budget.spent.epsilon == 0.1
        assert db.sql(COUNT, 0.9).rows
    made.communicate()


def test_two_processes_never_spend_more_than_there_is(filled: Store, tmp_path: Path) -> None:
    ledger = tmp_path / "spent.ledger"
    dp.Budget(1.0, 1e-6, path=ledger)
    both = [child(filled, ledger, 8, "answer") for _ in range(2)]
    for made in both:
        begin(made)
    answered = [int(made.communicate(timeout=120)[0]) for made in both]
    assert sum(answered) == 10
    assert dp.Budget(1.0, 1e-6, path=ledger).remaining.epsilon == 0


def test_threads_share_a_connection(store: Store) -> None:
    store.put("t", {"n": "whole", "s": "text"}, [(i, "a") for i in range(50)])
    with dp.connect(store.url, rule(epsilon=1e9)) as db, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: db.sql(select(["COUNT(*)"], "t", [f"n < {i}"]), 1e7),
                              range(20)))  # fmt: skip
    assert [table.rows[0][0] for table in found] == list(range(20))
