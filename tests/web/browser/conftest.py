"""One browser, one server and one other site for all; a desk and a tab for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from tests.web.browser.driver import Page, chromium
from tests.web.browser.stage import (
    Elsewhere,
    Stage,
    Switch,
    elsewhere,
    make_words,
    serving,
    shipped_plane,
)
from tests.web.conftest import TOKEN

from veil.proxy.slider import MeasuredPlane
from veil.text.vectors.embeddings import Embeddings


@pytest.fixture(scope="package")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="package")
def switch() -> Switch:
    return Switch()


@pytest.fixture(scope="package")
def port(switch: Switch) -> Iterator[int]:
    with serving(switch) as number:
        yield number


@pytest.fixture(scope="package")
def words() -> Embeddings:
    return make_words()


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> MeasuredPlane:
    return shipped_plane(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="package")
def other() -> Iterator[Elsewhere]:
    with elsewhere() as site:
        yield site


@pytest.fixture
def stage(
    port: int,
    switch: Switch,
    words: Embeddings,
    plane: MeasuredPlane,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stage]:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VEIL_KEYRING", "off")
    made = Stage(port, switch, words, plane, tmp_path)
    made.open()
    yield made
    made.close()


@pytest.fixture
def page(chrome: Chrome, stage: Stage, other: Elsewhere) -> Iterator[Page]:
    """A tab; at the end nothing was complained of, and nothing asked of anybody else."""
    made = Page(chrome, stage.origin)
    made.open(f"/enter?token={TOKEN}")
    other.asked.clear()
    yield made
    cookies = chrome.execute_cdp_cmd("Storage.getCookies", {})["cookies"]
    made.leave()
    chrome.execute_cdp_cmd("Storage.clearCookies", {})
    found = [one["name"] for one in cookies], made.complaints(), made.requests()
    assert found == ([f"veil-{stage.port}"], [], [])
