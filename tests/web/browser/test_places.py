"""The page of places in a browser: a file opened, moved along the plane, drawn, downloaded."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from selenium.webdriver.common.keys import Keys
from tests.web.browser.driver import Page


@pytest.fixture
def town(tmp_path: Path, rng: Generator) -> Path:
    """Write sixty households with a column that must not leave."""
    xy = rng.normal(size=(60, 2)) * 300
    lines = [f"{x:.17g},{y:.17g},secret-{i}" for i, (x, y) in enumerate(xy.tolist())]
    path = tmp_path / "town.csv"
    path.write_text("x,y,name\n" + "\n".join(lines) + "\n")
    return path


def choose(page: Page, path: Path) -> None:
    page.open("/places")
    page.find("#places-file").send_keys(str(path))
    page.until(lambda: ready(page), "a map")


def ready(page: Page) -> bool:
    return bool(page.value("#places-download", "href")) and page.count("#places-map svg") > 0


def dots(page: Page) -> str:
    return str(page.value("#places-map .released", "d"))


def test_a_file_is_opened_masked_and_drawn(page: Page, town: Path) -> None:
    choose(page, town)
    assert page.head == "Places"
    assert "donut(low=" in page.shown("#places-spec")
    assert "identifies" in page.shown("#places-figures")
    assert "no formal guarantee" in page.shown("#places-cost")
    assert page.count("#places-plane .point") == 9
    assert page.count("#places-plane .point.chosen") == 1
    assert dots(page).count("M") == 60
    assert page.count("#places-map .original") == 0
    page.shoot("places")


def test_the_slider_moves_the_method_and_the_map(page: Page, town: Path) -> None:
    choose(page, town)
    before, spec = dots(page), page.texts("#places-spec")[0]
    figures = page.shown("#places-figures")
    page.find("#places-stop").send_keys(Keys.END)
    page.until(lambda: dots(page) != before and ready(page), "another map")
    assert page.texts("#places-spec")[0] != spec
    assert "high=2500" in page.texts("#places-spec")[0]
    assert page.shown("#places-figures") != figures
    assert page.value("#places-plane .point.chosen", "data-stop") == "8"
    far = dots(page)
    page.click("#places-plane .point[data-stop='6']")
    page.until(lambda: dots(page) != far and ready(page), "a map of that stop")
    assert page.value("#places-stop", "value") == "6"


def test_what_is_downloaded_is_masked_and_has_nothing_else(page: Page, town: Path) -> None:
    choose(page, town)
    assert page.value("#places-download", "download") == "masked.csv"
    text = released(page)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [*rows[0]] == ["x", "y"]
    seen = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    true = np.genfromtxt(town, delimiter=",", skip_header=1, usecols=(0, 1))
    assert seen.shape == true.shape
    away = np.sqrt(np.square(seen[:, None] - true[None]).sum(axis=2)).min(axis=1)
    assert away.max() > 1
    assert "secret" not in text
    assert "secret" not in page.js("return document.documentElement.outerHTML")


def released(page: Page) -> str:
    """Return the file behind the link, as the browser would keep it."""
    page.driver.set_script_timeout(60)
    with_file = page.js(
        "const link = document.getElementById('places-download');"
        "return link.href.startsWith('blob:') && link.hasAttribute('download')"
    )
    assert with_file
    folder = Path(str(page.driver.capabilities["chrome"]["userDataDir"])) / "downloads"
    folder.mkdir(exist_ok=True)
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    target = folder / str(page.value("#places-download", "download"))
    target.unlink(missing_ok=True)
    page.click("#places-download")
    page.until(target.is_file, "the downloaded file")
    page.until(lambda: target.stat().st_size > 0, "its content")
    return target.read_text()


def test_true_points_are_shown_on_request_and_marked(page: Page, town: Path) -> None:
    choose(page, town)
    page.click("#places-original")
    page.until(lambda: page.count("#places-map .original") == 1 and ready(page), "true points")
    assert "not for release" in page.shown("#places-map")
    assert page.texts("#places-map svg > title") == [
        "Map of released points", "Density before and after", "Displacement rose",
    ]  # fmt: skip
    page.shoot("places-true")
    page.click("#places-original")
    page.until(lambda: page.count("#places-map svg") == 1 and ready(page), "no true points")
    assert page.count("#places-map .original") == 0


def test_geojson_and_other_methods(page: Page, town: Path) -> None:
    choose(page, town)
    page.js("document.getElementById('places-out').value = 'geojson'")
    page.js("document.getElementById('places-method').value = 'laplace'")
    page.js("document.getElementById('places-method').dispatchEvent(new Event('change'))")
    page.until(
        lambda: "laplace" in page.texts("#places-spec")[0] and ready(page), "another method"
    )
    assert "metric" in page.shown("#places-cost") or "d-privacy" in page.shown("#places-cost")
    assert released(page).startswith('{"type": "FeatureCollection"')


def test_a_file_that_cannot_be_read_is_refused_without_quoting_it(
    page: Page, tmp_path: Path
) -> None:
    page.expected = {422}
    bad = tmp_path / "bad.csv"
    bad.write_text("x,y\n1,2\n3,secret\n")
    page.open("/places")
    page.find("#places-file").send_keys(str(bad))
    page.until(lambda: "must have two numbers" in page.shown("#places-told"), "a sentence")
    assert "Row 2" in page.shown("#places-told")
    assert "secret" not in page.shown()
    assert not page.find("#places-found").is_displayed()


def test_on_a_small_dark_screen_nothing_sticks_out(page: Page, town: Path) -> None:
    page.look(360, "dark")
    choose(page, town)
    wide = page.js("return document.documentElement.scrollWidth")
    assert wide <= 360
    page.shoot("places-small")
