"""Engines and other sites that mean ill: nothing of theirs runs, searches or learns more."""

import pytest
from selenium.webdriver.common.keys import Keys
from tests.web.browser.driver import Page
from tests.web.browser.stage import QUERY, Elsewhere, Stage

from veil.search.engines.engine import Hit

HOSTILE = "<script>window.__pwned = 1</script><img src=/x onerror='window.__pwned = 1'>"
CLOSE = HOSTILE.replace(" ", "/")  # an address has no spaces
SITES = pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])  # another one; another port


def test_what_an_engine_answers_is_text(page: Page, stage: Stage) -> None:
    stage.web.hits = (
        Hit("javascript:alert(1)", 9.0, HOSTILE, HOSTILE),
        Hit(f'https://x.example/"onfocus="alert(1)"{CLOSE}', 8.0, "</a></h2></ol>", "&lt;b&gt;"),
        Hit("data:text/html,<script>alert(1)</script>", 7.0, "\u202emoc.elpmaxe", "\x00\x1b[31m"),
        Hit("HTTPS://x.example/\nSet-Cookie: a=b", 6.0, "'-alert(1)-'", "{{7*7}}${7*7}"),
        Hit("<meta http-equiv=refresh content='0;url=https://x.example'>", 5.0),
    )
    page.open("/")
    page.search(QUERY)
    texts = page.texts(".results li")
    assert len(texts) == 5
    assert sum(text.count(HOSTILE) for text in texts) == 2  # a title and a text
    assert any("&lt;b&gt;" in text for text in texts)
    assert page.count(".results script, .results img, .results meta") == 0
    assert page.count("h1") == page.count("ol.results") == page.count("aside") == 1
    links = page.js("return [...document.querySelectorAll('.results a')].map((a) => a.href)")
    assert [link.startswith("https://x.example/") for link in links] == [True]
    page.press(Keys.ARROW_DOWN, *[Keys.TAB] * 3)  # gives the focus to what might wait for it
    assert page.js("return window.__pwned") is None
    assert page.js("return document.querySelector('[onfocus], [onerror]')") is None
    assert page.driver.current_url.startswith(page.origin)


def test_a_result_does_not_learn_where_one_comes_from(
    page: Page, stage: Stage, other: Elsewhere
) -> None:
    page.abroad = {other.address("/")}
    stage.web.hits = (Hit(other.address("/landing"), 1.0, "Landing", "knee"),)
    page.open("/")
    page.search(QUERY)
    assert set((page.value(".results a", "rel") or "").split()) >= {"noreferrer", "noopener"}
    assert other.asked == []  # nothing is loaded ahead
    with page.loading():
        page.click(".results a")
    ((_, told),) = [one for one in other.asked if one[0] == "/landing"]
    assert "referer" not in told
    assert "127.0.0.1" not in "".join(told.values())
    assert page.js("return [document.referrer, window.opener]") == ["", None]


@SITES
def test_a_form_of_another_site_is_refused(
    page: Page, stage: Stage, other: Elsewhere, host: str
) -> None:
    page.abroad, page.expected = {other.address("/", host)}, {403}
    other.pages["/form"] = (
        f"<!doctype html><title>Form</title><form method=post action={stage.origin}/search>"
        "<input name=q value='knee pain'></form><script>document.forms[0].submit()</script>"
    )
    page.driver.get(other.address("/form", host))
    page.until(lambda: page.driver.current_url.startswith(stage.origin), "our page")
    page.until(lambda: page.head == "Forbidden", "a refusal")
    assert "Another site started this request" in page.shown("main")
    assert stage.web.seen == []
    assert stage.desk.releases(9) == ()


@SITES
def test_a_link_of_another_site_waits_for_the_user(
    page: Page, stage: Stage, other: Elsewhere, host: str
) -> None:
    page.abroad = {other.address("/", host)}
    other.link("/link", f"{stage.origin}/search?q=knee+pain")
    page.open(other.address("/link", host))
    with page.loading():
        page.click("a")
    if host == "localhost":  # another site: the browser keeps the cookie to itself
        page.expected = {401}
        assert page.head == "Token required"
        assert "knee" not in page.shown()
        with page.loading():
            page.click("main a")
    assert page.head == "Not searched yet"
    assert "knee" not in page.driver.current_url
    assert stage.web.seen == []
    assert page.value("#q", "value") == "knee pain"
    with page.loading():
        page.click(".search button")
    assert page.head == "Results"
    assert sorted(page.variants) == sorted(stage.web.seen)


@SITES
def test_a_link_of_another_site_does_not_move_the_slider(
    page: Page, stage: Stage, other: Elsewhere, host: str
) -> None:
    page.abroad = {other.address("/", host)}
    other.link("/slide", f"{stage.origin}/?stop={stage.useful}")
    page.open(other.address("/slide", host))
    with page.loading():
        page.click("a")
    if host == "localhost":
        page.expected = {401}
        assert page.head == "Token required"
        with page.loading():
            page.click("main a")
    assert page.head == "Private search"
    assert page.value("#stop", "value") == str(stage.start)


@SITES
def test_other_sites_start_nothing_and_read_nothing(
    page: Page, stage: Stage, other: Elsewhere, host: str
) -> None:
    """By pictures, frames, scripts, windows, beacons or requests of any type."""
    page.abroad = {other.address("/", host)}
    page.open(other.address("/attack", host))
    found = page.js(
        """
        const [origin] = arguments, search = `${origin}/search?q=knee+pain`;
        const made = (name, more) => new Promise((done) => {
          const one = Object.assign(document.createElement(name), more);
          one.onload = () => done("loaded");
          one.onerror = () => done("refused");
          document.body.append(one);
        });
        const asked = (path, more) => fetch(`${origin}${path}`, more)
          .then((answer) => answer.text()).then((text) => text && "read", () => "refused");
        const body = "q=knee+pain&stop=1";
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        const json = JSON.stringify({ query: "knee pain" });
        navigator.sendBeacon(`${origin}/search`, new URLSearchParams(body));
        open(search, "_blank", "noopener");
        return Promise.all([
          made("img", { src: search }),
          made("script", { src: search }),
          made("iframe", { src: search }).then(() => "framed"),
          asked("/search", { method: "POST", body, headers }),
          asked("/search", { method: "POST", body, headers, mode: "no-cors" }),
          asked("/api/search", { method: "POST", body: json, mode: "no-cors" }),
          asked("/api/search", { method: "POST", body: json,
                                 headers: { "content-type": "application/json" } }),
          asked("/ledger", {}),
          asked("/api/ledger", {}),
          asked("/ledger/forget", { method: "POST", body: "number=1", headers, mode: "no-cors" }),
        ]);
        """,
        stage.origin,
    )
    assert found == ["refused", "refused", "framed", *["refused"] * 7]
    page.until(lambda: len(page.driver.window_handles) == 2, "a window")
    page.driver.switch_to.window(page.driver.window_handles[1])
    other_site = host == "localhost"  # another port is the same site: the cookie is sent
    wanted = "Token required" if other_site else "Not searched yet"
    page.until(lambda: page.head == wanted, "our page")
    assert stage.web.seen == []
    assert stage.desk.releases(9) == ()
    page.complaints()  # of the attacks
