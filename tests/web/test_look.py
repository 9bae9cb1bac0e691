"""How the pages look: colours that can be told apart, and files that ask for nothing."""

import re

import pytest

from veil.web.routes import assets


def theme(css: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", css))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        item / 12.92 if item <= 0.04045 else ((item + 0.055) / 1.055) ** 2.4 for item in parts
    ]
    return sum(share * item for share, item in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_colours_can_be_told_apart(dark: bool) -> None:
    """Text 4.5 to 1, marks and edges of fields 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    css = assets()["page.css"].content.decode()
    light, _, rest = css.partition("@media (prefers-color-scheme: dark)")
    colours = theme(rest if dark else light)
    assert colours.keys() == theme(light).keys()
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for ground in ("ground", "wash", "mark", "warn"):
        assert contrast(colours["ink"], colours[ground]) >= 7
        assert contrast(colours["soft"], colours[ground]) >= 4.5
        assert contrast(colours["accent"], colours[ground]) >= 4.5
    for text in ("risk", "use"):
        assert contrast(colours[text], colours["ground"]) >= 4.5
        assert contrast(colours[text], colours["wash"]) >= 3
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
    assert contrast(colours["edge"], colours["ground"]) >= 3


def test_marks_differ_by_more_than_colour() -> None:
    css = assets()["page.css"].content.decode()
    lines = [
        re.findall(rf"^\.{kind} \{{[^}}]*text-decoration: underline (\w+)", css, re.MULTILINE)
        for kind in ("changed", "unknown", "same", "kept")
    ]
    assert lines == [["dotted"], ["wavy"], ["solid"], ["double"]]


@pytest.mark.parametrize("name", assets())
def test_files_ask_for_nothing_and_keep_nothing(name: str) -> None:
    text = assets()[name].content.decode()
    assert text.strip()
    bad = ("@import", "url(", "fetch(", "XMLHttp", "innerHTML", "eval(", "localStorage", "cookie",
           "sendBeacon", "WebSocket")  # fmt: skip
    result = [item for item in bad if item in text]
    if name == "places.js":  # which asks the server that it came from, and nobody else
        assert re.findall(r'(?:fetch|ask)\("([^"]*)"', text) == [
            "/api/places/protect", "/api/places/plane",
        ]  # fmt: skip
        result.remove("fetch(")
    if name == "database.js":
        assert re.findall(r'(?:fetch|run)\("([^"]*)"', text) == ["/api/dp/sql", "/api/dp/explain"]
        result.remove("fetch(")
    if name == "sensitive.js":
        assert re.findall(r'(?:fetch|ask)\("([^"]*)"', text) == [
            "/api/sensitive/search", "/api/sensitive/cleared",
        ]  # fmt: skip
        result.remove("fetch(")
    if name == "tables.js":
        assert re.findall(r'(?:fetch|ask)\("([^"]*)"', text) == [
            "/api/tables/open", "/api/tables/protect", "/api/tables/plane",
        ]  # fmt: skip
        result.remove("fetch(")
    assert not result
    assert set(re.findall("https?://[^\"'/ ]*", text)) <= {"http://www.w3.org"}


def test_the_address_loses_the_query() -> None:
    script = assets()["page.js"].content.decode()
    assert 'history.replaceState(null, "", "/search")' in script
