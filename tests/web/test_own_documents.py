"""The page over documents of one's own: as it is, the private way as a demonstration, no meter."""

from pathlib import Path

import pytest
from tests.search.engines.recording import leaks
from tests.web.conftest import Client, FakeDesk
from tests.web.reading import Page
from tests.web.sample_pages import QUERY, common, found, plane
from tests.web.serving import House, serving

from veil.proxy.settings import Configuration
from veil.search.locality import HERE, SIMULATION, stand_in_notice
from veil.web import pages

OWN = common(standing="own", collection="mine")
PLAIN = Configuration("plain", 0)
HERE_FOUND = found(plain=True, here=True, ledger=False, seen=(), kept=(), setting=PLAIN,
                   preflight=None, back=None, release=0, spent=0.0, sent=0)  # fmt: skip


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk(network=False, standing="own", collection="mine")


def test_forms_and_the_address_bar_search_as_it_is(client: Client, desk: FakeDesk) -> None:
    for reply in (
        client.form("/search", {"q": "flu"}),
        client.form("/search", {"q": "flu", "stop": 2}),
        client.form("/search", {"q": "flu", "plain": 1}),
        client.get("/search?q=flu", sec_fetch_site="none"),
    ):
        assert HERE in Page(reply.text).text
    assert desk.searched == [("flu", PLAIN, True)] * 4
    assert desk.kept is None  # nor did the slider move


def test_the_button_of_the_demonstration_searches_privately(
    client: Client, desk: FakeDesk
) -> None:
    text = Page(client.form("/search", {"q": "flu", "stop": 2, "demo": 1}).text).text
    assert desk.searched == [("flu", Configuration("cmp(epsilon=3.0)", 5), False)]
    assert SIMULATION in text
    assert "What a remote engine would see" in text


@pytest.mark.parametrize(
    ("more", "plain"),
    [
        ({}, True),
        ({"plain": True}, True),
        ({"plain": False}, False),
        ({"stop": 0}, False),
        ({"mechanism": "cmp(epsilon=2)"}, False),
        ({"mechanism": "cmp(epsilon=2)", "plain": True}, True),
    ],
)
def test_programs_are_told(
    client: Client, desk: FakeDesk, more: dict[str, object], plain: bool
) -> None:
    answers = client.post("/api/search", {"query": "flu", **more}).json()["answers"]
    assert isinstance(answers, list)
    assert [item["standing"] for item in answers] == ["own"]
    assert [item["plain"] for item in answers] == [plain] == [item[2] for item in desk.searched]


def test_many_queries_are_searched_as_they_are(client: Client, desk: FakeDesk) -> None:
    client.post("/api/search", {"queries": ["flu", "dog"]})
    assert desk.searched == [("flu", PLAIN, True), ("dog", PLAIN, True)]


@pytest.mark.parametrize("standing", ["stand-in", "elsewhere"])
@pytest.mark.parametrize("fields", [{}, {"demo": 1}, {"demo": 0}])
def test_elsewhere_no_field_makes_it_plain(
    client: Client, desk: FakeDesk, standing: str, fields: dict[str, object]
) -> None:
    desk.standing = standing  # type: ignore[assignment]
    client.form("/search", {"q": "flu", **fields})
    client.post("/api/search", {"query": "flu"})
    client.get("/search?q=flu", sec_fetch_site="none")
    assert [baseline for _, _, baseline in desk.searched] == [False] * 3


def measured(page: Page) -> list[str]:
    """What of the audit stands on a page: meters but that of the budget, and shares."""
    phrases = ("In the audit", "Utility ", "Risk 1", "nDCG", "97.5")
    labels = [element.text for element in page.all("meter") if "24 hours" not in element.text]
    return labels + [element for element in phrases if element in page.text]


@pytest.mark.parametrize(
    "html",
    [
        pages.home(OWN),
        pages.results(OWN, QUERY, HERE_FOUND),
        pages.results(OWN, QUERY, found()),
        pages.confirm(OWN, QUERY, "Why."),
        pages.refused(OWN, QUERY, "gate", "Why."),
    ],
)
def test_no_figure_of_an_audit_is_shown(html: str) -> None:
    page = Page(html)
    assert measured(page) == []
    spoken = page.one("input", type="range").attributes["aria-valuetext"]
    assert spoken == "Setting 2 of 3: cmp(epsilon=10.0), 20 variants"
    assert page.one("button", name="demo").text == "Simulate"
    assert measured(Page(pages.home(common())))  # the test sees them where they are


def test_why_is_told_in_one_line() -> None:
    home, here = Page(pages.home(OWN)), Page(pages.results(OWN, QUERY, HERE_FOUND))
    for page in (home, here):
        assert HERE in page.text
        assert "open" not in page.one("details", class_="demo").attributes
        assert "your queries do not leave it" in page.one("footer").text
    assert "What the engine saw" not in here.text
    assert "not recorded in the ledger" in " ".join(here.text.split())
    demo = Page(pages.results(OWN, QUERY, found()))
    assert "open" in demo.one("details", class_="demo").attributes
    assert "measured on icd, which says nothing about your documents" in demo.text


def test_a_stand_in_is_told_and_so_is_where_figures_come_from() -> None:
    embedded = common(standing="stand-in", collection="icd10cm")
    assert stand_in_notice("icd10cm") in Page(pages.home(embedded)).text
    assert stand_in_notice("icd10cm") in Page(pages.results(embedded, QUERY, found())).text
    foreign = "measured on icd with bm25, not on what you search here"
    same = common(standing="stand-in", collection=plane().collection)
    for other, messages in ((common(), True), (embedded, True), (same, False)):
        for html in (pages.home(other), pages.results(other, QUERY, found()), pages.plane(other)):
            assert (foreign in Page(html).text) == messages


def test_a_real_server_keeps_nothing_of_a_query_and_asks_nobody(tmp_path: Path) -> None:
    house = House.build(tmp_path)
    (house.given / "docs.jsonl").write_text('{"id": "d1", "text": "a dog and a cat"}\n')
    query = "quokkapox dog"
    with serving(house, "bm25", "--collection", house.given / "docs.jsonl") as server:
        before = (house.data / "ledger.sqlite").read_bytes()
        assert HERE in server.form("/search", {"q": query}).text
        answer = server.post("/api/search", {"query": query}).json()["answers"]
        assert isinstance(answer, list)
        assert (answer[0]["plain"], answer[0]["results"][0]["id"]) == (True, "d1")
        assert (house.data / "ledger.sqlite").read_bytes() == before
        assert HERE in " ".join(server.said())
        assert leaks(house.contents(), "quokkapox") == []
    assert [event for event in house.audit() if event[0] == "socket.connect"] == []
