"""The page of a database, and the interface behind it: answers, budget, and refusals."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.web.conftest import Client, MakeClient
from tests.web.people import NAME, people

from veil.dp.sql.database import Database

GROUPS = "SELECT sex, COUNT(*), AVG(income) FROM people GROUP BY sex"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with people(tmp_path) as made:
        yield made


@pytest.fixture
def asking(make_client: MakeClient, database: Database) -> Client:
    return make_client(database=database)


def answered(client: Client, path: str, asked: object) -> dict[str, Any]:
    reply = client.post(f"/api/dp/{path}", asked)
    assert reply.status == 200, reply.text
    return cast(dict[str, Any], reply.json())


def test_an_answer_has_noise_its_error_and_the_budget(asking: Client) -> None:
    answer = answered(asking, "sql", {"query": GROUPS, "epsilon": 1.0})
    assert answer["columns"] == ["sex", "COUNT(*)", "AVG(income)"]
    assert [row[0] for row in answer["rows"]] == [0, 1]
    assert all(abs(row[1] - 100) < 60 for row in answer["rows"])
    assert [errors[0] for errors in answer["errors"]] == [0, 0]
    assert min(errors[1] for errors in answer["errors"]) > 1
    assert (answer["budget"]["spent"], answer["budget"]["left"]) == (1.0, 2.0)
    assert answer["cost"]["kind"] == "dp"
    assert not answer["seeded"]
    again = answered(asking, "sql", {"query": GROUPS, "epsilon": 1.0})
    assert again["rows"] != answer["rows"]  # fresh noise, and it costs
    assert again["budget"]["left"] == 1.0


def test_values_are_bound_and_never_read_as_sql(asking: Client) -> None:
    request = {
        "query": "SELECT COUNT(*) FROM people WHERE income = ?",
        "params": [0],
        "epsilon": 0.5,
    }
    assert answered(asking, "sql", request)["rows"][0][0] < 60
    hostile = {**request, "params": ["0 OR 1=1"]}
    reply = asking.post("/api/dp/sql", hostile)
    assert reply.status == 422  # a number is compared with numbers


def test_explaining_costs_nothing(asking: Client) -> None:
    answer = answered(asking, "explain", {"query": GROUPS, "epsilon": 2.0})
    assert "standard deviation" in answer["says"]
    assert answer["budget"]["left"] == 3.0


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"query": "SELECT * FROM people"}, 422),
        ({"query": "SELECT name FROM people"}, 422),
        ({"query": "DROP TABLE people"}, 422),
        ({"query": "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people"}, 422),
        ({"query": "SELECT COUNT(*) FROM read_csv('/etc/passwd')"}, 422),
        ({"query": ""}, 422),
        ({"query": "x" * 10_001}, 422),
        ({"query": "SELECT COUNT(*) FROM people", "epsilon": 0}, 422),
        ({"query": "SELECT COUNT(*) FROM people", "epsilon": -1}, 422),
        ({"query": "SELECT COUNT(*) FROM people", "db": "duckdb:/etc/passwd"}, 422),
        ({"query": "SELECT COUNT(*) FROM people", "epsilon": 99}, 403),
    ],
)
def test_what_is_refused_costs_nothing_and_quotes_nothing(
    asking: Client, database: Database, asked: dict[str, object], status: int
) -> None:
    reply = asking.post("/api/dp/sql", asked)
    assert reply.status == status
    assert set(reply.json()) == {"error", "kind"}
    assert NAME not in reply.text
    assert database.budget.spent.epsilon == 0


def test_without_a_database_it_is_said_how_to_name_one(client: Client) -> None:
    reply = client.post("/api/dp/sql", {"query": "SELECT COUNT(*) FROM people"})
    assert reply.status == 404
    assert "--dp-policy" in reply.text
    assert "--dp-policy" in client.get("/database").text


def test_the_page_lists_what_may_be_asked_and_nothing_else(asking: Client) -> None:
    text = asking.get("/database").text
    assert "SELECT sex, COUNT(*) FROM people GROUP BY sex" in text
    assert "2 public keys" in text
    assert "from 0 to 20,000" in text
    assert "epsilon 3 of 3 left, delta 1e-06 of 1e-06 left" in text
    assert "e to the power of epsilon" in text
    assert NAME not in text


def test_a_seed_is_said(make_client: MakeClient, tmp_path: Path) -> None:
    with people(tmp_path, rng=1) as made:
        seeded = make_client(database=made)
        assert "NOT PRIVATE" in seeded.get("/database").text
        assert answered(seeded, "sql", {"query": "SELECT COUNT(*) FROM people"})["seeded"]


def test_a_budget_that_is_forgotten_is_said(
    asking: Client, make_client: MakeClient, tmp_path: Path
) -> None:
    assert "has no ledger" in asking.get("/database").text
    (tmp_path / "kept").mkdir()
    with people(tmp_path / "kept", ledger=tmp_path / "people.ledger") as made:
        assert "has no ledger" not in make_client(database=made).get("/database").text
