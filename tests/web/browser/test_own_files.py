"""Files of one's own in a browser: a result opens, and nothing in the file runs."""

from pathlib import Path

import pytest
from tests.corpus.own_files import fill
from tests.web.browser.driver import Page
from tests.web.browser.stage import Stage

from veil.corpus.folder import gather
from veil.search.engines.engine import Hit

EVIL = "<title>Quokka</title><script>document.title = 'ran'</script><h1>Hop</h1>"


@pytest.fixture
def notes(stage: Stage) -> Path:
    """Let the engine find some of the files of a folder."""
    pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    folder = fill(stage.folder / "notes")
    (folder / "evil.md").write_text(EVIL)
    (folder / "evil.html").write_text(EVIL)
    stage.open(own=True)
    stage.web.collection, _ = gather(folder)
    packed = stage.web.collection.documents
    stage.web.hits = [
        Hit(packed.ids[i], 1.0, packed.titles[i], packed.texts[i]) for i in range(len(packed))
    ]
    return folder


def test_a_result_opens_its_file_as_text(page: Page, stage: Stage, notes: Path) -> None:
    page.open("/")
    page.search("hop lichen orchids")
    assert page.count(".results a") == len(stage.web.hits)
    page.shoot("own-files-1280-light")
    links = page.js("return [...document.querySelectorAll('.results a')].map((a) => a.href)")
    shown = {}
    for link in links:
        name = link.partition("id=")[2]
        if name.endswith((".pdf", ".docx")):
            continue
        page.open(link)
        shown[name] = page.js(
            "return [document.contentType, document.querySelectorAll('h1, script').length,"
            " self.origin, document.body.innerText]"
        )
    assert len(shown) == 8
    for kind, elements, origin, _ in shown.values():
        assert (kind, elements, origin) == ("text/plain", 0, "null")  # an origin of its own
    assert "<script>" in shown["evil.md"][3]
    assert "Hop" in shown["evil.html"][3]
    assert "ran" not in shown["evil.html"][3]
    assert shown["mail%2Fbox.mbox%2F1"][3].startswith("Subject: Käse\nFrom: Ann")
    page.open(next(link for link in links if "mbox%2F1" in link))
    page.shoot("own-message-1280-light")


def test_a_result_is_opened_beside_the_list(page: Page, stage: Stage, notes: Path) -> None:
    page.open("/")
    page.search("hop lichen orchids")
    before = page.driver.window_handles
    page.click(".results a[href*='evil.md']")
    page.until(lambda: len(page.driver.window_handles) == 2, "a second tab")
    (new,) = set(page.driver.window_handles) - set(before)
    page.driver.switch_to.window(new)
    page.until(lambda: "<script>" in page.js("return document.body.innerText"), "the file")
    assert page.js("return window.opener") is None
    page.driver.close()
    page.driver.switch_to.window(before[0])
