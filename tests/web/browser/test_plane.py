"""The plane of the last audit: its points, its curves, and the way from there to the slider."""

import pytest
from selenium.webdriver.common.keys import Keys
from tests.web.browser.driver import Page
from tests.web.browser.stage import QUERY, Stage

from veil.web.pages._stops import named

PANEL = ".panel:not([hidden])"


def test_it_can_be_walked_along(page: Page, stage: Stage) -> None:
    page.open("/plane")
    assert page.count(PANEL) == 1
    page.js(f"document.querySelector('{PANEL} .point[tabindex=\"0\"]').focus()")
    tip = page.shown("#tip")
    assert stage.mechanism(stage.start).partition("(")[0] in tip
    assert f"stop {stage.start + 1} of the slider, chosen now" in tip
    page.press(Keys.ARROW_RIGHT)
    assert page.shown("#tip") != tip
    assert page.count(f"{PANEL} .point[tabindex='0']") == 1
    page.press(Keys.ESCAPE)
    assert not page.find("#tip").is_displayed()


def test_the_pointer_shows_figures(page: Page, stage: Stage) -> None:
    page.open("/plane")
    page.hover(f"{PANEL} .point .mark")
    assert "utility" in page.shown("#tip")


def test_the_legend_hides_a_curve(page: Page, stage: Stage) -> None:
    page.open("/plane")
    name = page.value(".legend li", "data-curve")
    curve = f'{PANEL} .curve[data-curve="{name}"]'
    assert page.find(curve).is_displayed()
    page.js("document.querySelector('.legend button').focus()")
    page.press(Keys.SPACE)
    assert page.value(".legend button", "aria-pressed") == "false"
    assert not page.find(curve).is_displayed()
    page.press(Keys.SPACE)
    assert page.find(curve).is_displayed()


def test_another_plane_can_be_chosen(page: Page, stage: Stage) -> None:
    page.open("/plane")
    before = page.shown(f"{PANEL} figcaption")
    page.js("document.getElementById('plot').focus()")
    page.press(Keys.ARROW_DOWN)
    page.until(lambda: page.shown(f"{PANEL} figcaption") != before, "another plane")
    assert page.count(PANEL) == 1


@pytest.mark.parametrize("way", ["point", "table", "no script"])
def test_a_stop_is_chosen(page: Page, stage: Stage, way: str) -> None:
    page.cdp("Emulation.setScriptExecutionDisabled", value=way == "no script")
    page.open("/plane")
    with page.loading():
        if way == "point":
            page.js(f"document.querySelector('{PANEL} [data-stop=\"{stage.another}\"]').focus()")
            page.press(Keys.ENTER)
        else:
            page.click(f"a[href='/?stop={stage.another}']")
    assert page.head == "Private search"
    assert page.value("#stop", "value") == str(stage.another)
    assert page.shown("#stop-now").startswith(named(stage.plane.stops[stage.another].setting))
    page.search(QUERY)
    assert stage.last == stage.mechanism(stage.another)
