"""The page of a database in a browser: asked, explained, refused, and the budget that shrinks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.browser.driver import Page
from tests.web.browser.stage import Stage
from tests.web.people import NAME, people


@pytest.fixture
def asked(stage: Stage, tmp_path: Path) -> Iterator[None]:
    with people(tmp_path) as database:
        stage.open(database=database)
        yield


def write(page: Page, query: str) -> None:
    box = page.find("#database-query")
    box.clear()
    box.send_keys(query)


@pytest.mark.usefixtures("asked")
def test_a_question_is_answered_with_bars_of_noise(page: Page) -> None:
    page.open("/database")
    assert page.head == "Ask a database"
    assert "3 of 3 left" in page.shown("#database-left")
    write(page, "SELECT sex, COUNT(*), AVG(income) FROM people GROUP BY sex")
    page.find("#database-ask").click()
    page.until(lambda: page.count("#database-found tbody tr") == 2, "an answer")
    assert page.count("#database-found .database-bar") == 4
    assert "±" in page.shown("#database-found")
    assert "2.5 of 3 left, delta 1e-06 of 1e-06 left" in page.shown("#database-left")
    assert NAME not in page.shown("body")
    page.shoot("database")


@pytest.mark.usefixtures("asked")
def test_a_question_is_explained_and_refused_for_nothing(page: Page) -> None:
    page.open("/database")
    page.find("#database-explain").click()
    page.until(lambda: "standard deviation" in page.shown("#database-found"), "an explanation")
    page.expected = {422}
    write(page, "SELECT * FROM people")
    page.find("#database-ask").click()
    page.until(lambda: "SELECT only counts" in page.shown("#database-told"), "a refusal")
    assert "3 of 3 left" in page.shown("#database-left")


@pytest.mark.usefixtures("asked")
def test_on_a_small_dark_screen_nothing_sticks_out(page: Page) -> None:
    page.look(360, "dark")
    page.open("/database")
    write(page, "SELECT sex, COUNT(*), AVG(income) FROM people GROUP BY sex ORDER BY 2 DESC")
    page.find("#database-ask").click()
    page.until(lambda: page.count("#database-found .database-bar") == 4, "an answer")
    assert page.js("return document.documentElement.scrollWidth") <= 360
    shown = page.js("const found = document.getElementById('database-found');"
                    "return found.scrollWidth - found.clientWidth")  # fmt: skip
    assert shown <= 0  # both columns fit
    page.shoot("database-small")


def test_without_a_database_the_page_says_how_to_name_one(page: Page) -> None:
    page.open("/database")
    assert "--dp-policy" in page.shown("body")
