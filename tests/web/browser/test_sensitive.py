"""Sensitive documents in a browser: two lists of one search, the slider, and refusals."""

from pathlib import Path

import pytest
from tests.sensitive.drawer import HIDDEN, LETTERS, WITHHELD, drawer
from tests.web.browser.driver import Page
from tests.web.browser.stage import Stage


@pytest.fixture
def opened(stage: Stage, tmp_path: Path) -> None:
    stage.open(sensitive=drawer(tmp_path))


def search(page: Page, query: str) -> None:
    page.open("/sensitive")
    page.find("#sensitive-query").send_keys(query)
    page.click("#sensitive-ask")
    page.until(lambda: page.find("#sensitive-found").is_displayed(), "two lists")


def slide(page: Page, value: float) -> None:
    page.js(
        "const one = document.getElementById('sensitive-level'); one.value = arguments[0];"
        "one.dispatchEvent(new Event('input')); one.dispatchEvent(new Event('change'));",
        value,
    )


def choose(page: Page, spec: str) -> None:
    page.js(
        "const one = document.getElementById('sensitive-strategy'); one.value = arguments[0];"
        "one.dispatchEvent(new Event('change'));",
        spec,
    )


@pytest.mark.usefixtures("opened")
def test_one_search_is_seen_by_two(page: Page) -> None:
    search(page, "gas prices")
    assert page.head == "Sensitive documents"
    slide(page, 0.5)
    page.until(lambda: page.count("#sensitive-left li") == len(LETTERS) - WITHHELD, "a list")
    assert page.count("#sensitive-right li") == len(LETTERS)
    assert HIDDEN not in page.shown("#sensitive-left")
    assert HIDDEN in page.shown("#sensitive-right")
    assert page.count("#sensitive-right .sensitive-hidden") == WITHHELD
    assert f"{WITHHELD} withheld from others" in page.shown("#sensitive-right-total")
    assert page.shown("#sensitive-left-total") == f"{len(LETTERS) - WITHHELD} results"
    assert "gas" not in page.js("return location.href")
    page.shoot("sensitive")


@pytest.mark.usefixtures("opened")
def test_the_slider_withholds_more_and_each_strategy_has_its_own_scale(page: Page) -> None:
    search(page, "gas prices")
    page.until(lambda: page.count("#sensitive-left li") == 2, "what is below 0.1")
    slide(page, 1.0)
    page.until(lambda: page.count("#sensitive-left li") == 5, "all that may be shown at all")
    choose(page, "demoted(beta={})")
    page.until(lambda: "demoted" in page.shown("#sensitive-caveat"), "another strategy")
    assert page.value("#sensitive-level", "max") == "10"
    assert page.shown("#sensitive-value") == "1.00"
    choose(page, "relevance()")
    page.until(lambda: "relevance" in page.shown("#sensitive-caveat"), "another strategy")
    assert not page.find("#sensitive-slider").is_displayed()


@pytest.mark.usefixtures("opened")
def test_what_is_not_found_is_said(page: Page) -> None:
    search(page, HIDDEN)
    assert page.shown("#sensitive-left-total") == "No results."
    assert f"{WITHHELD} results" in page.shown("#sensitive-right-total")


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_small_screen_nothing_sticks_out(page: Page, scheme: str) -> None:
    page.look(360, scheme)
    search(page, "gas prices budget storage")
    assert page.js("return document.documentElement.scrollWidth") <= 360
    page.shoot(f"sensitive-{scheme}")


def test_without_an_index_the_page_says_how_to_begin(page: Page) -> None:
    page.open("/sensitive")
    assert "veil serve --sensitive" in page.shown("body")
