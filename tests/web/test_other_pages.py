"""What the other pages tell: the box, the slider, refusals, the plane, the ledger."""

import math
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.web.reading import Page
from tests.web.sample_pages import ALL, KINDS, PLAIN, QUERY, SPECS, common, entry, plane, rows_of

from veil.proxy.settings import Budget
from veil.web import pages


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_says_what_was_sent_and_keeps_the_query(kind: pages.Kind) -> None:
    page = Page(ALL[f"refused, {kind}"])
    alert = page.one("div", role="alert").text
    assert "Why." in alert
    assert ("Nothing was sent" in alert) == (kind != "engine")
    assert page.one("input", name="q").attributes["value"] == QUERY
    assert "autofocus" not in page.one("input", name="q").attributes
    heads = {Page(ALL[f"refused, {each}"]).one("h1").text for each in KINDS}
    assert len(heads) == len(KINDS)


def test_a_refusal_does_not_say_both() -> None:
    """The message of an engine without a connection says that nothing was sent."""
    told = "The engine at x refuses connections. Check that it is running. Nothing was sent."
    alert = Page(pages.refused(common(), QUERY, "engine", told, unsent=True)).one(
        "div", role="alert"
    )
    assert alert.text.count("sent") == 1
    assert "Try again in a moment." in alert.text


def test_the_page_says_why_it_does_not_start_with_cover() -> None:
    missing = "cover is not on the slider: build it. Until then it starts at cmp(epsilon=2.5)."
    page = Page(pages.home(replace(common(), plane=replace(plane(), uncovered=missing))))
    assert missing in [part.text for part in page.all("p", class_="warning")]


def test_a_spent_budget_is_called_spent() -> None:
    spent = common(budget=Budget("2026-11-16", 10000.0, 10000.0))
    page = Page(pages.refused(spent, QUERY, "budget", "Why."))
    assert page.one("h1").text == "The budget is spent"
    assert page.one("span", id="day-says").text == "Last 24 hours: all of 10,000 spent"
    assert page.one("p", class_="spent").text.startswith("Last 24 hours: all")


@pytest.mark.parametrize(
    ("budget", "words", "value"),
    [
        (Budget("d", 720.0, 10000.0), "Last 24 hours: 720 of 10,000 spent", "0.072"),
        (Budget("d", 720.0, None), "Last 24 hours: 720 spent, no limit is set", None),
        (Budget("d", 0.0, 0.0), "Last 24 hours: all of 0 spent", "1"),
        (Budget("d", 9999.6, 10000.0), "Last 24 hours: 9,999.6 of 10,000 spent", "1"),
    ],
)
def test_the_day_is_told_as_a_bar_and_in_words(
    budget: Budget, words: str, value: str | None
) -> None:
    page = Page(pages.ledger(common(budget=budget), [], None))
    assert page.one("span", id="day-says").text == words
    meters = [one.attributes["value"] for one in page.all("meter")]
    assert meters == ([] if value is None else [value])


def test_a_search_of_another_site_waits() -> None:
    page = Page(ALL["held"])
    assert page.one("input", name="q").attributes["value"] == QUERY
    assert not [one for one in page.elements if "autofocus" in one.attributes]
    assert page.one("form").attributes["action"] == "/search"


def test_the_search_box_asks_the_browser_for_no_help() -> None:
    box = Page(ALL["home"]).one("input", name="q").attributes
    wanted = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
    assert wanted.items() <= box.items()
    assert box["type"] == "search"
    assert box["maxlength"] == "10000"
    assert "autofocus" in box
    longer = Page(pages.held(common(), "x" * 100_000, "")).one("input", name="q").attributes
    assert len(longer["value"]) == 10_000
    assert Page(ALL["home"]).one("html").attributes["translate"] == "no"


def test_the_slider_says_every_stop_and_shows_the_one_it_stands_at() -> None:
    page = Page(ALL["home"])
    slider = page.one("input", name="stop").attributes
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "2", "1")
    stops = page.all("div", class_="stop")
    assert ["hidden" in one.attributes for one in stops] == [True, False, True]
    words = "cmp(epsilon=10.0), 20 variants Risk 50 % (45–55 %) guessed at once"
    assert stops[1].text.startswith(words)
    assert "Utility 0.50 (0.40–0.60), plain search 0.70" in stops[1].text
    spoken = [one.attributes["data-spoken"] for one in stops]
    assert slider["aria-valuetext"] == spoken[1]
    assert spoken[0].startswith("Stop 1 of 3: cmp(epsilon=5.0), 20 variants; risk 15")
    rows = page.one("table", class_="figures").text
    assert all(spec in rows for spec in SPECS)
    told = page.one("details", class_="stops").text
    assert "an audit shipped with Veil: 80 queries of the collection icd" in told
    assert "a log of 1,000 queries" in told
    assert "Your engine and your queries may differ" in told


def test_a_risk_bound_is_never_rounded_down() -> None:
    rows = Page(ALL["home"]).one("table", class_="figures").text
    assert "24 %" in rows  # of 0.231


def test_what_a_stop_was_spared_is_told_where_it_is_chosen() -> None:
    stops = tuple(replace(one, warning="It did not face x.") for one in plane().stops)
    page = Page(pages.home(common(plane=replace(plane(), stops=stops))))
    assert all("It did not face x." in one.text for one in page.all("div", class_="stop"))


def test_the_plane_can_be_chosen_from_and_read_without_a_script() -> None:
    page = Page(ALL["plane"])
    panels = page.all("figure", class_="panel")
    options = [one.attributes["value"] for one in page.all("option")]
    assert options == [str(i) for i in range(len(panels))] + ["all"]
    assert "hidden" in page.one("p", class_="choice").attributes
    assert all("hidden" not in one.attributes for one in panels)
    for option, panel in zip(page.all("option"), panels, strict=False):
        attacker, _, measure = option.text.partition(", ")
        assert attacker == "bayes"
        assert measure.split(":")[0] == panel.text.split(":")[0]
    links = [one.attributes["href"] for one in page.all("a")]
    assert [f"/?stop={i}" for i in range(3)] == [one for one in links if "?stop=" in one]
    points = [one.attributes["data-stop"] for one in page.all("g", class_="point")]
    assert set(points) == {"0", "1", "2"}
    assert page.one("div", class_="planes").attributes["data-now"] == "1"
    assert [one.attributes["src"] for one in page.all("script")] == [
        "/static/page.js", "/static/plane.js", "/static/drawing.js",
    ]  # fmt: skip


def test_the_plane_opens_at_the_attacker_of_the_stop() -> None:
    rows = (*rows_of(SPECS[0], 0.1, 0.3, "inference"), *plane().rows)
    page = Page(pages.plane(common(plane=replace(plane(), rows=rows))))
    (chosen,) = [one for one in page.all("option") if "selected" in one.attributes]
    assert page.all("option")[0].text.startswith("inference, lazy")
    assert chosen.text.startswith("bayes, lazy")


def test_the_ledger_tells_what_was_released() -> None:
    late = datetime(2026, 11, 16, 10, 7)
    shown = entry(4, asked=3, last=late, shared=1, chosen=True)
    unproved = entry(2, mechanism="aea(level=2)", spent=math.inf)
    page = Page(pages.ledger(common(), [shown, PLAIN, unproved], 2))
    first, second, third = (page.one("tr", id=f"entry-{i}").text for i in (4, 3, 2))
    for words in ("2026-11-16 09:05", SPECS[0], "2 variants", "renal care", "2, 1 shared", "200",
                  "3 times, last 2026-11-16 10:07", "passed a local attack"):  # fmt: skip
        assert words in first
    assert "Sent in clear" in second
    assert "variants" not in second
    assert "once" in second
    assert "without bound" in third
    assert page.one("a", rel="next").attributes["href"] == "/ledger?before=2"
    assert "The queries themselves are not stored" in page.text
    assert "Last 24 hours: 720 of 10,000 spent." in page.text


def test_an_entry_is_forgotten_by_a_form_in_two_steps() -> None:
    page = Page(ALL["ledger"])
    fields = [one.attributes["value"] for one in page.all("input", name="number")]
    assert fields == ["4", "3"]
    assert len(page.all("form", action="/ledger/forget")) == 2
    steps = [one.text for one in page.all("summary") if "Forget" in one.text]
    assert steps == ["Forget entry 4", "Forget entry 3"]
    assert "what was spent stays spent" in page.one("p", id="forgetting").text


def test_times_are_those_of_this_machine() -> None:
    aware = datetime(2026, 11, 16, 9, 5).astimezone() + timedelta(hours=1)
    page = Page(pages.ledger(common(), [entry(1, made=aware)], None))
    assert "2026-11-16 10:05" in page.text


def test_empty_pages_say_so() -> None:
    assert Page(ALL["empty"]).one("p", class_="empty").text.startswith("No results.")
    assert "Nothing was released yet" in Page(ALL["new ledger"]).text
    assert not Page(ALL["new ledger"]).all("table")


def test_an_error_is_told_without_knowing_anything() -> None:
    page = Page(ALL["error"])
    assert page.one("h1").text == "Not Found"
    assert "There is nothing at this address." in page.text
    assert Page(pages.error(799, "")).one("h1").text == "Error 799"


def test_the_engine_and_where_variants_go_is_told() -> None:
    here = Page(pages.home(common(standing="stand-in"))).one("footer").text
    assert here.startswith("Engine bm25(index='x'), on this machine in place of one elsewhere")
    abroad = Page(pages.home(common(network=True))).one("footer").text
    assert abroad.startswith("Engine bm25(index='x'): variants leave this machine.")


def test_a_stop_tells_how_often_the_query_goes_out_as_it_is() -> None:
    first, *others = plane().stops
    often = replace(first.utility, kind="similarity", measure="in clear", score=0.4)
    for score, told in ((0.4, "For 40 % of the queries"), (0.0, "")):
        row = replace(often, score=score)
        stops = (replace(first, clear=row), *others)
        text = Page(pages.home(replace(common(), plane=replace(plane(), stops=stops)))).text
        assert ("word for word" in text) == bool(told)
        assert told in text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_catalogue_for_demonstration_is_named() -> None:
    text = Page(pages.home(common(standing="stand-in", collection="icd10cm"))).text
    assert "a catalogue of diagnoses" in text
    assert "catalogue" not in Page(pages.home(replace(common(), engine="searxng at x"))).text
