"""A page of another package: one entry point, behind everything that guards the others."""

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest
from tests.web.conftest import CANARY, HOST, TOKEN, Client, FakeDesk, make_plane
from tests.web.reading import Page

from veil.core.errors import UnknownNameError
from veil.web.app import make_app
from veil.web.messages import HEADERS
from veil.web.pages import shell

MODULE = "veil_toy_page"


def content(given: Mapping[str, str]) -> str:
    if given.get("fail"):
        raise RuntimeError(CANARY)
    return f"<p id='toy'>{len(given)} asked</p><script>alert(1)</script>"


class Announced:
    """The entry points of a made-up package, whose module tells whether it was loaded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, *points: tuple[str, str]) -> None:
        result = [EntryPoint(name, value, shell.GROUP) for name, value in points]
        self._monkeypatch.setattr(shell, "entry_points", lambda group: result)
        shell.all_pages.cache_clear()

    def install(self) -> None:
        module = ModuleType(MODULE)
        module.content = content  # type: ignore[attr-defined]
        self._monkeypatch.setitem(sys.modules, MODULE, module)


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Announced]:
    yield Announced(monkeypatch)
    shell.all_pages.cache_clear()


def app_of(client: Client) -> Client:
    return Client(make_app(FakeDesk(), make_plane(), token=TOKEN, hosts=[HOST]), client.portal)


def test_a_page_is_added_by_its_name_and_loaded_when_asked_for(
    client: Client, announced: Announced
) -> None:
    announced(("toy-page", f"{MODULE}:content"))
    app = app_of(client)
    links = Page(app.ask("GET", "/").text).one("nav").text
    assert "Toy page" in links
    assert MODULE not in sys.modules
    announced.install()
    reply = app.ask("GET", "/toy-page?a=1&b=2")
    assert reply.status == 200
    shown = Page(reply.text)
    assert shown.one("p", id="toy").text == "2 asked"
    assert shown.one("h1").text == "Toy page"
    assert shown.one("a", **{"aria-current": "page"}).text == "Toy page"
    assert {name: reply.headers[name] for name in HEADERS} == HEADERS  # no script of it runs


def test_it_stands_behind_the_guard_and_the_token(client: Client, announced: Announced) -> None:
    announced(("toy", f"{MODULE}:content"))
    announced.install()
    queries = app_of(client)
    assert queries.ask("GET", "/toy", token=False).status == 401
    assert queries.ask("GET", "/toy", host="evil.example").status == 421
    assert queries.ask("POST", "/toy").status == 405
    failed = queries.ask("GET", "/toy?fail=1")
    assert failed.status == 500
    assert CANARY not in failed.text


@pytest.mark.parametrize("name", ["ledger", "search", "api", "enter", "Toy", "a/b", "a.b", ""])
def test_a_name_that_is_taken_or_odd_is_refused(
    client: Client, announced: Announced, name: str
) -> None:
    announced((name, f"{MODULE}:content"))
    with pytest.raises(UnknownNameError, match="Rename its entry point"):
        app_of(client)


def test_two_pages_of_one_name_are_refused(client: Client, announced: Announced) -> None:
    announced(("toy", "one:page"), ("toy", "two:page"))
    with pytest.raises(UnknownNameError, match="two:page must not be at /toy"):
        app_of(client)
