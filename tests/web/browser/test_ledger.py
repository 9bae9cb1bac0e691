"""The ledger: what was released is shown, and forgotten on request."""

from tests.web.browser.driver import Page
from tests.web.browser.stage import QUERY, Stage

from veil.web.pages.words import amount


def test_it_shows_and_forgets(page: Page, stage: Stage) -> None:
    page.open("/")
    page.search(QUERY)
    page.search("fever cough")
    second, first = stage.desk.releases(9)
    with page.loading():
        page.click(".facts a")
    assert page.head == "Ledger"
    assert page.js("return location.hash") == f"#entry-{second.number}"
    assert page.count("tbody tr") == 2
    row = f"#entry-{first.number}"
    assert not page.find(f"{row} .variants").is_displayed()
    page.click(f"{row} [data-head=How] summary")
    assert page.find(f"{row} .variants").is_displayed()
    assert page.texts(f"{row} .variants li") == list(first.variants)
    assert set(first.variants) <= set(stage.web.seen)
    assert "Quokkapox" not in page.shown()
    page.click(f"{row} td:last-child summary")
    with page.loading():
        page.click(f"{row} td:last-child button")
    assert page.count(row) == 0
    assert [one.number for one in stage.desk.releases(9)] == [second.number]
    spent = amount(stage.cost(3) + stage.cost(2))
    assert f"Last 24 hours: {spent} of 10,000 spent" in page.shown(".day")  # it is not given back
    sent = len(stage.web.seen)
    page.open("/")
    page.search(QUERY)
    assert len(stage.web.seen) > sent


def test_there_is_one_entry_for_what_is_asked_twice(page: Page, stage: Stage) -> None:
    page.open("/")
    page.search(QUERY)
    page.search(QUERY)
    page.open("/ledger")
    assert page.count("tbody tr") == 1
    assert "2 times, last" in page.shown("tbody tr")
