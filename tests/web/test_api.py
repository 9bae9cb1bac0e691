"""The interface for programs: the verbs of the command line, and readable refusals."""

import json
import sys
from typing import cast

import pytest
from tests.web.conftest import CANARY, Client, FakeDesk, MakeClient, errors

from veil.cli import run
from veil.core.errors import AssetError, VeilError
from veil.proxy.results import ResultItem
from veil.proxy.settings import Configuration
from veil.search.pipeline import MAX_QUERY
from veil.text.redact.redactor import FOUND, Patterns
from veil.text.redact.span import Span
from veil.text.vectors.embeddings import Embeddings

Tree = dict[str, object]
PROTECT: Tree = {"texts": ["bababa dada"], "mechanism": "cmp(epsilon=1)"}
EXPLAIN: Tree = {"words": ["bababa"], "mechanism": "cmp(epsilon=1)"}


def trees(value: object) -> list[Tree]:
    return cast(list[Tree], value)


def test_a_search_answers_with_everything(client: Client, desk: FakeDesk) -> None:
    reply = client.post("/api/search", {"query": "cat", "show": 3}).json()
    assert (reply["engine"], reply["network"]) == ("fake", True)
    (item,) = trees(reply["answers"])
    assert [value["title"] for value in trees(item["results"])] == [
        "Title 1",
        "Title 2",
        "Title 3",
    ]
    assert trees(item["results"])[0]["link"] == "https://example.org/1"
    assert trees(item["variants"])[0]["marks"] == [
        {"text": "dog", "kind": "changed"},
        {"text": " ", "kind": "layout"},
        {"text": "cat", "kind": "same"},
    ]
    assert trees(item["variants"])[1]["gap"] == "No answer."
    assert item["cost"] == {
        "kind": "metric-dp",
        "epsilon": 20.0,
        "metric": "euclidean",
        "unit": "release",
        "caveat": "Only so far.",
        "passed": 0,
        "bits": None,
        "says": "metric-dp: 20 * euclidean, per release",
    }
    assert item["budget"] == {
        "day": "2026-11-16",
        "spent": 40.0,
        "limit": 100.0,
        "left": 60.0,
        "unproved": 0,
        "free": None,
        "bits": 0.0,
        "bits_limit": None,
        "bits_left": None,
    }
    assert item["earlier"] is None  # without bound
    assert item["plain_top10_came_back"] == 0.4
    assert cast(Tree, item["preflight"])["standings"] == [
        {
            "attacker": "inference",
            "rank": 3,
            "candidates": 500,
            "ties": 1,
            "last": 3,
            "mean": 3.0,
        }
    ]
    assert desk.searched == [("cat", Configuration("cmp(epsilon=2.0)", 5), False)]


@pytest.mark.parametrize(
    ("more", "setting", "plain"),
    [
        ({}, Configuration("cmp(epsilon=2.0)", 5), False),
        ({"stop": 0}, Configuration("cmp(epsilon=1.0)", 5), False),
        ({"mechanism": "tem(epsilon=3)"}, Configuration("tem(epsilon=3)", 20), False),
        ({"mechanism": "tem(epsilon=3)", "size": 4}, Configuration("tem(epsilon=3)", 4), False),
        ({"plain": True}, Configuration("cmp(epsilon=2.0)", 5), True),
    ],
)
def test_the_setting_of_a_search(
    client: Client, desk: FakeDesk, more: Tree, setting: Configuration, plain: bool
) -> None:
    client.form("/search", {"q": "a", "stop": 2})  # what a page used is its own affair
    desk.searched.clear()
    assert client.post("/api/search", {"query": "cat", **more}).status == 200
    assert desk.searched == [("cat", setting, plain)]


def test_many_queries_at_once(make_client: MakeClient, desk: FakeDesk) -> None:
    client = make_client(rate=5)
    outcome = client.post("/api/search", {"queries": ["a", "b", "c"]}).json()
    assert len(trees(outcome["answers"])) == 3
    assert [query for query, *_ in desk.searched] == ["a", "b", "c"]
    assert [client.get("/api/budget").status for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": "a", "queries": ["b"]},
        {"queries": []},
        {"queries": ["a"] * 101},
        {"queries": CANARY},
        {"queries": [CANARY, 5]},
        {"query": [CANARY]},
        {"query": 5},
        {"query": None},
        {"query": ""},
        {"query": " \n"},
        {"queries": ["a", ""]},
        {"query": "x" * (MAX_QUERY + 1)},
        {"query": "\ud800"},
        {"query": CANARY, "stop": 3},
        {"query": CANARY, "stop": -1},
        {"query": CANARY, "stop": True},
        {"query": CANARY, "stop": "1"},
        {"query": CANARY, "stop": 1, "mechanism": "cmp(epsilon=1)"},
        {"query": CANARY, "size": 5},
        {"query": CANARY, "mechanism": "cmp(epsilon=1)", "size": 0},
        {"query": CANARY, "mechanism": "cmp(epsilon=1)", "size": 1001},
        {"query": CANARY, "show": 0},
        {"queries": [CANARY], "plain": True},
        {"query": CANARY, "plain": 1},
        {"query": CANARY, "seed": 1},
        {CANARY: 1, "query": "a"},
        [CANARY],
        CANARY,
        None,
        5,
    ],
)
def test_odd_searches_are_refused_and_not_quoted(
    client: Client, desk: FakeDesk, body: object
) -> None:
    client.post("/api/search", body).refused(422)
    assert desk.searched == []


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            {"query": "a", "show": 0},
            "The 'show' parameter of search must be greater than or equal to 1.",
        ),
        (
            {"queries": ["a", 5]},
            "The 'queries' parameter of search, item 2, must be a valid string.",
        ),
        (
            {"queries": ["a"] * 101},
            "The 'queries' parameter of search must have at most 100 items.",
        ),
        (
            {"query": "a", "q": 1},
            "search has no such parameter. Its parameters are: query, queries, mechanism, size,"
            " stop, plain, show.",
        ),
        ({}, "The request must have either 'query' or 'queries'."),
        (
            [],
            "The request must be a JSON object. Its parameters are: query, queries, mechanism,"
            " size, stop, plain, show.",
        ),
    ],
)
def test_a_refusal_says_what_must_hold(client: Client, body: object, sentence: str) -> None:
    assert client.post("/api/search", body).refused(422) == sentence


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"query": "a"} x',
        b'{"query": "a", "query": "b"}',
        b'{"query": "a", "show": NaN}',
        b'{"query": "a", "show": Infinity}',
        b'{"query": "a", "show": 1e999}',
        b'{"query": "a", "show": ' + b"9" * 5000 + b"}",
        b'\xff\xfe{"query": "a"}',
        b'\xef\xbb\xbf{"query": "a"}',
        b'{"query": "caf\xe9"}',
        b"[" * 200_000,
        b'{"query": ' * 50_000,
        b'{"query": "\\ud800 ' + CANARY.encode() + b'"}',
        b"query=a",
    ],
)
def test_what_is_not_strict_json_is_refused(client: Client, desk: FakeDesk, body: bytes) -> None:
    client.post("/api/search", body).refused(422)
    assert desk.searched == []


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"]
)
def test_a_plain_form_never_reaches_the_interface(
    client: Client, desk: FakeDesk, kind: str
) -> None:
    for path, body in (("search", {"query": "a"}), ("protect", PROTECT), ("explain", EXPLAIN)):
        client.post(f"/api/{path}", body, content_type=kind).refused(415)
    headers = [("content-type", "application/json")] * 2
    assert client.ask("POST", "/api/search", headers, b'{"query": "a"}').status == 415
    assert desk.searched == []
    spelt = client.post("/api/search", {"query": "a"}, content_type="Application/JSON; charset=x")
    assert spelt.status == 200


def test_a_long_request_is_refused(client: Client, desk: FakeDesk) -> None:
    client.post("/api/search", {"query": "x" * 2_000_000}).refused(413)
    client.post("/api/search", {"query": "x" * 100_000}).refused(422)
    assert desk.searched == []


@pytest.mark.parametrize(("error", "status", "kind"), errors())
def test_what_the_desk_refuses_is_said(
    client: Client, desk: FakeDesk, error: type[VeilError], status: int, kind: str
) -> None:
    desk.fails = desk.closed = error("A sentence of the desk.")
    reply = client.post("/api/search", {"query": CANARY})
    assert reply.refused(status, kind) == "A sentence of the desk."
    assert client.get("/api/budget").refused(status, kind) == "A sentence of the desk."
    assert client.post("/api/search", {"queries": [CANARY]}).refused(status, kind)


def test_an_unexpected_error_tells_no_secret(client: Client, desk: FakeDesk) -> None:
    desk.fails = KeyError(CANARY)
    message = client.post("/api/search", {"query": CANARY}).refused(500, "server")
    assert message.startswith("internal error (KeyError at conftest.py:")


def test_halves_of_characters_from_an_engine_are_replaced(client: Client, desk: FakeDesk) -> None:
    desk.results = (ResultItem(1, "\ud800", "a\udfff", "\ud83d", float("-inf")),)
    (item,) = trees(client.post("/api/search", {"query": "cat"}).json()["answers"])
    assert trees(item["results"])[0] == {
        "rank": 1, "id": "?", "title": "a?", "text": "?", "score": None, "link": "", "path": "",
    }  # fmt: skip


def test_texts_are_protected(client: Client, space: Embeddings) -> None:
    body = {"texts": ["bababa zzz 42!", "dababa"], "mechanism": "cmp(epsilon=1)", "size": 3}
    body |= {"unknown": "mask", "policies": {"number": "keep"}, "select": "all"}
    reply = client.post("/api/protect", body).json()
    assert (reply["mechanism"], reply["size"]) == ("cmp(epsilon=1.0)", 3)
    assert reply["seeded"] is False
    first, second = trees(reply["texts"])
    assert (first["protected_words"], first["kept_words"]) == (1, ["42"])
    variants = cast(list[str], first["variants"])
    assert len(variants) == 3
    for variant in variants:
        word, mask, number = variant.split(" ")
        assert word in space.words
        assert (mask, number) == ("[MASK]", "42!")
    assert len(cast(list[str], second["variants"])) == 3
    assert cast(Tree, reply["cost"])["epsilon"] == 6.0


def test_personal_data_is_replaced_first(client: Client) -> None:
    texts = ["bababa ada@example.org, 4111_1111_1111_1111", "dababa"]
    body = {"texts": texts, "mechanism": "cmp(epsilon=1)", "redact": "patterns", "select": "all"}
    reply = client.post("/api/protect", body).json()
    first, second = trees(reply["texts"])
    assert (first["redacted"], second["redacted"]) == (["EMAIL", "CARD"], [])
    (variant,) = cast(list[str], first["variants"])
    assert variant.split(" ", 1)[1] == "[EMAIL], [CARD]"
    assert FOUND in str(reply["cost"])
    without = client.post("/api/protect", body | {"redact": None}).json()
    assert "[EMAIL]" not in str(without)
    assert FOUND not in str(without)


def test_redaction_fails_closed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command does: nothing is released where nobody could look."""
    body: dict[str, object] = {"texts": ["bababa ada@example.org"], "mechanism": "cmp(epsilon=1)"}
    for wrong in ("pattern", "", True, ["patterns"], {"by": "patterns"}):
        assert "redact" in client.post("/api/protect", body | {"redact": wrong}).refused(422)
    whole = body | {"mechanism": "blind", "redact": "patterns"}
    assert "'redact'" in client.post("/api/protect", whole).refused(422)

    def fails(self: Patterns, text: str) -> list[Span]:
        raise RuntimeError(text)

    monkeypatch.setattr(Patterns, "spans", fails)
    reply = client.post("/api/protect", body | {"redact": "patterns"})
    assert "ada" not in reply.refused(500, "server")
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    reply = client.post("/api/protect", body | {"redact": "presidio"})
    assert "[pii]" in reply.refused(500, "server")


def test_a_text_of_which_nothing_is_protected_passes_on_request_only(client: Client) -> None:
    body = {"texts": ["dababa"], "mechanism": "cmp(epsilon=1)", "select": ["bababa"], "size": 2}
    for more in ({}, {"in_clear": False}):
        assert "in_clear" in client.post("/api/protect", body | more).refused(422)
    reply = client.post("/api/protect", body | {"in_clear": True}).json()
    assert trees(reply["texts"]) == [
        {
            "variants": ["dababa"] * 2,
            "protected_words": 0,
            "kept_words": ["dababa"],
            "redacted": [],
        }
    ]
    cost = cast(Tree, reply["cost"])
    assert (cost["kind"], cost["epsilon"], cost["passed"]) == ("none", None, 1)
    client.post("/api/protect", body | {"in_clear": "yes"}).refused(422)


def test_draws_are_fresh(client: Client) -> None:
    body = {"texts": ["bababa " * 50], "mechanism": "cmp(epsilon=0.1)"}
    first, second = (client.post("/api/protect", body).json()["texts"] for _ in range(2))
    assert first != second


def test_a_seed_is_refused(client: Client) -> None:
    for path, body in (("protect", PROTECT), ("explain", EXPLAIN), ("search", {"query": "a"})):
        assert "no such parameter" in client.post(f"/api/{path}", {**body, "seed": 1}).refused(422)


@pytest.mark.parametrize(
    "more",
    [
        {"texts": []},
        {"texts": CANARY},
        {"texts": ["a"] * 1001},
        {"texts": [CANARY, None]},
        {"texts": ["\ud800"]},
        {"texts": ["a"] * 1000, "size": 11},
        {"texts": ["a" * 100_000], "size": 101},
        {"size": 0},
        {"size": 1.5},
        {"size": "1"},
        {"mechanism": "cmp"},
        {"mechanism": "cmp(epsilon=-1)"},
        {"mechanism": CANARY[::-1] * 300},
        {"mechanism": "nothing(epsilon=1)"},
        {"mechanism": "__import__('os')"},
        {"unknown": CANARY},
        {"policies": {CANARY: "keep"[:0]}},
        {"policies": {"number": CANARY}},
        {"policies": [CANARY]},
        {"select": "@/etc/passwd"},
        {"select": []},
        {"select": [5]},
        {"select": 5},
    ],
)
def test_odd_texts_and_choices_are_refused(client: Client, more: Tree) -> None:
    client.post("/api/protect", PROTECT | more).refused(422)


def test_what_needs_no_vectors_opens_none(make_client: MakeClient) -> None:
    def vectors() -> Embeddings:
        raise AssetError("There are no vectors.")

    client = make_client(vectors=vectors)
    assert client.get("/api/mechanisms").status == 200
    assert client.post("/api/protect", PROTECT).refused(500, "server") == "There are no vectors."


def test_vectors_are_opened_once(make_client: MakeClient, space: Embeddings) -> None:
    opened: list[int] = []

    def vectors() -> Embeddings:
        opened.append(1)
        return space

    client = make_client(vectors=vectors)
    assert opened == []
    for _ in range(2):
        assert client.post("/api/protect", PROTECT).status == 200
        assert client.post("/api/explain", EXPLAIN).status == 200
    assert opened == [1]


def test_words_are_explained(client: Client, space: Embeddings) -> None:
    body = {"mechanism": "santext(epsilon=1)", "words": ["bababa", "dababa"], "top": 3}
    reply = client.post("/api/explain", body).json()
    first, second = trees(reply["words"])
    assert (first["word"], second["word"]) == ("bababa", "dababa")
    assert len(cast(list[object], first["top"])) == 3
    assert (first["samples"], first["interval"]) == (0, None)
    ratio = cast(Tree, reply["log_ratio"])
    assert cast(float, ratio["value"]) <= cast(float, ratio["bound"])
    body = {"mechanism": "cmp(epsilon=1)", "words": ["bababa", "dababa"], "samples": 50}
    reply = client.post("/api/explain", body).json()
    assert (trees(reply["words"])[0]["samples"], reply["log_ratio"]) == (50, None)


@pytest.mark.parametrize(
    "more",
    [{"words": ["bababa", CANARY]}, {"words": []}, {"words": ["bababa"] * 101}, {"top": 0},
     {"eta": 1}, {"samples": 10**9}, {"mechanism": "scramble"}],
)  # fmt: skip
def test_odd_words_are_refused(client: Client, more: Tree) -> None:
    client.post("/api/explain", EXPLAIN | more).refused(422)


def test_mechanisms_are_listed_as_by_the_command_line(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["mechanisms", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    opens = {"fea": "index", "cover": "table", "blind": "source"}  # names something to open
    for mechanism, name in opens.items():
        del document[mechanism]["schema"]["properties"][name]
        shown = document[mechanism]["example"]
        document[mechanism]["example"] = shown.replace(f"{name}='icd10cm', ", "")
    assert client.get("/api/mechanisms").json() == document


def test_the_plane_is_told(client: Client) -> None:
    reply = client.get("/api/plane").json()
    assert (reply["default"], reply["shipped"]) == (1, True)
    stops = trees(reply["stops"])
    assert [element["setting"] for element in stops] == [
        {"mechanism": f"cmp(epsilon={i}.0)", "size": 5} for i in (1, 2, 3)
    ]
    assert cast(Tree, stops[1]["risk"])["score"] == 0.2
    assert [element["upper"] for element in stops] == [None, 0.3, 0.6]
    assert stops[0]["log_size"] == 500


def test_the_ledger_is_told(client: Client) -> None:
    reply = client.get("/api/ledger?count=2&before=100").json()
    assert [release["number"] for release in trees(reply["releases"])] == [99, 98]
    assert reply["older"] == 98
    assert trees(reply["releases"])[0]["made"] == "2026-11-16T09:05:00Z"
    assert client.get("/api/ledger?before=3").json()["older"] is None
    assert len(trees(client.get("/api/ledger").json()["releases"])) == 50
    for bad in ("count=0", "count=x", "count=1001", "before=0", "x=1", "count=1&count=2",
                "before=", f"{CANARY}=1", "count=%ff"):  # fmt: skip
        client.get(f"/api/ledger?{bad}").refused(422)
    client.get("/api/budget?x=1").refused(422)


def test_the_budget_is_told(client: Client) -> None:
    assert client.get("/api/budget").json() == {
        "day": "2026-11-16", "spent": 20.0, "limit": 100.0, "left": 80.0, "unproved": 0,
        "free": None, "bits": 0.0, "bits_limit": None, "bits_left": None,
    }  # fmt: skip


def test_there_is_nothing_else(client: Client) -> None:
    client.get("/api/").refused(404)
    client.get("/api/search").refused(405)
    client.post("/api/budget", {}).refused(405)
