"""The host that is shown for a result is that to which its link leads, in a browser."""

from tests.proxy.test_links import HOSTILE, ODD
from tests.web.browser.driver import Page
from tests.web.browser.stage import QUERY, Stage

from veil.search.engines.engine import Hit

READ = """
return [...document.querySelectorAll('.results li')].map((item) => {
  const link = item.querySelector('a'), host = item.querySelector('.id .host');
  return [host?.textContent ?? null, link ? new URL(link.getAttribute('href')).host : null,
          link ? link.host : null, item.querySelector('.id').innerText];
})
"""


def test_the_host_that_is_shown_is_where_the_link_leads(page: Page, stage: Stage) -> None:
    odd = list(ODD)
    stage.web.hits = [Hit(address, 1.0, f"T{i}", "knee") for i, address in enumerate(odd[:20])]
    page.open("/")
    page.search(QUERY)
    rows = page.js(READ)
    stage.open()
    stage.web.hits = [Hit(address, 1.0, f"T{i}", "knee") for i, address in enumerate(odd[20:])]
    page.open("/")
    page.search(QUERY)
    rows += page.js(READ)
    assert sorted(row[0] for row in rows) == sorted(ODD.values())
    for shown, parsed, followed, words in rows:
        assert shown == parsed == followed
        assert not words or words.startswith(shown)  # nothing where the list is folded up


def test_what_can_be_read_in_two_ways_is_no_link(page: Page, stage: Stage) -> None:
    stage.web.hits = [Hit(address, 1.0, f"T{i}", "knee") for i, address in enumerate(HOSTILE[:20])]
    page.open("/")
    page.search(QUERY)
    assert len(page.js(READ)) == 20
    assert page.count(".results a") == 0
