"""The pages: well-formed, everything escaped, nothing inline, nothing from elsewhere."""

import re
from itertools import pairwise

import pytest
from tests.web.reading import Page
from tests.web.sample_pages import ALL, FIELDS, QUERY, hostile_pages

from veil.web.routes import assets


@pytest.mark.parametrize("name", ALL)
def test_a_page_is_whole_and_names_what_it_asks_for(name: str) -> None:
    page = Page(ALL[name])
    assert page.one("html").attributes["lang"] == "en"
    assert page.one("meta", name="viewport").attributes["content"].startswith("width=device-width")
    assert page.one("link", rel="search").attributes["href"] == "/opensearch.xml"
    identities = [
        element.attributes["id"] for element in page.elements if "id" in element.attributes
    ]
    assert len(set(identities)) == len(identities)
    for element in page.elements:
        for key in ("for", "aria-labelledby", "aria-describedby", "list"):
            assert set(element.attributes.get(key, "").split()) <= set(identities), (element, key)
    labelled = {element.attributes["for"] for element in page.all("label")}
    for element in page.all("input") + page.all("select"):
        assert element.attributes.get("type") == "hidden" or element.attributes["id"] in labelled
    for element in page.all("button") + page.all("summary") + page.all("a"):
        assert element.text


@pytest.mark.parametrize("name", ALL)
def test_headings_and_landmarks_are_in_order(name: str) -> None:
    page = Page(ALL[name])
    levels = [
        int(element.name[1]) for element in page.elements if re.fullmatch("h[1-6]", element.name)
    ]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for landmark in ("header", "main", "footer"):
        page.one(landmark)
    assert (
        page.one("a", class_="skip").attributes["href"] == "#" + page.one("main").attributes["id"]
    )


@pytest.mark.parametrize("name", ALL)
def test_a_page_loads_its_own_files_and_runs_nothing_inline(name: str) -> None:
    page = Page(ALL[name])
    assert not page.all("style")
    assert not page.all("base") + page.all("iframe") + page.all("img")
    for element in page.elements:
        assert not [key for key in element.attributes if key == "style" or key.startswith("on")]
    assert all(not element.text for element in page.all("script"))
    for element in page.elements:
        for key in ("src", "href", "action", "formaction"):
            address = element.attributes.get(key, "/")
            ours = re.match("[/#](?!/)", address)
            assert ours or "noreferrer" in element.attributes["rel"], address
            if address.startswith("/static/"):
                assert address.removeprefix("/static/") in assets()


@pytest.mark.parametrize("name", ALL)
def test_the_query_is_nowhere_but_in_the_fields_that_send_it(name: str) -> None:
    page = Page(ALL[name])
    assert QUERY not in page.text
    assert QUERY not in page.all("title")[0].text
    holding = [element for element in page.elements if QUERY in element.attributes.values()]
    assert {element.attributes["name"] for element in holding} <= {"q"}
    assert all(element.attributes["method"] == "post" for element in page.all("form"))


@pytest.mark.parametrize("name", hostile_pages())
def test_words_of_others_stay_words(name: str) -> None:
    text = hostile_pages()[name]
    page = Page(text)
    assert not page.all("img")
    assert all(element.attributes["src"].startswith("/static/") for element in page.all("script"))
    assert "<script src=//evil" not in text
    for element in page.all("a"):
        address = element.attributes["href"]
        assert re.match("[/#](?!/)", address) or address.startswith("https://h.example/")


def test_the_words_of_others_are_all_on_some_page() -> None:
    """Else the test above would see less than it claims."""
    shown = set(re.findall("//evil.example/([a-z-]+)&gt;", "".join(hostile_pages().values())))
    assert shown == FIELDS


def test_links_to_results_tell_nobody_where_they_come_from() -> None:
    page = Page(ALL["results"])
    (link,) = page.all("a", rel="noreferrer")
    assert link.attributes["href"] == "https://host.example/a/b?c#d"
    assert set(link.attributes["rel"].split()) == {"noreferrer", "noopener", "nofollow"}
    assert link.attributes["referrerpolicy"] == "no-referrer"
    shown = [element.text for element in page.all("p", class_="id")]
    assert shown == ["host.example/a/b", "N18.9"]


def test_results_are_cut_and_isolated() -> None:
    page = Page(ALL["results"])
    snippets = page.all("p", class_="text")
    assert all(element.attributes["dir"] == "auto" for element in snippets)
    assert snippets[1].text.endswith("Chronic…")
    assert len(snippets[1].text) <= 301
    assert [element.text for element in page.all("h2")][:2] == ["Kidneys", "N18.9"]
