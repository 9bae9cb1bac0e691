"""The page with cover groups: what is exact, what the engine saw by track, bits, and sessions."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from tests.web.conftest import Client, FakeDesk
from tests.web.reading import Page
from tests.web.sample_pages import QUERY, common, evil, found, plane, rows_of, seen

from veil.core.guarantee import Guarantee
from veil.cover.table import Table
from veil.data.arrays import Strings
from veil.proxy.results import GroupView, SearchOutcome
from veil.proxy.settings import Budget, Configuration, PreflightResult, Release, TruthRank
from veil.proxy.slider import MeasuredPlane, SliderStop
from veil.web import pages

K, GROUPS, CELL = 4, 5, 10
N = K * GROUPS * CELL
SPACE = "\N{NO-BREAK SPACE}"


def make_table() -> Table:
    """Four tracks, five groups, ten texts in each cell."""
    places = np.arange(N)
    vectors = np.eye(4, dtype=np.float32)[places % 4]
    return Table(
        "made", K, GROUPS, CELL, 2, Strings.of(f"text {i}" for i in range(N)),
        np.ones(N, dtype=np.int64), places % K, places // K % GROUPS,
        Strings.of(f"cell {a} {j}" for a in range(GROUPS) for j in range(K)), vectors,
        "minilm", "a key",
    )  # fmt: skip


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cover") / "table"
    make_table().save(folder)
    return f"cover(table='{folder}')"


def covered(spec: str) -> MeasuredPlane:
    """A plane whose first stop is a cover."""
    lazy, _, useful = rows_of("cmp(epsilon=5.0)", 0.01, 0.4)
    lazy = replace(lazy, spec=spec, mechanism="cover")
    stop = SliderStop(
        Configuration(spec, K), lazy, replace(useful, spec=spec, mechanism="cover"), 0.04, ""
    )
    return replace(plane(), stops=(stop, *plane().stops), default=0)


def test_no_mechanism_is_looked_for_to_show_a_page(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking among all packages takes long, and a page has many stops."""
    data = common(plane=covered(spec))
    expected = pages.home(data)
    monkeypatch.setattr("veil.core.registry.entry_points", lambda **_: pytest.fail("it looked"))
    assert pages.home(data) == expected


GROUP = GroupView(2, GROUPS, N, False, False, 0.8, ("knee pain", "late fees"), 0.25)


def sent(spec: str, group: GroupView = GROUP, **changes: object) -> SearchOutcome:
    texts = tuple(seen((text, "cover")) for text in make_table().group(2))
    cost = Guarantee("leakage", bits=2.32, unit="release (1 text)", caveat="No DP.")
    changes = {"sent": K, "bits": 2.32, "spent": 0.0, **changes}
    return found(
        seen=texts, setting=Configuration(spec, K), cost=cost, cover=group, kept=(), **changes
    )


def text_of(html: str) -> str:
    return Page(html).text.replace(SPACE, " ")


def test_the_meter_of_the_slider_is_exact_and_says_for_how_many_queries(spec: str) -> None:
    page = Page(pages.home(common(plane=covered(spec), stop=0)))
    first = page.all("div", class_="stop")[0].text.replace(SPACE, " ")
    assert "Risk 5 % among ten guesses, exact, all equally likely" in first  # 10 x 5 / 1000
    assert (
        "An engine that knows everything, with 1,000 possible queries, all equally likely, is"
        " right within ten guesses in at most 5 % of the cases." in first
    )
    assert "guessed at once" not in first
    spoken = page.one("input", type="range").attributes["aria-valuetext"]
    assert "risk 5 % if all equally likely, among ten guesses, exact" in spoken.replace(SPACE, " ")
    assert "Risk 15 %" in page.all("div", class_="stop")[1].text.replace(SPACE, " ")


def test_a_table_that_is_not_there_has_no_exact_figure(tmp_path: Path) -> None:
    gone = covered(f"cover(table='{tmp_path / 'none'}')")
    first = Page(pages.home(common(plane=gone, stop=0))).all("div", class_="stop")[0].text
    assert "exact" not in first
    assert "guessed at once" in first


def test_the_engine_saw_the_texts_by_track(spec: str) -> None:
    page = Page(pages.results(common(plane=covered(spec), stop=0), QUERY, sent(spec)))
    lines = [element.text for element in page.all("li") if element.text.startswith("Topic ")]
    assert lines == [f"Topic {j + 1}: cell 2 {j}" for j in range(K)]
    text = page.text.replace(SPACE, " ")
    assert "Group 3 of 5: 4 fixed public texts, one for each topic" in text
    assert "Other queries of this group" in text
    assert "knee pain late fees" in text
    assert "your words" not in text
    assert "Words replaced" not in text
    assert "Newly spent2.32 bits" in text
    assert "Group 3" not in text_of(pages.results(common(), QUERY, found()))


def test_the_risk_is_exact_and_its_limits_are_told(spec: str) -> None:
    text = text_of(pages.results(common(plane=covered(spec), stop=0), QUERY, sent(spec)))
    assert (
        "An engine that knows everything and sees this group is right within ten guesses in 25 %"
        " of the cases if all 200 texts of the table are equally likely" in text
    )
    assert "with 100 in up to 50 %" in text
    assert "with 1,000" not in text.partition("An attacker who can list")[2].partition(".")[0]
    assert "after 5 related queries" in text
    assert all(figure in text for figure in ("45 %", "24 %", "90 %"))
    assert "In the audit, an engine" in text  # what was measured is there, too


def test_the_risk_is_shown_for_both_priors(spec: str) -> None:
    popular_group = replace(GROUP, popular=0.35, blind=0.125, popularity="words")
    page = Page(
        pages.results(common(plane=covered(spec), stop=0), QUERY, sent(spec, popular_group))
    )
    text = page.text.replace(SPACE, " ")
    assert "Risk 25 % among ten guesses, exact, all equally likely" in text
    assert "Risk 35 % among ten guesses, exact, popular ones likelier" in text
    assert (
        "and in 35 % if popular ones are likelier, by public frequencies of words (12.5 % before"
        " anything is sent). The estimates are rough" in text
    )
    assert "popular ones likelier" not in text_of(
        pages.results(common(plane=covered(spec), stop=0), QUERY, sent(spec))
    ).replace("their popularity", "")


def test_a_tie_is_no_first_place_and_one_size_is_shown(spec: str) -> None:
    checked = PreflightResult((TruthRank("bayes", 1, 201, 41),))
    outcome = sent(spec, preflight=checked)
    text = text_of(pages.results(common(plane=covered(spec), stop=0), QUERY, outcome))
    assert (
        "bayes cannot tell your query from 40 others of its log: its rank is anywhere from 1st"
        " to 41st, 21 on average." in text
    )
    assert "ranks your query" not in text
    section = text.partition("What the engine saw")[2]
    assert "200 texts" in section
    assert not {"201", "1,000"} & set(section.replace(".", " ").split())


def test_a_stop_of_a_table_that_knows_popularity_has_both_figures(tmp_path: Path) -> None:
    counts = np.arange(N, 0, -1, dtype=np.int64)
    table = replace(make_table(), counts=counts, popularity="words")
    table.save(tmp_path / "t")
    page = Page(pages.home(common(plane=covered(f"cover(table='{tmp_path / 't'}')"), stop=0)))
    first = page.all("div", class_="stop")[0].text.replace(SPACE, " ")
    assert "Risk 25 % among ten guesses, exact, all equally likely" in first  # of 200 texts
    assert "popular ones likelier" in first
    assert f"{100 * table.risk(prior='popular'):.3g} % if popular ones are likelier" in first
    spoken = page.one("input", type="range").attributes["aria-valuetext"].replace(SPACE, " ")
    assert "25 % if all equally likely, " in spoken
    assert "% if popular ones likelier, among ten guesses, exact" in spoken


@pytest.mark.parametrize(
    ("changes", "count", "reused", "words"),
    [
        ({"stayed": True, "known": True}, 0, 0, "Nothing new: nothing was sent"),
        ({"stayed": True, "known": True}, K, 0, "This query is close to an earlier one"),
        ({"known": True}, 0, 0, "Nothing was sent: the group had been sent before"),
        ({"known": True}, K, K, "Nothing new: the same group as for this query before"),
        ({"known": True}, K, 0, "It reveals as much about this query as a new group would"),
        ({"session": True}, K, 0, "Texts close to the previous group would have reused it"),
        ({}, K, 0, "This group had not been sent before."),
    ],
)
def test_it_is_told_whether_anything_new_was_sent(
    spec: str, changes: dict[str, object], count: int, reused: int, words: str
) -> None:
    group = replace(GROUP, **changes)  # type: ignore[arg-type]
    found = sent(spec, group, sent=count, bits=0.0, reused=reused)
    text = text_of(pages.results(common(), QUERY, found))
    assert words in text
    assert ("Nothing new: " in text) == (not count or bool(reused))
    assert "Newly spentno bits" in text


def test_a_query_far_from_the_table_and_an_old_table_are_told(spec: str) -> None:
    odd = replace(GROUP, cosine=0.1, address=-1, others=())
    text = text_of(pages.results(common(), QUERY, sent(spec, odd)))
    assert "has no text close to your query" in text
    assert "A group of an earlier table" in text
    assert "Other queries" not in text


def test_bits_have_a_bar_beside_that_of_epsilons(spec: str) -> None:
    budget = Budget("2026-11-16", 0.0, 10000.0, bits=13.0, bits_limit=300.0)
    page = Page(pages.ledger(common(budget=budget), [entry(spec)], None))
    meters = [element.text for element in page.all("meter")]
    assert meters == ["Last 24 hours: 0 of 10,000 spent", "13 of 300 bits"]
    assert "and 13 of 300 bits of leakage" in page.text
    assert "2.32 bits" in page.text
    spent = replace(budget, bits=300.0)
    full = Page(pages.home(common(budget=spent)))
    assert "all of 300 bits" in full.one("p", class_="day spent").text


def entry(spec: str) -> Release:
    when = datetime(2026, 11, 16, 9, 5)
    return Release(1, when, when, 1, spec, ("a", "b"), 2, 0, 0.0, False, 2.32)


def test_documents_of_ones_own_have_no_meter_with_cover_either(spec: str) -> None:
    own = common(standing="own", collection="mine", plane=covered(spec), stop=0)
    for html in (pages.home(own), pages.results(own, QUERY, sent(spec))):
        page = Page(html)
        assert [
            element.text for element in page.all("meter") if "24 hours" not in element.text
        ] == []
        assert "knows everything" not in page.text


def test_words_of_a_table_stay_words(spec: str) -> None:
    group = replace(GROUP, others=(evil("other"),))
    bad = sent(spec, group)
    bad = replace(bad, seen=(seen((evil("text"), "cover"), gap=evil("gap")),))
    html = pages.results(common(), QUERY, bad)
    assert "<script src=//evil" not in html
    assert html.count("evil.example/other") == 1


def test_programs_are_told_the_group(client: Client, desk: FakeDesk, spec: str) -> None:
    class Covers(FakeDesk):
        def search(
            self, query: str, setting: Configuration, *, plain: bool = False
        ) -> SearchOutcome:
            return sent(spec)

    desk.__class__ = Covers
    answers = client.post("/api/search", {"query": "flu"}).json()["answers"]
    assert isinstance(answers, list)
    answer = answers[0]
    assert answer["bits"] == 2.32
    assert answer["cover"]["address"] == 2
    assert answer["cover"]["active"] == 0.25
    assert "bits_left" in client.get("/api/budget").json()


@pytest.mark.parametrize("given", ["cell=9", "tracks=3", "words=5", ""])
def test_no_table_is_built_for_a_request(
    client: Client, desk: FakeDesk, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path))
    request = {"query": "flu", "mechanism": f"cover({given})"}
    assert "none is built for a request" in client.post("/api/search", request).refused(422)
    other = {"query": "flu", "mechanism": "cover(table='/etc')"}
    assert "must not be set over the web" in client.post("/api/search", other).refused(422)
    assert desk.searched == []
    assert list(tmp_path.iterdir()) == []


def test_the_plane_shows_the_attacker_of_the_audit_where_cover_was_not_measured() -> None:
    first = plane().stops[0]
    lost = replace(first.utility, score=float("nan"))
    exact = replace(first, utility=lost, risk=replace(first.risk, attacker="knows everything"))
    moved = replace(plane(), stops=(exact, *plane().stops[1:]))
    page = Page(pages.plane(common(plane=moved, stop=0)))
    selected = [element.text for element in page.all("option") if "selected" in element.attributes]
    assert [element.startswith("bayes") for element in selected] == [True]
    assert "nan" not in page.text.replace("anna", "")
    assert "knows everything" in page.text
