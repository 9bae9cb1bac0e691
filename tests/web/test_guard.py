"""Other sites are refused, and every response is sealed."""

import pytest
from tests.web.conftest import HOST, ORIGIN, Client, FakeDesk, MakeClient

from veil.core.errors import ParameterError
from veil.web.guard import host_names, origins
from veil.web.messages import HEADERS

CROSS = {
    "sec_fetch_site": "cross-site",
    "sec_fetch_mode": "navigate",
    "sec_fetch_dest": "document",
}


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8765", "127.0.0.1:8765.evil.example",
     "", "127.0.0.1:8765, evil.example", "user@127.0.0.1:8765", "127.0.0.1:08765"],
)  # fmt: skip
@pytest.mark.parametrize(
    "path", ["/", "/search?q=x", "/api/budget", "/static/page.css", "/nowhere"]
)
def test_another_host_is_refused(client: Client, desk: FakeDesk, host: str, path: str) -> None:
    reply = client.ask("GET", path, host=host)
    assert reply.status == 421
    assert desk.searched == []


def test_the_case_of_a_host_does_not_matter(make_client: MakeClient) -> None:
    client = make_client(hosts=["Veil.Example:8765"])
    assert client.ask("GET", "/", host="vEIL.example:8765").status == 200


def test_one_host_must_be_named(client: Client) -> None:
    assert client.ask("GET", "/", host=None).status == 400
    assert client.ask("GET", "/", [("host", HOST), ("host", HOST)], host=None).status == 400
    assert client.ask("GET", "/", [("host", "evil.example")]).status == 400


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", "https://127.0.0.1:8765", "http://127.0.0.1",
     "http://localhost:8765", "http://127.0.0.1:8765.evil.example", "", f"{ORIGIN}/",
     f"{ORIGIN} http://evil.example"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/search", "/ledger/forget"])
def test_forms_of_other_sites_are_refused(
    client: Client, desk: FakeDesk, origin: str, path: str
) -> None:
    reply = client.form(path, {"q": "cat", "number": 7}, origin=origin)
    assert reply.status == 403
    assert (desk.searched, 7 in desk.entries) == ([], True)


def test_two_origins_are_refused(client: Client, desk: FakeDesk) -> None:
    headers = [("origin", ORIGIN), ("origin", ORIGIN), ("content-type", "application/json")]
    assert client.ask("POST", "/api/search", headers, b'{"query": "cat"}').status == 403
    assert desk.searched == []


@pytest.mark.parametrize("site", ["cross-site", "same-site", "SAME-ORIGIN", "strange", ""])
def test_what_another_site_posts_is_refused_without_an_origin_too(
    client: Client, desk: FakeDesk, site: str
) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": site}
    assert client.ask("POST", "/search", headers, b"q=cat").status == 403
    assert client.post("/api/search", {"query": "cat"}, sec_fetch_site=site).status == 403
    assert desk.searched == []


def test_older_browsers_tell_by_the_referrer(client: Client, desk: FakeDesk) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for referrer in ("http://evil.example/", f"{ORIGIN}.evil.example/", "http://127.0.0.1:87650/"):
        bad = headers | {"referer": referrer}
        assert client.ask("POST", "/search", bad, b"q=cat").status == 403
    assert desk.searched == []
    own = headers | {"referer": f"{ORIGIN}/search"}
    assert client.ask("POST", "/search", own, b"q=cat").status == 200


def test_our_own_page_and_programs_are_served(client: Client, desk: FakeDesk) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for own in (
        {},
        {"origin": ORIGIN},
        {"origin": ORIGIN, "sec-fetch-site": "same-origin"},
        {"origin": "null", "sec-fetch-site": "same-origin"},  # a page that sends no referrer
        {"sec-fetch-site": "none"},
    ):
        assert client.ask("POST", "/search", headers | own, b"q=cat").status == 200
    assert len(desk.searched) == 5


def test_other_sites_reach_no_program_and_no_file(client: Client) -> None:
    for path in ("/api/budget", "/api/ledger", "/openapi.json"):
        assert client.get(path, **CROSS).status == 403
        assert client.get(path, sec_fetch_site="same-site").status == 403
        assert client.get(path, sec_fetch_site="same-origin").status == 200
    for path in ("/static/page.css", "/", "/ledger"):  # as an image, a script, a frame's fetch
        assert (
            client.get(path, sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status == 403
        )
    assert client.get("/", **CROSS).status == 200  # a link that somebody follows
    assert client.get("/opensearch.xml", sec_fetch_site="cross-site").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "strange"])
def test_a_search_that_another_site_starts_is_held(
    client: Client, desk: FakeDesk, site: str
) -> None:
    reply = client.get("/search?q=cat", sec_fetch_site=site, sec_fetch_mode="navigate")
    assert reply.status == 200
    assert "cat" in reply.text
    assert desk.searched == []


def test_a_search_from_the_address_bar_is_done(client: Client, desk: FakeDesk) -> None:
    for headers in ({"sec_fetch_site": "none"}, {}):
        assert client.get("/search?q=cat", **headers).status == 200
    assert [query for query, *_ in desk.searched] == ["cat"] * 2


def test_a_result_that_leads_to_a_search_is_held(client: Client, desk: FakeDesk) -> None:
    reply = client.get("/search?q=cat", sec_fetch_site="same-origin", sec_fetch_mode="navigate")
    assert "Not searched yet" in reply.text
    assert desk.searched == []


def test_a_search_is_held_where_nobody_can_tell_who_started_it(
    make_client: MakeClient, desk: FakeDesk
) -> None:
    client = make_client(hosts=["veil.lan:8765", "https://veil.example"])
    assert client.ask("GET", "/search?q=cat", host="veil.lan:8765").status == 200
    referrer = [("referer", "http://evil.example/")]
    assert client.ask("GET", "/search?q=cat", referrer, host="veil.example").status == 200
    assert desk.searched == []
    assert client.ask("GET", "/search?q=cat", host="veil.example").status == 200
    assert len(desk.searched) == 1


@pytest.mark.parametrize("name", ["sec_purpose", "purpose", "x_moz"])
def test_nothing_is_loaded_ahead(client: Client, desk: FakeDesk, name: str) -> None:
    reply = client.get("/search?q=cat", sec_fetch_site="none", **{name: "prefetch;prerender"})
    assert reply.status == 403
    assert desk.searched == []


def test_an_encrypted_name_has_an_encrypted_origin(make_client: MakeClient) -> None:
    client = make_client(hosts=["https://veil.example"])
    for origin, status in (("https://veil.example", 200), ("http://veil.example", 403)):
        headers = {"origin": origin, "content-type": "application/x-www-form-urlencoded"}
        reply = client.ask("POST", "/search", headers, b"q=cat", host="veil.example")
        assert reply.status == status


def test_names_of_the_server() -> None:
    names = ["[::1]", "veil.lan", "veil.lan:99", "[::1]:99", "https://v.example"]
    hosts = ["[::1]:8765", "veil.lan:8765", *names[2:]]
    assert host_names(names, 8765) == hosts
    assert host_names(["localhost"], 80) == ["localhost:80", "localhost"]
    for bad in ("a/b", "https://", "ftp://a", "a b", "", "http://a?b", "user@a", "ä.example"):
        with pytest.raises(ParameterError):
            origins([bad])


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get"])
@pytest.mark.parametrize("path", ["/", "/search", "/api/search", "/static/page.css"])
def test_other_methods_are_refused(client: Client, method: str, path: str) -> None:
    reply = client.ask(method, path)
    assert reply.status == 405
    assert set(reply.headers["allow"].split(", ")) <= {"GET", "HEAD", "POST"}


def test_no_other_site_may_read_anything(client: Client) -> None:
    preflight = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    for headers in (preflight, {}):
        reply = client.ask("OPTIONS", "/api/search", headers)
        assert reply.status in (403, 405)
        assert not [name for name, _ in reply.pairs if name.startswith("access-control")]


REQUESTS = [
    ("GET", "/"), ("HEAD", "/"), ("GET", "/search?q=cat"), ("GET", "/plane"), ("GET", "/ledger"),
    ("GET", "/static/page.css"), ("GET", "/static/../app.py"), ("GET", "/favicon.ico"),
    ("GET", "/opensearch.xml"), ("GET", "/openapi.json"), ("GET", "/robots.txt"),
    ("GET", "/api/budget"), ("GET", "/api/nothing"), ("GET", "/nothing"), ("PUT", "/"),
    ("POST", "/search"), ("POST", "/api/search"), ("GET", "/ledger?before=x"),
    ("GET", "/search?q=%ED%A0%80"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "target"), REQUESTS)
@pytest.mark.parametrize("host", [HOST, "evil.example"])
def test_every_response_is_sealed(client: Client, method: str, target: str, host: str) -> None:
    headers = client.ask(method, target, host=host).headers
    for name, value in HEADERS.items():
        assert headers[name] == value
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["content-security-policy"].startswith("default-src 'none'; ")
    ours = target.startswith(("/static/page", "/favicon")) and host == HOST
    assert headers["cache-control"] == ("no-cache" if ours else "no-store")
    assert "set-cookie" not in headers
    assert "server" not in headers


def test_an_error_is_sealed_too(client: Client, desk: FakeDesk) -> None:
    desk.closed = RuntimeError("no")
    for target in ("/", "/api/budget"):
        reply = client.get(target)
        assert reply.status == 500
        assert HEADERS.items() <= reply.headers.items()
