"""Coming in, in a real browser: by the printed address, by a file, by the form; and not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from tests.web.browser.driver import Page
from tests.web.browser.stage import QUERY, Elsewhere, Stage
from tests.web.conftest import TOKEN

from veil.web.token import leading


@pytest.fixture
def outside(chrome: Chrome, stage: Stage) -> Iterator[Page]:
    """A tab that was not let in."""
    made = Page(chrome, stage.origin)
    chrome.execute_cdp_cmd("Storage.clearCookies", {})
    made.expected = {401}
    yield made
    made.leave()
    chrome.execute_cdp_cmd("Storage.clearCookies", {})
    assert (made.complaints(), made.requests()) == ([], [])


def cookies(page: Page) -> list[tuple[str, str, bool, str]]:
    found = page.cdp("Storage.getCookies")["cookies"]
    return [(one["name"], one["value"], one["httpOnly"], one["sameSite"]) for one in found]


def history(page: Page) -> list[str]:
    return [entry["url"] for entry in page.cdp("Page.getNavigationHistory")["entries"]]


def test_without_the_token_there_is_one_plain_page(outside: Page, stage: Stage) -> None:
    for path in ("/", "/search?q=knee+pain", "/ledger", "/plane", "/nowhere"):
        outside.open(path)
        assert outside.head == "Token required"
        assert "veil token" in outside.shown("main")
        assert "knee" not in outside.shown()
    assert stage.web.seen == []
    assert cookies(outside) == []
    assert outside.focused == "#token"
    for width, scheme in ((1280, "light"), (360, "dark")):
        outside.look(width, scheme)
        outside.shoot(f"entrance-{width}-{scheme}")
        wide = outside.js("return document.documentElement.scrollWidth <= innerWidth")
        assert wide


def test_the_printed_address_lets_in_and_is_gone(outside: Page, stage: Stage) -> None:
    outside.open(f"/enter?token={TOKEN}")
    assert outside.head == "Private search"
    assert outside.driver.current_url == f"{stage.origin}/"
    assert TOKEN not in "".join(history(outside))
    assert outside.js("return [document.referrer, document.cookie]") == ["", ""]
    assert cookies(outside) == [(f"veil-{stage.port}", TOKEN, True, "Strict")]
    outside.search(QUERY)
    assert outside.head == "Results"
    outside.open("/search?q=knee+pain")  # as the browser's own search box
    assert outside.head == "Results"
    outside.open("/ledger")
    assert outside.head == "Ledger"


def test_a_file_lets_in_as_the_command_opens_it(
    outside: Page, stage: Stage, tmp_path: Path
) -> None:
    with leading(f"{stage.origin}/enter?token={TOKEN}", tmp_path / "own") as file:
        outside.driver.get(file.as_uri())
        outside.until(lambda: outside.head == "Private search", "the search box")
    assert outside.driver.current_url == f"{stage.origin}/"
    assert TOKEN not in "".join(history(outside))
    assert outside.js("return document.referrer") == ""


def test_the_form_lets_in(outside: Page, stage: Stage) -> None:
    outside.open("/")
    outside.find("#token").send_keys("x")
    with outside.loading():
        outside.click("main button")
    assert outside.head == "Token required"
    assert "not the token of this installation" in outside.shown("main")
    outside.find("#token").send_keys(TOKEN)
    with outside.loading():
        outside.click("main button")
    assert outside.head == "Private search"


def test_a_link_in_another_site_lets_in(outside: Page, stage: Stage, other: Elsewhere) -> None:
    """As in a terminal that is itself a page."""
    outside.abroad = {other.address("/")}
    other.link("/terminal", f"{stage.origin}/enter?token={TOKEN}")
    outside.open(other.address("/terminal"))
    outside.click("a")
    outside.until(lambda: outside.head == "Private search", "the search box")
    assert TOKEN not in outside.driver.current_url
