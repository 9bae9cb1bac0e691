"""The pages: what is searched, with what, and what the page says when it is not."""

import threading
import unicodedata
from urllib.parse import quote

import pytest
from tests.web.conftest import CANARY, Client, FakeDesk, MakeClient, errors

from veil.core.errors import BudgetError, LedgerError, VeilError
from veil.proxy.settings import Configuration, Decision
from veil.search.pipeline import MAX_QUERY
from veil.web import pages

ODD = [
    "nul \0 inside",
    "right \u202eto left\u202c and שלום",
    "👩🏽\u200d⚕️ 🏳️\u200d🌈",
    unicodedata.normalize("NFD", "Sjögren é̂̃"),
    "\ufffe\uffff \U0010ffff \x1b[31m",
    "<script>alert(1)</script>'\"&",
    "100% a+b=c&d;e %zz %",
    "\r\nSet-Cookie: a=b\r\n",
]


def test_a_search_uses_the_stop_of_the_slider(client: Client, desk: FakeDesk) -> None:
    reply = client.form("/search", {"q": "cat dog", "stop": 2})
    assert reply.status == 200
    assert "Title 1" in reply.text
    assert desk.searched == [("cat dog", Configuration("cmp(epsilon=3.0)", 5), False)]


def test_the_stop_is_remembered_after_a_restart(make_client: MakeClient, desk: FakeDesk) -> None:
    make_client().form("/search", {"q": "b", "stop": 0})
    make_client().get("/search?q=c")
    desk.kept = Configuration("gone(x=1)", 3)
    make_client().get("/search?q=d")
    assert [setting.mechanism[12] for _, setting, _ in desk.searched] == ["1", "1", "2"]


def test_a_stop_that_was_refused_is_not_remembered(client: Client, desk: FakeDesk) -> None:
    desk.fails = BudgetError("Spent.")
    client.form("/search", {"q": "b", "stop": 2})
    desk.fails = None
    client.get("/search?q=c")
    assert desk.kept is None
    assert [setting.mechanism[12] for _, setting, _ in desk.searched] == ["3", "2"]


def test_a_link_of_the_plane_moves_the_slider(client: Client, desk: FakeDesk) -> None:
    assert 'value="0"' in client.get("/?stop=0").text
    assert 'value="2"' in client.get("/?stop=2").text
    for bad in ("9", "-1", "x", ""):
        assert client.get(f"/?stop={bad}").status == 422
    assert desk.searched == []


def test_the_stop_is_remembered_for_the_address_bar(client: Client, desk: FakeDesk) -> None:
    client.get("/search?q=a")
    client.form("/search", {"q": "b", "stop": 0})
    client.get("/search?q=c")
    client.form("/search", {"q": "d"})
    used = [setting.mechanism[12] for _, setting, _ in desk.searched]
    assert used == ["2", "1", "1", "1"]


def test_a_query_is_sent_in_clear_only_when_the_form_says_so(
    client: Client, desk: FakeDesk
) -> None:
    client.form("/search", {"q": "a", "plain": "1"})
    client.form("/search", {"q": "b", "plain": "0"})
    client.form("/search", {"q": "c"})
    client.get("/search?q=d&plain=1")  # an address can be anybody's
    assert [baseline for *_, baseline in desk.searched] == [True, False, False, False]


@pytest.mark.parametrize("query", ODD)
def test_odd_characters_arrive_as_they_are(client: Client, desk: FakeDesk, query: str) -> None:
    assert client.form("/search", {"q": query}).status == 200
    assert client.get(f"/search?q={quote(query)}").status == 200
    assert [queries for queries, *_ in desk.searched] == [query, query]


@pytest.mark.parametrize(
    "body", [b"q=%ED%A0%80", b"q=%ff%fe", b"q=\xff\xfe", b"q=caf\xe9", b"q=%C3"]
)
def test_what_is_not_text_is_refused(client: Client, desk: FakeDesk, body: bytes) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert client.ask("POST", "/search", headers, body).status == 422
    assert client.ask("GET", f"/search?{body.decode('latin-1')}").status == 422
    assert desk.searched == []


@pytest.mark.parametrize(
    "body",
    [b"q=a&q=b", b"q=a&stop=3", b"q=a&stop=-1", b"q=a&stop=x", b"q=a&stop=", b"q=a&stop=%D9%A1",
     b"q=a&stop=1e0", b"", b"q=", b"q=+%09", b"stop=1", b"&".join([b"a=1"] * 100)],
)  # fmt: skip
def test_odd_forms_are_refused(client: Client, desk: FakeDesk, body: bytes) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    reply = client.ask("POST", "/search", headers, body)
    assert reply.status == 422
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert desk.searched == []


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", ""])
def test_other_kinds_of_form_are_refused(client: Client, desk: FakeDesk, kind: str) -> None:
    assert client.form("/search", {"q": "a"}, content_type=kind).status == 415
    assert client.form("/ledger/forget", {"number": 7}, content_type=kind).status == 415
    assert (desk.searched, 7 in desk.entries) == ([], True)


def test_long_queries(client: Client, desk: FakeDesk) -> None:
    longest = "\U0001f600" * MAX_QUERY  # twelve bytes each in a form
    assert client.form("/search", {"q": longest}).status == 200
    assert desk.searched.pop()[0] == longest
    refused = client.form("/search", {"q": "x" * (MAX_QUERY + 1)})
    assert refused.status == 422
    assert f"{MAX_QUERY:,}" in refused.text
    assert client.get(f"/search?q={'x' * 100_000}").status == 422
    assert client.form("/search", {"q": "x" * 100_000}).status == 422
    for size in (200_000, 20_000_000):
        big = client.form("/search", {"q": "x" * size})
        assert (big.status, big.headers["connection"]) == (413, "close")
    assert desk.searched == []


def test_a_body_that_is_announced_too_long_is_not_waited_for(client: Client) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded", "content-length": "9" * 15}
    assert client.ask("POST", "/search", headers, b"q=", ends=False).status == 413


def test_a_body_that_does_not_come_is_not_waited_for(make_client: MakeClient) -> None:
    client = make_client(patience=0.05)
    headers = {"content-type": "application/x-www-form-urlencoded"}
    reply = client.ask("POST", "/search", headers, b"q=a", ends=False)
    assert (reply.status, reply.headers["connection"]) == (408, "close")


def test_who_is_gone_is_not_searched_for(client: Client, desk: FakeDesk) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert client.ask("POST", "/search", headers, b"q=a", gone=True).status == 0
    assert client.ask("POST", "/search", headers, b"q=a", ends=False, gone=True).status == 0
    assert desk.searched == []


def test_without_a_query_there_is_a_search_box(client: Client, desk: FakeDesk) -> None:
    home = client.get("/").text
    for target in ("/search", "/search?q=", "/search?q=+"):
        assert client.get(target).text == home
    assert desk.searched == []


def test_head_searches_for_nothing(client: Client, desk: FakeDesk) -> None:
    for target in ("/", "/search?q=cat", "/plane", "/ledger", "/static/page.js", "/robots.txt"):
        assert client.ask("HEAD", target).status == 200
    assert desk.searched == []


@pytest.mark.parametrize(("error", "status", "kind"), errors())
def test_what_the_desk_refuses_is_said(
    client: Client, desk: FakeDesk, error: type[VeilError], status: int, kind: str
) -> None:
    desk.fails = error("A sentence of the desk.")
    desk.decision = Decision("refuse", "names a person", ("people",))
    for reply in (client.form("/search", {"q": "cat"}), client.get("/search?q=cat")):
        assert reply.status == status
        assert "A sentence of the desk." in reply.text
        assert "Title 1" not in reply.text
        assert ("names a person" in reply.text) == (kind == "gate")
    assert all(baseline is False for *_, baseline in desk.searched)
    assert len(desk.searched) == 2  # not asked for a second time in any other form


def test_a_page_needs_the_state_of_the_day(client: Client, desk: FakeDesk) -> None:
    desk.closed = LedgerError("It is damaged.")
    for target in ("/", "/plane", "/ledger"):
        reply = client.get(target)
        assert (reply.status, "It is damaged." in reply.text) == (500, True)


def test_an_unexpected_error_tells_no_secret(
    make_client: MakeClient,
    desk: FakeDesk,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    messages: list[str] = []
    client = make_client(note=messages.append)
    desk.fails = RuntimeError(f"bad text: {CANARY}")
    reply = client.form("/search", {"q": CANARY})
    assert reply.status == 500
    assert "internal error (RuntimeError at conftest.py:" in reply.text
    assert CANARY not in reply.text
    assert len(messages) == 1
    assert messages[0].startswith("internal error (RuntimeError at conftest.py:")
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_a_page_that_fails_is_an_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise ValueError(CANARY)

    monkeypatch.setattr(pages, "home", broken)
    reply = client.get("/")
    assert (reply.status, CANARY in reply.text) == (500, False)
    monkeypatch.setattr(pages, "error", broken)
    assert client.get("/").status == 0  # and the server says that much


def test_the_ledger_goes_back_page_by_page(client: Client, desk: FakeDesk) -> None:
    assert "/ledger?before=71" in client.get("/ledger").text
    assert "/ledger?before=21" in client.get("/ledger?before=71").text
    assert "/ledger?before=" not in client.get("/ledger?before=21").text
    desk.entries = desk.entries[:50]
    assert "/ledger?before=" not in client.get("/ledger").text
    for bad in ("0", "-1", "x", "", "9" * 19, "1.0"):
        assert client.get(f"/ledger?before={bad}").status == 422


def test_an_entry_is_forgotten(client: Client, desk: FakeDesk) -> None:
    reply = client.form("/ledger/forget", {"number": 7})
    assert (reply.status, reply.headers["location"]) == (303, "/ledger")
    assert 7 not in desk.entries
    assert client.form("/ledger/forget", {"number": 7}).status == 404
    for bad in ({}, {"number": ""}, {"number": "x"}, {"number": "-1"}):
        assert client.form("/ledger/forget", bad).status == 422
    assert client.get("/ledger/forget?number=8").status == 405
    assert len(desk.entries) == 119


def test_files_are_served_by_name_alone(client: Client) -> None:
    for name, kind in (
        ("page.css", "text/css"),
        ("page.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ):
        reply = client.get(f"/static/{name}")
        assert reply.status == 200
        assert reply.headers["content-type"].partition(";")[0] == kind
        tag = reply.headers["etag"]
        for reference in (tag, f"W/{tag}", f'"x", {tag}'):
            again = client.get(f"/static/{name}", if_none_match=reference)
            assert (again.status, again.body) == (304, b"")
        assert client.get(f"/static/{name}", if_none_match='"x"').status == 200
    assert client.get("/favicon.ico").body == client.get("/static/icon.svg").body
    for path in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "", ".", "page.css/", "//page.css",
                 "page.css%00", "../static/page.css"):  # fmt: skip
        assert client.get(f"/static/{path}").status == 404


def test_every_page_loads_only_what_there_is(client: Client) -> None:
    for target in ("/", "/plane", "/ledger", "/search?q=cat", "/nothing"):
        text = client.get(target).text
        names = [part.partition('"')[0] for part in text.split('"/static/')[1:]]
        assert names
        for name in names:
            assert client.get(f"/static/{name}").status == 200


def test_nothing_suggests(client: Client) -> None:
    assert client.get("/robots.txt").text == "User-agent: *\nDisallow: /\n"
    for path in ("/suggest", "/suggestions", "/complete", "/autocomplete", "/api/suggest"):
        assert client.get(f"{path}?q=c").status == 404


def test_too_many_searches_are_refused(make_client: MakeClient, desk: FakeDesk) -> None:
    client = make_client(rate=3)
    statuses = [client.form("/search", {"q": "a"}).status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    reply = client.get("/search?q=a")
    assert reply.status == 429
    assert 1 <= int(reply.headers["retry-after"]) <= 20
    assert client.post("/api/search", {"query": "a"}).refused(429, "busy")
    assert client.get("/api/budget").status == 429
    assert client.get("/").status == 200
    assert len(desk.searched) == 3


def test_pages_open_while_searches_run_and_more_are_refused(
    make_client: MakeClient, desk: FakeDesk
) -> None:
    client = make_client(at_once=1, waiting=1)
    desk.hold.clear()
    replies: list[int] = []

    def search() -> None:
        replies.append(client.form("/search", {"q": "a"}).status)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not (replies and desk.searched):  # the one that is refused; the others wait
        threads[0].join(0.01)
    assert replies == [503]
    assert len(desk.searched) == 1
    assert client.get("/").status == 200
    assert client.post("/api/search", {"query": "a"}).refused(503, "busy")
    desk.hold.set()
    for thread in threads:
        thread.join(120)
    assert replies == [503, 200, 200]
    assert client.form("/search", {"q": "a"}).status == 200


@pytest.mark.parametrize("path", ["/search%0A", "/ledger/", "//ledger", "/Ledger", "/ledger%00"])
def test_an_address_is_matched_exactly(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status == 404
    assert "There is nothing at this address." in reply.text


def test_a_method_that_an_address_does_not_take_is_named(client: Client) -> None:
    for path, allowed in (("/search", "GET, HEAD, POST"), ("/ledger", "GET, HEAD")):
        reply = client.ask("DELETE", path)
        assert (reply.status, reply.headers["allow"]) == (405, allowed)
    assert client.ask("DELETE", "/ledger/forget").headers["allow"] == "POST"
