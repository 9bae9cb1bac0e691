"""Every page: kept as pictures, narrow enough, and fit for a keyboard and for a screen reader."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from selenium.webdriver.common.keys import Keys
from tests.sensitive.drawer import drawer
from tests.web.browser.driver import Page
from tests.web.browser.stage import HITS, LET, QUERY, Elsewhere, Stage, first_fails

from veil.search.engines.engine import Hit

Show = Callable[[Page, Stage, Elsewhere], None]


def home(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.open("/")


def results(page: Page, stage: Stage, other: Elsewhere) -> None:
    stage.open(rules=LET)
    page.open("/")
    page.search(QUERY)


def here(page: Page, stage: Stage, other: Elsewhere) -> None:
    """Documents of one's own, searched for the query as it is."""
    stage.open(own=True)
    page.open("/")
    page.search(QUERY)
    assert stage.web.seen == [QUERY]
    assert stage.desk.releases(1) == ()


def demonstration(page: Page, stage: Stage, other: Elsewhere) -> None:
    """The same, as an engine elsewhere would see it."""
    stage.open(own=True)
    page.open("/")
    page.press(QUERY)
    page.click(".demo summary")
    with page.loading():
        page.click(".demo button")
    assert sorted(page.variants) == sorted({text for text in stage.web.seen if text != QUERY})


def useful(page: Page, stage: Stage, other: Elsewhere) -> None:
    """At the other end of the slider, with much to read."""
    long = " ".join(["supercalifragilisticexpialidocious" * 3, *["knee pain and fever"] * 40])
    more = [Hit(f"https://x.example/{'a' * 300}/{i}", 1.0, long, long) for i in range(8)]
    stage.web.hits = (*HITS, *more)
    page.open(f"/?stop={stage.useful}")
    page.search(QUERY)
    unfold(page)


def nothing_found(page: Page, stage: Stage, other: Elsewhere) -> None:
    stage.web.hits = ()
    _, stage.web.fails = first_fails("The engine was busy.")
    page.open(f"/?stop={stage.many}")
    page.search("سرطان 🦘 knee")


def in_clear(page: Page, stage: Stage, other: Elsewhere) -> None:
    results(page, stage, other)
    with page.loading():
        page.click("button.plain")


def spent(page: Page, stage: Stage, other: Elsewhere) -> None:
    stage.open(budget=stage.cost(3))
    page.open("/")
    page.search(QUERY)
    page.expected = {403}
    page.search("fever cough")


def down(page: Page, stage: Stage, other: Elsewhere) -> None:
    stage.web.fails = lambda _: "The engine at search.example is down."
    page.expected = {502}
    page.open("/")
    page.search(QUERY)


def held(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.abroad = {other.address("/")}
    other.link("/held", f"{stage.origin}/search?q=knee+pain")
    page.open(other.address("/held"))
    with page.loading():
        page.click("a")
    page.expected = {401}
    with page.loading():
        page.click("main a")


def missing(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.expected = {404}
    page.open("/nowhere")


def plane(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.open("/plane")


def places(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.open("/places")


def places_opened(page: Page, stage: Stage, other: Elsewhere) -> None:
    town = stage.folder / "town.csv"
    town.write_text("x,y\n" + "".join(f"{i * 37 % 400},{i * 91 % 700}\n" for i in range(50)))
    page.open("/places")
    page.find("#places-file").send_keys(str(town))
    page.until(lambda: page.value("#places-download", "href"), "a file to download")


def tables(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.open("/tables")


def tables_opened(page: Page, stage: Stage, other: Elsewhere) -> None:
    people = stage.folder / "people.csv"
    lines = [f"{i * 37 % 60},{'FM'[i % 2]},{i * 7 % 5}\n" for i in range(60)]
    people.write_text("age,sex,a column with a very long name that goes on\n" + "".join(lines))
    page.open("/tables")
    page.find("#tables-file").send_keys(str(people))
    page.until(lambda: page.count("#tables-columns select") == 3, "columns")
    page.js(
        "document.querySelectorAll('#tables-columns select').forEach((one) => {"
        " one.value = 'qi'; one.dispatchEvent(new Event('change', {bubbles: true})); })"
    )
    page.until(lambda: page.find("#tables-go").is_displayed(), "a method to choose")
    page.click("#tables-go")
    page.until(lambda: page.value("#tables-download", "href"), "a file to download")


def sensitive(page: Page, stage: Stage, other: Elsewhere) -> None:
    stage.open(sensitive=drawer(stage.folder))
    page.open("/sensitive")


def sensitive_found(page: Page, stage: Stage, other: Elsewhere) -> None:
    sensitive(page, stage, other)
    page.find("#sensitive-query").send_keys("gas prices")
    page.click("#sensitive-ask")
    page.until(lambda: page.count("#sensitive-right li"), "two lists")


def empty_ledger(page: Page, stage: Stage, other: Elsewhere) -> None:
    page.open("/ledger")


def ledger(page: Page, stage: Stage, other: Elsewhere) -> None:
    in_clear(page, stage, other)
    page.open("/ledger")
    unfold(page)


def unfold(page: Page) -> None:
    page.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


SHOWS: tuple[Show, ...] = (
    home, results, here, demonstration, useful, nothing_found, in_clear, spent, down, held,
    missing, plane, places, places_opened, tables, tables_opened, sensitive, sensitive_found,
    empty_ledger, ledger,
)  # fmt: skip
PAGES = pytest.mark.parametrize("show", SHOWS, ids=lambda show: show.__name__)


# Roles whose elements are worth nothing without a name.
NAMED = {
    "button", "combobox", "complementary", "DisclosureTriangle", "image", "img", "link",
    "meter", "navigation", "region", "searchbox", "slider", "table", "textbox",
}  # fmt: skip


@PAGES
def test_a_page(page: Page, stage: Stage, other: Elsewhere, show: Show) -> None:
    show(page, stage, other)
    check_structure(page)
    check_names(page)
    picture(page, show.__name__.replace("_", "-"))
    walk(page)


def check_structure(page: Page) -> None:
    assert page.value("html", "lang") == "en"
    assert page.texts("title")[0].endswith("Veil")
    for landmark in ("h1", "header", "nav", "main", "footer"):
        assert page.count(landmark) == 1
    heads = page.js("return [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => h.tagName)")
    levels = [int(name[1]) for name in heads]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def check_names(page: Page) -> None:
    """Look at the page as a screen reader does."""
    nodes = page.cdp("Accessibility.getFullAXTree")["nodes"]
    roles = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    assert {"link", "main", "contentinfo", "banner"} <= {role for role, _ in roles}
    assert [role for role, name in roles if role in NAMED and not name.strip()] == []


def walk(page: Page) -> None:
    """Press Tab through the whole page: in its order, always seen where one is, without a trap."""
    page.js(
        """
        document.activeElement.blur();
        const start = document.body.appendChild(document.createElement("p"));
        document.body.prepend(start);
        start.tabIndex = -1;
        start.focus();
        start.remove();
        """
    )
    wanted = page.js(
        """
        const stops = "a[href], button, input, select, summary, [tabindex]";
        return [...document.querySelectorAll(stops)]
          .filter((one) => one.tabIndex >= 0 && one.checkVisibility() && !one.disabled)
          .length
        """
    )
    for number in range(wanted):
        page.press(Keys.TAB)
        at = page.js(
            """
            const at = document.activeElement, before = window.before;
            window.before = at;
            const shape = at.matches(".point") && at.querySelector(".mark");
            const style = getComputedStyle(at);
            const box = at.getBoundingClientRect();
            return {
              what: at.outerHTML.slice(0, 80),
              follows: !before || Boolean(before.compareDocumentPosition(at) & 4),
              marked: shape ? parseFloat(getComputedStyle(shape).strokeWidth) > 2
                : style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
              inside: box.bottom > 0 && box.top < innerHeight && box.right > 0,
            };
            """
        )
        assert (at["follows"], at["marked"], at["inside"]) == (True, True, True), (number, at)
    assert wanted >= 5


def picture(page: Page, name: str) -> None:
    """Keep pictures to be looked at; what is wider than a telephone is found here."""
    for width in (1280, 360):
        for scheme in ("light", "dark"):
            page.look(width, scheme)
            page.shoot(f"{name}-{width}-{scheme}")
        wide = page.js("return [document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1] == width
    page.look(1280, "light")


def test_the_content_can_be_skipped_to(page: Page, stage: Stage) -> None:
    page.open("/ledger")
    page.press(Keys.TAB)
    assert page.focused == "a Skip to the content"
    assert page.find(".skip").location["x"] >= 0
    page.press(Keys.ENTER)
    assert page.focused == "#content"
