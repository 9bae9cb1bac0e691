"""Recorded answers: written whole, read back the same, and checked."""

import json
from pathlib import Path

import numpy as np
import pytest

import veil
from veil.core.errors import EngineError, InputError, ParameterError, TrustError
from veil.core.types import Released, Seeded
from veil.search.engines import ENGINES
from veil.search.engines.engine import Hit, ranking
from veil.search.engines.local.replay import Replay, record


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    file = tmp_path / "answers.jsonl"
    lists = [[Hit("d1", 2.0, "One", "Text"), Hit("d2", 1.0)], [], [Hit("d2", 3.0)]]
    answers = ranking([*lists, []], 5, ["", "", "", "Not answered."])
    record(file, released("a b", "nothing", "é", "gap"), answers)
    return file


def test_what_was_recorded_is_answered(recorded: Path) -> None:
    engine = Replay(file=str(recorded)).open()
    assert not engine.network
    answers = engine.search(released("é", "a b", "nothing", "gap"), 1)
    assert [answers.list(row) for row in range(4)] == [("d2",), ("d1",), (), ()]
    assert answers.gaps == ("", "", "", "The query was not recorded in answers.jsonl.")
    assert answers.titles[answers.items.index("d1")] == "One"
    assert answers.scores[:2, 0].tolist() == [3.0, 2.0]


def test_the_file_is_for_its_owner_and_plain(recorded: Path) -> None:
    assert recorded.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]
    assert [line["query"] for line in lines] == ["a b", "nothing", "é"]
    assert lines[0]["items"][0] == {"id": "d1", "score": 2.0, "title": "One", "text": "Text"}
    assert [path.name for path in recorded.parent.iterdir()] == ["answers.jsonl"]


def test_a_failed_record_leaves_the_old_file(recorded: Path) -> None:
    before = recorded.read_bytes()
    bad = ranking([[Hit("d1")]], 5)
    object.__setattr__(bad, "items", ())
    with pytest.raises(IndexError):
        record(recorded, released("a"), bad)
    assert recorded.read_bytes() == before
    assert len(list(recorded.parent.iterdir())) == 1


def test_only_releases_are_recorded(tmp_path: Path) -> None:
    answers = ranking([[Hit("d1")]], 5)
    with pytest.raises(TrustError):
        record(tmp_path / "x", ["true query"], answers)  # type: ignore[list-item]
    with pytest.raises(InputError, match="Got 2 queries and 1 lists of answers"):
        record(tmp_path / "x", released("a", "b"), answers)
    assert list(tmp_path.iterdir()) == []


def test_experiments_may_use_a_seed_here(recorded: Path) -> None:
    engine = Replay(file=str(recorded)).open()
    assert engine.search([Seeded("a b")], 5).list(0) == ("d1", "d2")
    with pytest.raises(TrustError):
        engine.search(["a b"], 5)  # type: ignore[list-item]


def test_nothing_recorded_is_an_error(recorded: Path) -> None:
    engine = Replay(file=str(recorded)).open()
    with pytest.raises(EngineError, match="None of the queries was recorded in answers.jsonl."):
        engine.search(released("other", "words"), 5)
    assert len(engine.search([], 5)) == 0


def test_the_last_answer_to_a_query_counts(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    lines = [{"query": "a", "items": [{"id": number}]} for number in (1, 2)]
    file.write_text("\n\n".join(map(json.dumps, lines)))
    assert Replay(file=str(file)).open().search(released("a"), 5).list(0) == ("2",)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{", "Line 2 of a.jsonl must be a JSON object with 'query'"),
        (b"[]", "Line 2 of a.jsonl must be a JSON object with 'query'"),
        (b'{"query": 3, "items": []}', "Line 2 of a.jsonl must be"),
        (b'{"query": "secret", "items": {}}', "Line 2 of a.jsonl must be"),
        (b'{"query": "secret", "items": [{}]}', "Line 2 of a.jsonl has an item without an 'id'"),
        (b'{"query": "secret", "items": ["x"]}', "Line 2 of a.jsonl has an item without an 'id'"),
        (b"\xff\xfe", "Line 2 of a.jsonl must be a JSON object"),
        (b"[" * 100_000, "Line 2 of a.jsonl has too many JSON values, or too deeply nested ones"),
        (
            b'{"query": "secret", "items": [' + b"{}," * 300_000 + b"{}]}",
            "Line 2 of a.jsonl has too many JSON values, or too deeply nested ones",
        ),
        (
            b'{"query": "secret", "items": [' + b"3," * 10_000 + b"3]}",
            "Line 2 of a.jsonl has more than 10,000 items",
        ),
        (b" " * (16 * 2**20 + 1), "a.jsonl has a line of more than 16,777,216 bytes"),
    ],
)
def test_bad_lines_are_named_and_not_quoted(tmp_path: Path, line: bytes, sentence: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"query": "a", "items": []}\n' + line)
    with pytest.raises(InputError, match=sentence) as raised:
        Replay(file=str(file)).open()
    assert "secret" not in str(raised.value)


def test_odd_scores_do_not_disturb_the_order(tmp_path: Path) -> None:
    scores: list[object] = [1, None, 9, "x", float("nan"), 10**400]
    items = [{"id": str(place), "score": score} for place, score in enumerate(scores)]
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"query": "a", "items": items}))
    answers = Replay(file=str(file)).open().search(released("a"), 6)
    assert answers.list(0) == tuple("012345")
    assert (np.diff(answers.scores[0]) <= 0).all()


def test_files_and_collections_that_are_not_there(tmp_path: Path) -> None:
    engine = ENGINES.parse(f"replay(file='{tmp_path}/none')")
    with pytest.raises(InputError, match="does not exist"):
        engine.open()
    with pytest.raises(ParameterError, match="The replay engine takes no collection. Remove it."):
        Replay(file="x").open(object())
