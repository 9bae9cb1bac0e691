"""The page of sensitive documents, and the interface behind it: who sees what, and refusals."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.sensitive.drawer import HIDDEN, LETTERS, WITHHELD, drawer
from tests.web.conftest import Client, FakeDesk, MakeClient

from veil.sensitive.index import Stored

SPECS = ("prefilter(threshold=0.5)", "postfilter(threshold=0.5)")


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return drawer(tmp_path)


@pytest.fixture
def searching(make_client: MakeClient, stored: Stored) -> Client:
    return make_client(sensitive=stored)


def answered(client: Client, path: str, **asked: object) -> dict[str, Any]:
    reply = client.post(f"/api/sensitive/{path}", asked)
    assert reply.status == 200, reply.text
    return cast(dict[str, Any], reply.json())


@pytest.mark.parametrize("strategy", [*SPECS, "relevance()", "demoted(beta=1)"])
def test_who_is_not_cleared_gets_what_the_strategy_shows_and_nothing_else(
    searching: Client, stored: Stored, strategy: str
) -> None:
    uncleared_answer = answered(searching, "search", query="gas prices", strategy=strategy)
    answer = stored.search("gas prices", strategy)
    names = [stored.collection.documents.ids[place] for place in answer.positions]
    assert [item["id"] for item in uncleared_answer["shown"]] == names
    assert uncleared_answer["total"] == answer.total
    assert set(uncleared_answer) == {
        "strategy",
        "shown",
        "total",
        "cost",
    }  # no count of what is withheld
    assert set(uncleared_answer["shown"][0]) == {"id", "title", "text"}  # no score, no probability
    assert uncleared_answer["cost"]["kind"] == "none"
    assert uncleared_answer["cost"]["caveat"]


@pytest.mark.parametrize("strategy", SPECS)
def test_no_word_of_what_is_withheld_reaches_who_is_not_cleared(
    searching: Client, strategy: str
) -> None:
    for query in ("gas prices", HIDDEN, "clinic", "gas leak home"):
        reply = searching.post("/api/sensitive/search", {"query": query, "strategy": strategy})
        assert reply.status == 200
        assert HIDDEN not in reply.text
    assert answered(searching, "search", query=HIDDEN, strategy=strategy)["total"] == 0


def test_prefilter_answers_the_same_bytes_whatever_is_withheld(
    make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    first = make_client(sensitive=drawer(tmp_path / "one"))
    secret = [item for item in LETTERS if HIDDEN in item[1]]
    assert len(secret) == WITHHELD
    others = [item for item in LETTERS if HIDDEN not in item[1]]
    rest = [*others, ("Other", "nothing of gas", 0.9, 1)]
    monkeypatch.setattr("tests.sensitive.drawer.LETTERS", tuple(rest))
    second = make_client(sensitive=drawer(tmp_path / "other"))
    for query in ("gas prices", "clinic", HIDDEN, "pipeline capacity"):
        request = {"query": query, "strategy": SPECS[0]}
        item, other = (answered(client, "search", **request) for client in (first, second))
        for document in (*item["shown"], *other["shown"]):
            document.pop("id")  # a number among all letters
        assert item == other


def test_who_is_cleared_sees_everything_and_what_the_others_do_not(searching: Client) -> None:
    answer = answered(searching, "cleared", query="gas prices", strategy=SPECS[1])
    ids = {item["id"]: item for item in answer["shown"]}
    assert set(ids) == {f"m{number}" for number in range(len(LETTERS))}
    assert answer["total"] == len(LETTERS)
    assert answer["withheld"] == WITHHELD
    assert [item for item in ids if ids[item]["rank"] is None] == [
        item for item in ids if HIDDEN in ids[item]["text"]
    ]
    assert ids["m5"]["p"] is None  # nothing is known: withheld
    assert (ids["m3"]["label"], ids["m3"]["p"]) == (True, 1)  # a human wins over the classifier
    assert (ids["m0"]["label"], ids["m1"]["label"]) == (False, None)
    ranks = sorted(item["rank"] for item in answer["shown"] if item["rank"])
    assert ranks == list(range(1, len(LETTERS) - WITHHELD + 1))


def test_a_text_is_shown_by_how_it_begins(make_client: MakeClient, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    long = ("t" * 1_000, "gas " + "word " * 1_000, 0.1, -1)
    monkeypatch.setattr("tests.sensitive.drawer.LETTERS", (long, *LETTERS))
    client = make_client(sensitive=drawer(tmp_path))
    item = answered(client, "search", query="word", strategy="relevance()")["shown"][0]
    assert len(item["title"]) == 200
    assert len(item["text"]) < 250
    assert item["text"].endswith("…")


@pytest.mark.parametrize(
    "asked",
    [
        {"query": ""},
        {"query": "  "},
        {"query": "x" * 1_001},
        {"query": "gas", "strategy": "joint(cost=12)"},
        {"query": "gas", "strategy": "demoted(trained=true)"},
        {"query": "gas", "strategy": "demoted(encoder='/etc/passwd')"},
        {"query": "gas", "strategy": "prefilter(threshold=2)"},
        {"query": "gas", "strategy": "prefilter"},
        {"query": "gas", "strategy": "prefilter(" * 30},
        {"query": "gas", "k": 0},
        {"query": "gas", "k": 51},
        {"query": "gas", "index": "/etc"},
    ],
)
@pytest.mark.parametrize("path", ["search", "cleared"])
def test_what_is_refused_is_told_in_a_sentence(
    searching: Client, path: str, asked: dict[str, object]
) -> None:
    reply = searching.post(f"/api/sensitive/{path}", asked)
    assert reply.status == 422
    assert set(reply.json()) == {"error", "kind"}
    assert HIDDEN not in reply.text


def test_a_search_is_neither_sent_nor_kept(
    searching: Client, desk: FakeDesk, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    for path in ("search", "cleared"):
        answered(searching, path, query="quokkapox gas", strategy=SPECS[0])
    assert desk.searched == []
    assert desk.kept is None
    assert sorted(tmp_path.rglob("*")) == before


def test_strategies_that_were_opened_are_kept_a_few_at_a_time(searching: Client) -> None:
    first = answered(searching, "search", query="gas", strategy="prefilter(threshold=0.5)")
    for threshold in np.linspace(0.1, 0.9, 20):
        answered(searching, "search", query="gas", strategy=f"prefilter(threshold={threshold})")
    again = answered(searching, "search", query="gas", strategy="prefilter(threshold=0.5)")
    assert again == first


def test_without_an_index_it_is_said_how_to_name_one(client: Client) -> None:
    for path in ("search", "cleared"):
        reply = client.post(f"/api/sensitive/{path}", {"query": "gas"})
        assert reply.status == 404
        assert "--sensitive" in reply.text
    text = client.get("/sensitive").text
    assert "veil sensitive index" in text
    assert "sensitive.js" not in text


def test_the_page_holds_no_document(searching: Client) -> None:
    text = searching.get("/sensitive").text
    assert f"{len(LETTERS)} documents are indexed" in text
    assert "sensitive.js" in text
    assert HIDDEN not in text
    assert "Budget of May" not in text
