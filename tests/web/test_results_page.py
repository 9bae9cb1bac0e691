"""What the page of results tells: variants, risk, cost."""

import math
from dataclasses import replace

import pytest
from tests.web.reading import Page
from tests.web.sample_pages import ALL, QUERY, SPECS, common, found, plane, seen

from veil.proxy.results import MARKS, MarkKind, ResultItem
from veil.proxy.settings import Configuration, Decision, PreflightResult
from veil.web import pages


def test_variants_are_marked_by_kind_counted_and_explained() -> None:
    page = Page(ALL["results"])
    first, second, third = page.one("ol", class_="variants").text, *page.all("mark", class_="same")
    assert first == "renal treatment? ×2 zkv anna lungNo answer: it took too long"
    assert second.text == "treatment"
    assert third.text == "sampled again"
    kinds: tuple[MarkKind, ...] = ("changed", "same", "unknown", "kept")
    for kind in kinds:
        assert page.all("mark", class_=kind)[0].attributes["title"] == MARKS[kind]
        assert MARKS[kind] in page.one("dl", class_="marks").text
    assert not page.all("mark", class_="layout")
    assert [element.text for element in page.all("dd", class_="times")] == [
        "3 ×",
        "2 ×",
        "1 ×",
        "1 ×",
    ]


def test_many_variants_are_all_there() -> None:
    many = tuple(seen((f"word{i}", "changed")) for i in range(50))
    page = Page(pages.results(common(), QUERY, found(seen=many)))
    lists = page.all("ol", class_="variants")
    assert [element.attributes.get("start") for element in lists] == [None, "9"]
    assert all(f"word{i}" in lists[0].text + lists[1].text for i in range(50))


def test_the_risk_is_told_with_its_interval_its_bound_and_its_attacker() -> None:
    text = Page(ALL["results"]).text
    assert (
        "In the audit, an engine with a log of 1,000 queries guessed 12 of 80 queries at the first"
        " guess (15 %, 95 % interval 10–20 %). It is at most 24 % with 97.5 % confidence" in text
    )
    assert "The attacker was bayes" in text
    assert "inference ranks your query 3rd of 1,001 candidates." in text
    assert "bayes ranks your query first of 1,001 candidates: its first guess is right." in text
    assert "outside the formal guarantee" not in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measure": "active"}, "had 12 of 80 queries among its first ten guesses (15 %"),
        ({"kind": "recovery"}, "In the audit, an engine restored 12 of 80 queries completely"),
        ({"score": 0.151}, "an engine with a log of 1,000 queries guessed queries at the first"),
        ({"low": math.nan}, "at the first guess (15 %)."),
    ],
)
def test_a_risk_is_told_by_what_was_measured(change: dict[str, object], words: str) -> None:
    stop = plane().stops[0]
    other = replace(stop, risk=replace(stop.risk, **change))  # type: ignore[arg-type]
    moved = replace(plane(), stops=(other, *plane().stops[1:]))
    assert words in Page(pages.results(common(plane=moved), QUERY, found())).text


def test_a_setting_that_is_no_stop_has_no_risk() -> None:
    page = Page(pages.results(common(), QUERY, found(setting=Configuration(SPECS[0], 7))))
    assert "This setting is not one of the audit's; its risk is unknown." in page.text
    assert "In the audit, an engine" not in page.text


def test_what_the_check_before_sending_leaves_open_is_told() -> None:
    checked = PreflightResult((), ("bayes",), ("reconstruct", "intersect"), 3)
    text = Page(pages.results(common(), QUERY, found(preflight=checked))).text
    assert "bayes is still being prepared and did not run." in text
    assert "Cannot be used against this mechanism: reconstruct and intersect." in text
    assert "which is outside the formal guarantee" in text
    assert "there is no query log on this machine" in Page(ALL["empty"]).text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sent": 0, "reused": 4, "spent": 0.0}, "Nothing new was sent: these variants were"),
        (
            {"reused": 4, "spent": 0.0},
            "No new variants: the earlier ones were sent again",
        ),
        ({"reused": 2}, "2 earlier variants and some new ones."),
        ({"shared": 2}, "3, 2 of them sampled for related queries before"),
        ({"sent": 0}, "New variants, sampled for this query."),
        ({"sent": 0}, "none of 3 variants: the answers were remembered"),
        ({"sent": 1}, "1 of 3 variants: other answers were remembered"),
        ({"earlier": 360.5}, "360.5, on top of this"),
        ({}, "New variants, sampled for this query."),
        ({}, "Newly spent300"),
        ({}, "metric-dp: 300 * euclidean, per text"),
        ({}, "What is kept is not covered."),
        ({}, "Sent unchanged because of a policy; the guarantee does not cover them: anna"),
        ({}, "They include 8 of the first 10 results of a plain search."),
        (
            {"back_deep": (6, 10), "depth": 1_204},
            "Compared with a plain search that ranks as many documents (1,204), it is 6 of 10.",
        ),
        ({"back": (0, 0)}, "A plain search finds nothing."),
        ({"back": (0, 10)}, "A more useful setting finds more, and reveals more."),
        ({"back": None}, "is unknown, because the engine would have to see your query."),
        ({"gate": Decision("obfuscate", "By your rule 'x'.", ("x",))}, "By your rule 'x'."),
    ],
)
def test_what_a_search_cost_is_told(changes: dict[str, object], words: str) -> None:
    assert words in Page(pages.results(common(), QUERY, found(**changes))).text


def test_the_ledger_entry_of_a_search_is_linked() -> None:
    page = Page(ALL["results"])
    assert page.one("a", href="/ledger?before=13#entry-12").text == "entry 12"


def test_a_query_in_clear_is_called_that() -> None:
    page = Page(ALL["in clear"])
    assert "The query itself was sent at your request, so the engine read it." in page.text
    assert "New variants" not in page.text
    assert not page.all("*", name="plain")


def test_sending_in_clear_is_offered_where_a_rule_lets_pass_and_nowhere_else() -> None:
    gate = Decision("pass", "Which your rule 'weather' would let pass.", ("weather",))
    offered = (ALL["passed"], pages.refused(common(), QUERY, "engine", "Why.", gate))
    for text in offered:
        page = Page(text)
        names = [element.attributes.get("name") for element in page.all("input", type="hidden")]
        assert names == ["q", "stop", "plain"]
        assert "Send this query unprotected" in [element.text for element in page.all("button")]
    for name, text in ALL.items():
        assert name == "passed" or "Send this query unprotected" not in text
    refused = Decision("refuse", "No.", ("names",))
    assert "in clear" not in pages.refused(common(), QUERY, "gate", "Why.", refused)


def test_many_results_are_all_there_and_numbered() -> None:
    many = tuple(ResultItem(i, f"N{i}", f"Title {i}", "", 1.0) for i in range(1, 31))
    page = Page(pages.results(common(), QUERY, found(results=many)))
    lists = page.all("ol", class_="results")
    assert [element.attributes.get("start") for element in lists] == [None, "11"]
    ranks = [element.attributes.get("data-rank") for element in page.all("li")]
    assert [rank for rank in ranks if rank] == [str(i) for i in range(1, 31)]
    assert "20 more results" in [element.text for element in page.all("summary")]


def test_variants_that_hold_nothing_but_the_query_are_told() -> None:
    clear = seen(("skin", "same"), (" ", "layout"), ("cancer", "kept"))
    other = seen(("skin", "same"), (" ", "layout"), ("tumor", "changed"))
    text = Page(pages.results(common(), QUERY, found(seen=(clear, other, clear)))).text
    assert "2 of them have only your words" in text
    text = Page(pages.results(common(), QUERY, found(seen=(other,)))).text
    assert "only your words" not in text


def test_where_more_is_out_than_the_audit_had_it_is_told() -> None:
    message = "guesses better than in the audit"
    setting = replace(plane().stops[1].setting, size=1)
    stops = tuple(replace(stop, setting=setting) for stop in plane().stops)
    on = replace(common(), plane=replace(plane(), stops=stops))
    item = seen(("lung", "changed"))
    changes: list[tuple[dict[str, object], bool]] = [
        ({"seen": (item,), "earlier": 0.0}, False),
        ({"seen": (item, item), "earlier": 0.0}, True),
        ({"seen": (item,), "earlier": 5.0}, True),
    ]
    for change, more in changes:
        text = Page(pages.results(on, QUERY, found(setting=setting, **change))).text
        assert (message in text) == more
