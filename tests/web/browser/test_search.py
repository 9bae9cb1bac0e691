"""Searching, as a person does it, and what an engine sees of it."""

import pytest
from selenium.webdriver.common.keys import Keys
from tests.web.browser.driver import Page
from tests.web.browser.stage import HITS, QUERY, RIGHT, Elsewhere, Stage

from veil.proxy.results import MARKS
from veil.proxy.settings import brief
from veil.search.engines.engine import Hit
from veil.web.pages.slider import setting_text
from veil.web.pages.words import amount


def test_a_search_by_keyboard_alone(page: Page, stage: Stage) -> None:
    page.open("/")
    assert page.focused == "#q"
    page.press(QUERY)
    with page.loading():
        page.press(Keys.ENTER)
    assert page.head == "Results"
    assert page.texts("title") == ["Results · Veil"]  # a query stays out of the history
    assert page.value("#q", "value") == QUERY
    assert page.texts(".results h2")[0] == RIGHT  # which the engine puts last
    assert sorted(page.texts(".results h2")) == sorted(hit.title or hit.id for hit in HITS)
    assert "4 results, re-ranked on this machine." in page.shown("main")
    assert sorted(page.variants) == sorted(stage.web.seen)
    assert not any("quokkapox" in text.lower() for text in stage.web.seen)


def test_marks_say_what_became_of_each_word(page: Page, stage: Stage) -> None:
    page.open("/")
    page.click("#stop")
    page.press(Keys.END)
    page.search(QUERY)
    own = set(QUERY.lower().split())
    kinds = set()
    for text, kind, why in page.js(
        "return [...document.querySelectorAll('aside .variants mark')]"
        ".map((one) => [one.textContent, one.className, one.title])"
    ):
        kinds.add(kind)
        assert why == MARKS[kind]
        assert (text.lower() in own) == (kind == "same")
    assert {"same", "unknown"} <= kinds
    assert page.texts(".marks dd:last-child") == [MARKS[kind] for kind in MARKS if kind in kinds]
    assert all(page.shown(f".marks mark.{kind}") for kind in kinds)
    assert "inference ranks your query" in page.shown(".standings")


def test_keys_lead_everywhere(page: Page, stage: Stage) -> None:
    page.open("/")
    page.search(QUERY)
    page.js("document.activeElement.blur()")
    page.press("/")
    assert page.focused == "#q"
    assert page.value("#q", "value") == QUERY  # and nothing was typed into it
    page.press(Keys.TAB)
    assert page.focused == "button Search"
    page.press(Keys.TAB)
    assert page.focused == "#stop"
    page.click("#q")
    page.press(Keys.ARROW_DOWN)
    assert page.focused == f"a {RIGHT}"
    page.press(*[Keys.ARROW_DOWN] * 9)
    assert page.js("return document.activeElement.closest('li').dataset.rank") == "4"
    page.press(*[Keys.ARROW_UP] * 4)
    assert page.focused == "#q"
    page.press(Keys.ESCAPE)
    assert page.focused.startswith("body")


def test_the_slider_moves_by_keys_and_is_used(page: Page, stage: Stage) -> None:
    start, wanted = stage.start, stage.another
    page.open("/")
    assert page.value("#stop", "value") == str(start)
    before = page.shown("#stop-now")
    assert before.startswith(setting_text(stage.plane.stops[start].setting))
    page.press(Keys.TAB, Keys.TAB, Keys.ARROW_LEFT if wanted < start else Keys.ARROW_RIGHT)
    assert page.shown("#stop-now") != before
    assert page.shown("#stop-now").startswith(setting_text(stage.plane.stops[wanted].setting))
    spoken = page.value(".stop:not([hidden])", "data-spoken")
    assert page.value("#stop", "aria-valuetext") == spoken
    page.search(QUERY)
    assert stage.last == stage.mechanism(wanted)
    assert page.value("#stop", "value") == str(wanted)
    assert brief(stage.mechanism(wanted)) in page.shown("#seen + p")
    page.open("/search?q=fever")  # the address bar goes on with it
    assert stage.last == stage.mechanism(wanted)


def test_asking_again_sends_nothing_new(page: Page, stage: Stage) -> None:
    page.open("/")
    page.search(QUERY)
    sent, shown = list(stage.web.seen), page.variants
    assert "New variants, sampled for this query." in page.shown(".told")
    page.search(" ".join(reversed(QUERY.upper().split())))
    assert stage.web.seen == sent
    assert page.variants == shown
    assert "Nothing new was sent" in page.shown(".told")
    assert stage.desk.budget().spent == stage.cost(3)
    assert f"Last 24 hours: {amount(stage.cost(3))} of 10,000 spent" in page.shown(".day")


def test_a_search_from_the_address_bar(page: Page, stage: Stage) -> None:
    page.open("/search?q=knee+pain+Quokkapox")
    assert page.head == "Results"
    assert page.value("#q", "value") == QUERY
    assert "knee" not in page.driver.current_url
    assert sorted(page.variants) == sorted(stage.web.seen)


def test_without_scripts(page: Page, stage: Stage) -> None:
    page.cdp("Emulation.setScriptExecutionDisabled", value=True)
    page.open("/")
    assert "Without scripts" in page.shown(".slider")
    page.search(QUERY)
    assert page.head == "Results"
    assert page.texts(".results h2")[0] == RIGHT
    assert sorted(page.variants) == sorted(stage.web.seen)
    for path in ("/plane", "/ledger"):
        page.open(path)
        assert page.head == path[1:].capitalize()
        assert page.count("tbody tr") >= 1


def test_two_tabs_at_once_make_one_release(page: Page, stage: Stage) -> None:
    stage.web.free.clear()
    driver = page.driver
    page.open("/")
    driver.switch_to.new_window("tab")
    page.open("/")
    for handle in driver.window_handles:
        driver.switch_to.window(handle)
        page.js("document.getElementById('q').value = arguments[0]", QUERY)
        page.js("setTimeout(() => document.querySelector('.search').requestSubmit())")
    page.until(lambda: [one.asked for one in stage.desk.releases(9)] == [2], "both searches")
    stage.web.free.set()
    shown = []
    for handle in driver.window_handles:
        driver.switch_to.window(handle)
        page.until(lambda: page.head == "Results", "results")
        shown.append(page.variants)
    assert shown[0] == shown[1]
    assert sorted(stage.web.seen) == sorted(shown[0])
    assert stage.desk.budget().spent == stage.cost(3)


@pytest.mark.parametrize(
    "query", ["سرطان الركبة knee", "🦘 pox 👩🏽‍⚕️ knee", "\ufb01ève\u202er knee &amp;<b>"]
)
def test_odd_queries(page: Page, stage: Stage, query: str) -> None:
    page.open("/")
    page.search(query)
    assert page.head == "Results"
    assert page.value("#q", "value") == query
    assert sorted(page.variants) == sorted(stage.web.seen)
    odd = [word for word in query.split() if word != "knee"]
    assert not any(word in text for text in stage.web.seen for word in odd)


def test_a_query_of_a_hundred_thousand_characters(page: Page, stage: Stage) -> None:
    page.open("/")
    page.paste("knee " * 20_000)
    assert page.js("return document.getElementById('q').value.length") == 10_000
    page.js("document.getElementById('q').removeAttribute('maxlength')")
    page.paste("knee " * 18_000)
    page.expected = {422}
    with page.loading():
        page.press(Keys.ENTER)
    assert page.head == "This cannot be searched"
    assert "more than 10,000 characters" in page.shown(".refused")
    assert stage.web.seen == []
    page.search("knee")
    assert page.head == "Results"


def test_back_to_results(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.abroad = {other.address("/")}
    stage.web.hits = (Hit(other.address("/landing"), 1.0, "Landing", "knee"),)
    page.open("/")
    page.search(QUERY)
    sent = len(stage.web.seen)
    with page.loading():
        page.click(".results a")
    with page.loading():
        page.driver.back()
    assert page.head == "Results"
    assert page.value("#q", "value") == QUERY
    with page.loading():
        page.driver.refresh()
    assert page.head == "Results"
    assert len(stage.web.seen) == sent
    assert stage.desk.releases(1)[0].asked == 1


def test_back_to_the_box(page: Page, stage: Stage) -> None:
    page.open("/")
    page.search(QUERY)
    with page.loading():
        page.driver.back()
    assert page.head == "Private search"
    assert page.find(".search button").is_enabled()
    assert page.shown(".working") == ""
