"""Verbs over HTTP take and return contents of files, and are closed to paths."""

import base64
import json
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from tests.web.conftest import Client

from veil.core.errors import UnknownNameError, VeilError
from veil.ratings.attacks import ATTACKS
from veil.web.operation import openapi
from veil.web.verbs import FileAsk, VerbAsk, operation_of, verb_operations

POINTS = "x,y\n" + "".join(f"{100 * i},{50 * i}\n" for i in range(20))


def ask(domain: str, verb: str, **values: object) -> VerbAsk:
    """Read and check a request as the server does."""
    model = operation_of(domain, verb).ask
    request = model.read(json.loads(json.dumps(values)), strict=True)
    request.check()
    assert isinstance(request, VerbAsk)
    return request


def run(domain: str, verb: str, **values: object) -> dict[str, object]:
    """Run a verb as the server does."""
    operation = operation_of(domain, verb)
    answer = operation.run(None, ask(domain, verb, **values))  # type: ignore[arg-type]
    result: dict[str, object] = json.loads(answer.model_dump_json())
    return result


def file(name: str, text: str) -> dict[str, str]:
    return {"name": name, "text": text}


def test_a_verb_takes_and_returns_contents_of_files() -> None:
    answer = run("places", "protect", source=file("town.csv", POINTS), crs="metres",
                 mechanism="disk(radius=5)", out="moved.csv")  # fmt: skip
    files: Any = answer["files"]
    (written,) = files
    assert written["name"] == "moved.csv"
    assert len(base64.b64decode(written["base64"]).splitlines()) == 21
    measured = run("places", "measure", masked=file("a.csv", POINTS), of=file("b.csv", POINTS),
                   crs="metres", same_order=True)  # fmt: skip
    assert measured["data"]["utility"] == pytest.approx(1)  # type: ignore[index]


def test_a_verb_may_write_several_files() -> None:
    pairs = [(user, item) for user in range(9) for item in range(9)]
    rows = "".join(f"{user},{item},{(user + item) % 5 + 1}\n" for user, item in pairs)
    source = file("all.csv", f"user,item,rating\n{rows}")
    answer = run("ratings", "split", source=source, train="train.csv", test="test.csv")
    files: Any = answer["files"]
    assert {written["name"] for written in files} == {"train.csv", "test.csv"}
    for train in ("../train.csv", "all.csv"):
        with pytest.raises(VeilError, match="'train' parameter must"):
            run("ratings", "split", source=source, train=train, test="test.csv")
    attack = {"of": source, "attack": ["scoreboard(known=1)"], "scale": [1, 5]}
    risks: Any = run("ratings", "attack", target=file("released.csv", source["text"]), **attack)
    assert risks["data"]["scoreboard(known=1)"]["success"]["value"] >= 0
    assert run("ratings", "attack", target="pseudonyms()", **attack)["lines"]
    with pytest.raises(VeilError, match="'target' parameter must not name a file"):
        run("ratings", "attack", target="pyproject.toml", **attack)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"crs": "/etc/passwd"}, "'crs' parameter must not name a file"),
        ({"crs": "x" * 5_000}, "A coordinate system must be"),
        ({"crs": "../secret"}, "'crs' parameter must not name a file"),
        ({"crs": "http://elsewhere"}, "'crs' parameter must not name a file"),
        ({"users": "pyproject.toml"}, "'users' parameter must not name a file"),
        ({"mechanism": "nosuch"}, "No mechanism called 'nosuch'"),
        ({"source": {"name": "../town.csv", "text": POINTS}}, "simple name"),
        ({"source": {"name": "town.csv"}}, "either text or base64"),
        ({"source": {"name": "town.csv", "base64": "%%"}}, "cannot be decoded"),
        ({"out": "../moved.csv"}, "'out' parameter must"),
        ({"out": "town.csv"}, "simple name of a new file"),
        ({"seed": 1}, "has no such parameter"),
    ],
)
def test_a_request_cannot_name_anything_of_the_server(
    values: dict[str, object], sentence: str
) -> None:
    complete = {"source": file("town.csv", POINTS), "mechanism": "disk(radius=5)",
                "out": "moved.csv", "crs": "metres", **values}  # fmt: skip
    with pytest.raises(VeilError, match="(?s).*") as raised:
        run("places", "protect", **complete)
    assert sentence in str(raised.value)


def test_a_text_parameter_of_a_component_must_be_a_column_that_was_sent() -> None:
    class Attack(VerbAsk):
        registries = {"attack": ATTACKS}  # noqa: RUF012

        target: FileAsk
        attack: str

    table = file("town.csv", "age,illness\n31,flu\n32,gout\n")
    Attack.model_validate({"target": table, "attack": "attribute(column=illness)"}).check()
    with pytest.raises(VeilError, match="must be a column"):
        Attack.model_validate({"target": table, "attack": "attribute(column='secret')"}).check()


def test_every_verb_is_described() -> None:
    operations = list(verb_operations())
    paths = [operation.path for operation in operations]
    assert {"/api/places/attack", "/api/places/measure"} <= set(paths)
    described = openapi(operations)["paths"]
    assert set(described) == set(paths)  # type: ignore[call-overload]
    for operation in operations:
        names = set(operation.ask.model_fields)
        assert not names & {"seed", "workers", "dask", "report"}, operation.path
        assert operation.summary


def test_there_is_no_other_verb() -> None:
    for domain, verb in (("places", "remove"), ("nowhere", "protect"), ("tables", "dpia"),
                         ("task", "sentiment"), ("sensitive", "search")):  # fmt: skip
        with pytest.raises(UnknownNameError):
            operation_of(domain, verb)


def test_a_file_is_never_written_outside_of_its_folder(tmp_path: Path) -> None:
    for name in ("..", "a/b", ".hidden", "", "a" * 200):
        with pytest.raises(VeilError):
            FileAsk(name=name, text="x").write(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_header_does_not_make_a_path_of_the_server_a_column() -> None:
    sent = file("town.csv", "x,y,/etc/passwd\n1,2,3\n")
    with pytest.raises(VeilError, match="must not name a file"):
        ask("places", "measure", masked=sent, of=sent, crs="/etc/passwd")


def test_a_text_that_may_name_a_file_is_its_content_over_http() -> None:
    rows = "".join(f"{20 + i % 5},{'ab'[i % 2]}\n" for i in range(30))
    table = file("people.csv", "age,illness\n" + rows)
    answer = run("tables", "attack", masked={**table, "name": "masked.csv"}, of=table, qi=["age"])
    assert "risk" in str(answer["lines"])
    with pytest.raises(VeilError, match="must not name a file"):
        ask("tables", "attack", masked="pyproject.toml", of=table)


def test_a_program_calls_a_verb(client: Client) -> None:
    sent = file("town.csv", POINTS)
    body = {"masked": sent, "of": {**sent, "name": "b.csv"}, "crs": "metres", "same_order": True}
    reply = client.post("/api/places/measure", body)
    assert reply.status == 200
    assert json.loads(reply.body)["data"]["utility"] == pytest.approx(1)
    assert client.post("/api/places/measure", {**body, "crs": "/etc/passwd"}).status == 422
    for path in ("/api/places/remove", "/api/nowhere/measure", "/api/dp/budget"):
        assert client.post(path, body).status == 404
    assert client.get("/api/places/measure").status == 405


def test_no_text_shows_where_the_server_keeps_files() -> None:
    rows = "".join(f"{20 + i % 5},{'ab'[i % 2]}\n" for i in range(30))
    table = file("people.csv", "age,illness\n" + rows)
    answer = run("tables", "protect", file=table, mechanism=["mdav(k=3)"], qi=["age"], out="o.csv")
    assert "o.csv" in str(answer["notes"])
    assert str(Path(gettempdir())) not in json.dumps([answer["lines"], answer["notes"]])
    with pytest.raises(VeilError) as raised:
        run("places", "measure", masked=file("a.csv", "x,y\n1,north\n"), of=file("b.csv", POINTS))
    assert str(Path(gettempdir())) not in str(raised.value)
