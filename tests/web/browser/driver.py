"""A real browser without a window, and a page in it, steered as a person would."""

import json
import os
import shutil
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

T = TypeVar("T")

_PATIENCE = 120.0  # seconds
_CHOICES = (
    "headless=new",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "disable-dev-shm-usage",
    "no-proxy-server",
    "hide-scrollbars",  # as on a telephone, and they would be cut from the pictures
    "window-size=1280,900",
    "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
_ARTEFACTS = Path(__file__).resolve().parents[3] / "build" / "screenshots"


@contextmanager
def chromium(folder: Path) -> Iterator[Chrome]:
    """Start Chromium with an empty profile, and end it whatever happens; it fetches nothing."""
    binary = shutil.which(os.environ.get("VEIL_CHROMIUM", "chromium"))
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = ChromeOptions()
    options.binary_location = binary
    options.page_load_strategy = "none"  # we wait ourselves, and look while a page loads
    for choice in (*_CHOICES, f"user-data-dir={folder}"):
        options.add_argument(f"--{choice}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SE_OFFLINE", "true")
        patch.setenv("NO_PROXY", "localhost,127.0.0.1")
        made = Chrome(options=options, service=Service(driver))
    try:
        yield made
    finally:
        made.quit()


class Page:
    """What is in the tab that is in front, at an address of ours.

    Attributes
    ----------
    expected
        Statuses of failure that the test is about: the browser writes them to its console.
    abroad
        Sites that the test goes to on purpose.
    """

    def __init__(self, driver: Chrome, origin: str) -> None:
        self.driver, self.origin = driver, origin
        self.expected: set[int] = set()
        self.abroad: set[str] = set()

    def until(self, holds: Callable[[], T], what: str) -> T:
        """Wait until something holds."""
        waiting: WebDriverWait[Chrome] = WebDriverWait(
            self.driver, _PATIENCE, 0.01, [WebDriverException]
        )
        return waiting.until(lambda _: holds(), f"never came: {what}")

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Wait until what is done inside has led to another page, and that is complete."""
        before = self._loader()
        yield
        self.until(lambda: self._loader() != before and self._complete(), "another page")

    def _loader(self) -> str:
        tree = self.cdp("Page.getFrameTree")
        return str(tree["frameTree"]["frame"]["loaderId"])

    def _complete(self) -> bool:
        return bool(self.js("return document.readyState === 'complete'"))

    def cdp(self, command: str, **parameters: object) -> dict[str, Any]:
        found: dict[str, Any] = self.driver.execute_cdp_cmd(command, parameters)
        return found

    def js(self, script: str, *given: object) -> Any:  # noqa: ANN401 - what JSON holds
        return self.driver.execute_script(script, *given)

    def open(self, path: str) -> None:
        """Go to an address, as from the address bar."""
        with self.loading():
            self.driver.get(path if urlsplit(path).scheme else f"{self.origin}{path}")

    def search(self, query: str) -> None:
        """Put a query into the box, and press Enter."""
        box = self.find("#q")
        box.clear()
        self.paste(query)
        with self.loading():
            box.send_keys("\n")

    def paste(self, text: str) -> None:
        """Put a text where the cursor is, at once."""
        self.cdp("Input.insertText", text=text)

    def press(self, *keys: str) -> None:
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def find(self, css: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def count(self, css: str) -> int:
        return len(self.texts(css))

    def click(self, css: str) -> None:
        self.find(css).click()

    def hover(self, css: str) -> None:
        ActionChains(self.driver, duration=0).move_to_element(self.find(css)).perform()

    @property
    def head(self) -> str:
        return self.shown("h1")

    @property
    def variants(self) -> list[str]:
        """What the page says that the engine saw."""
        return self.texts("aside .variants li bdi:first-child")

    def shown(self, css: str = "body") -> str:
        """Return what can be read in an element, in one line."""
        return " ".join(self.find(css).text.split())

    def texts(self, css: str) -> list[str]:
        """Return the whole text of each element, also of those that are folded up."""
        found = self.js(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)",
            css,
        )
        return [str(text) for text in found]

    def value(self, css: str, name: str) -> str | None:
        """Return an attribute or property of an element."""
        found = self.find(css).get_attribute(name)
        return None if found is None else str(found)

    @property
    def focused(self) -> str:
        """Say where the keyboard is: the identity of an element, or its kind and its text."""
        return str(
            self.js(
                "const at = document.activeElement;"
                "return at.id ? `#${at.id}` : `${at.localName} ${at.textContent.trim()}`"
            )
        )

    def shoot(self, name: str) -> None:
        """Keep a picture of the whole page."""
        folder = Path(os.environ.get("VEIL_ARTEFACTS", _ARTEFACTS))
        folder.mkdir(parents=True, exist_ok=True)
        size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.cdp(
            "Page.captureScreenshot",
            clip=clip,
            captureBeyondViewport=True,
            optimizeForSpeed=True,
        )
        (folder / f"{name}.png").write_bytes(b64decode(found["data"]))

    def look(self, width: int, scheme: str) -> None:
        """Show the page as on a screen of that width, in a light or dark scheme."""
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])  # fmt: skip
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=900,
                 deviceScaleFactor=1, mobile=False)  # fmt: skip

    def complaints(self) -> list[str]:
        """Return what the browser wrote to its console since the last time."""
        known = [f"status of {status} (" for status in self.expected]
        said = self._log("browser")
        return [one for one in said if not any(each in one for each in known)]

    def requests(self) -> list[str]:
        """Return what the browser asked other sites for since the last time."""
        own = {urlsplit(self.origin).netloc, *(urlsplit(each).netloc for each in self.abroad)}
        events = [json.loads(one)["message"] for one in self._log("performance")]
        asked = [
            urlsplit(event["params"]["request"]["url"])
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [
            one.geturl()
            for one in asked
            if one.scheme in ("http", "https") and one.netloc not in own
        ]

    def _log(self, kind: str) -> list[str]:
        found: list[dict[str, str]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in found]

    def leave(self) -> None:
        """Close all tabs but one, and let that be empty and as it was."""
        first, *more = self.driver.window_handles
        for handle in more:
            self.driver.switch_to.window(handle)
            self.driver.close()
        self.driver.switch_to.window(first)
        self.cdp("Emulation.setScriptExecutionDisabled", value=False)
        self.cdp("Emulation.clearDeviceMetricsOverride")
        self.cdp("Emulation.setEmulatedMedia", features=[])
        self.open("about:blank")
