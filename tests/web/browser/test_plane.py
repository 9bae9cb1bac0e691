"""The plane of the last audit: its points, its curves, and the way from there to the slider."""

import pytest
from selenium.webdriver.common.keys import Keys
from tests.web.browser.driver import Page
from tests.web.browser.stage import QUERY, Stage

from veil.web.pages.slider import setting_text

PANEL = ".panel:not([hidden])"


def test_it_can_be_walked_along(page: Page, stage: Stage) -> None:
    page.open("/plane")
    assert page.count(PANEL) == 1
    page.js(f"document.querySelector('{PANEL} .point[tabindex=\"0\"]').focus()")
    tip = page.shown("#tip")
    assert stage.mechanism(stage.start).partition("(")[0] in tip
    assert f"setting {stage.start + 1} of the slider, selected" in tip
    page.press(Keys.ARROW_RIGHT)
    assert page.shown("#tip") != tip
    assert page.count(f"{PANEL} .point[tabindex='0']") == 1
    page.press(Keys.ESCAPE)
    assert not page.find("#tip").is_displayed()


def test_the_pointer_shows_figures(page: Page, stage: Stage) -> None:
    page.open("/plane")
    page.hover(f"{PANEL} .curve:not(.rest) .point .mark")
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


def test_further_curves_are_drawn_on_request(page: Page, stage: Stage) -> None:
    page.open("/plane")
    hidden = page.count(f"{PANEL} .curve.rest")
    assert hidden > 3
    assert page.count(f"{PANEL} .curve:not(.rest)") <= 5
    page.click(".legend summary")
    name = page.value(".legend .rest", "data-curve")
    curve = f'{PANEL} .curve[data-curve="{name}"]'
    assert not page.find(f"{curve} .line").is_displayed()
    page.js("document.querySelector('.legend .rest button').focus()")
    page.press(Keys.SPACE)
    assert page.find(f"{curve} .line").is_displayed()
    assert page.count(f"{PANEL} .curve.rest") == hidden - 1
    page.js("document.querySelector('.legend details > button').focus()")
    page.press(Keys.SPACE)
    assert page.count(f"{PANEL} .curve.rest") == 0
    assert page.find(f"{curve} .line").is_displayed()
    assert page.count(".legend button[aria-pressed=false]") == 0
    page.press(Keys.SPACE)
    assert not page.find(curve).is_displayed()


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
    assert page.shown("#stop-now").startswith(
        setting_text(stage.plane.stops[stage.another].setting)
    )
    page.search(QUERY)
    assert stage.last == stage.mechanism(stage.another)
