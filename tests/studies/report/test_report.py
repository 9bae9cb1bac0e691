"""The report: what it holds, where its points lie, and that it asks for nothing."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import EntryPoint
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import SHARED

from veil.core.errors import InputError
from veil.drawing import axes
from veil.drawing.svg import at
from veil.measures.quipu import quipu
from veil.studies.panels import scores
from veil.studies.report.report import render, write_report
from veil.studies.report.tables import changed
from veil.studies.results import Card, Example, Results, Row, Score
from veil.text.mechanisms.words import MECHANISMS
from veil.text.mechanisms.words.cmp import CMP

VOID = {"meta", "br"}
NAN = math.nan
HOSTILE = "<script>alert('x')</script><img src=http://evil.example/a.png onerror=\"x\">&amp;"


class Page(HTMLParser):
    """Elements with their attributes, the text of each, and whether all were closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.open: list[tuple[str, list[str]]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        words: list[str] = []
        self.elements.append((tag, {key: value or "" for key, value in attrs}, words))
        if tag not in VOID:
            self.open.append((tag, words))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, words in self.open:
            words.append(data)

    def all(self, tag: str, class_: str = "") -> list[tuple[dict[str, str], str]]:
        return [
            (attributes, "".join(words))
            for name, attributes, words in self.elements
            if name == tag and class_ in ("", *attributes.get("class", "").split())
        ]


def rows_of(
    mechanism: str, points: list[tuple[float, float, float]], *, measure: str = "active"
) -> list[Row]:
    """Rows of risk and utility for values of epsilon."""
    found = []
    for value, risk, utility in points:
        head = ("icd", "", mechanism, f"{mechanism}(epsilon={value})", "epsilon", value, 20)
        found.append(
            Row(*head, "risk", measure, "inference", risk, risk - 0.1, risk + 0.1, 43, 0.001)
        )
        row = Row(*head, "utility", "nDCG@10", "", utility, utility - 0.2, utility + 0.2, 43)
        found.append(replace(row, task="bm25"))
    return found


def scored(results: Results) -> Results:
    """The scores of a study all of whose queries have the mean: intervals have no width."""
    values = {row: np.full(3, row.score) for row in results.rows}
    return replace(results, scores=scores(results.rows, values))


def cells_of(page: Page) -> list[str]:
    """The cells of the tables of scores, without their intervals."""
    return [re.sub(r"\[.*", "", words) for _, words in page.all("td", "score")]


def recovery_of(mechanism: str, value: float, shares: dict[int, float]) -> list[Row]:
    return [
        Row("icd", "", mechanism, f"{mechanism}(epsilon={value})", "epsilon", value, size,
            "recovery", "words", "reconstruct", share, share - 0.05, share + 0.05, 43, 0.002)
        for size, share in shares.items()
    ]  # fmt: skip


def full() -> Results:
    rows = rows_of("cmp", [(1.0, 0.2, 0.3), (5.0, 0.3, 0.5), (50.0, 0.8, 0.6)])
    rows += rows_of("tem", [(1.0, 0.0, 0.2), (5.0, 0.9, 0.6)])
    plain = ("icd", "bm25", "plain", "plain", "", 0.0, 1)
    rows.append(Row(*plain, "utility", "nDCG@10", "", 0.7, 0.6, 0.8, 43))
    for name in ("jaccard", "cosine", "bleu", "meteor"):
        row = replace(rows[0], kind="similarity", measure=name, attacker="", chance=None)
        rows.append(replace(row, score=0.125, low=0.0625, high=0.25))
    rows += recovery_of("cmp", 1.0, {1: 0.1, 2: 0.2, 5: 0.4, 10: 0.6, 20: 0.8, 50: 0.9})
    rows += recovery_of("cmp", 5.0, {1: 0.3, 2: 0.4, 5: 0.6, 10: 0.8, 20: 0.9, 50: 0.95})
    cards = (
        Card("cmp(epsilon=1.0)", "metric-dp", 1.0, "100 for the release", "it means", "lengths"),
        Card("tem(epsilon=1.0)", "none", None, "unbounded", "", ""),
    )
    return Results(
        "a study",
        tuple(rows),
        (
            Example(
                "cmp(epsilon=1.0)",
                "heart attack",
                ("heart attempt", "liver attack", "Heart attack"),
            ),
        ),
        cards,
        (("command", "veil audit --seed 7"), ("seed", "7")),
        ("A note.",),
    )


def spot(mark: str) -> tuple[float, float]:
    found = re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", mark)
    assert found
    return float(found[1]), float(found[2])


def test_the_page_is_whole_and_in_order(tmp_path: Path) -> None:
    path = write_report(full(), tmp_path / "made" / "here")
    assert path == tmp_path / "made" / "here" / "report.html"
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    page = Page(text)
    for landmark in ("header", "nav", "main", "h1"):
        assert len(page.all(landmark)) == 1
    levels = [int(name[1]) for name, _, _ in page.elements if re.fullmatch(r"h[1-6]", name)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table"))
    identities = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    drawn = [one for one, _ in page.all("svg") if one.get("aria-hidden") != "true"]
    assert drawn
    for one in drawn:
        assert one["role"] == "img"
        assert set(one["aria-labelledby"].split()) <= set(identities)
    assert {one["href"][1:] for one, _ in page.all("a")} <= set(identities)


def test_nothing_is_asked_of_a_network() -> None:
    text = render(full())
    page = Page(text)
    assert not re.search(r"https?://|//[a-z]|url\(|@import|fetch\(|import\(|XMLHttp", text)
    for name, attributes, _ in page.elements:
        assert name not in {"link", "img", "iframe", "object", "embed", "form", "base"}
        assert not {"src", "srcset", "style", "xlink:href", "action"} & set(attributes)
        assert not [key for key in attributes if key.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for a, _ in page.all("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_the_policy_allows_exactly_our_style_and_script() -> None:
    import base64
    import hashlib

    page = Page(render(full()))
    policy = next(a["content"] for a, _ in page.all("meta") if "http-equiv" in a)
    for name in ("style", "script"):
        ((_, text),) = page.all(name)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_points_lie_where_their_figures_say() -> None:
    results = full()
    page = Page(render(results))
    points = [a for a, _ in page.all("g", "point") if "data-risk" in a]
    spots = [a["transform"] for a, _ in page.all("g", "spot")]
    utilities = {r.spec: r.score for r in results.rows if r.kind == "utility"}
    risks = {r.spec: r.score for r in results.rows if r.kind == "risk"}
    assert {a["data-spec"] for a in points} == set(risks)
    inner = axes.SIDE / (1 + 2 * axes.PAD)
    zero_x, zero_y = axes.LEFT + axes.PAD * inner, axes.TOP + (1 + axes.PAD) * inner
    for place, point in zip(spots, points, strict=False):
        x, y = spot(place)
        assert (x - zero_x) / inner == pytest.approx(risks[point["data-spec"]], abs=1e-3)
        assert (zero_y - y) / inner == pytest.approx(utilities[point["data-spec"]], abs=1e-3)


def test_error_bars_go_both_ways_and_end_at_the_interval() -> None:
    page = Page(render(replace(full(), rows=tuple(rows_of("cmp", [(1.0, 0.4, 0.5)])))))
    ((bars, _),) = page.all("path", "bars")
    x0, x1, y0, y1 = (
        at(f(v)) for f, ends in ((axes.unit_x, (0.3, 0.5)), (axes.unit_y, (0.3, 0.7)))
        for v in ends
    )  # fmt: skip
    middle = at(axes.unit_x(0.4)), at(axes.unit_y(0.5))
    assert bars["d"] == f"M{x0} {middle[1]}H{x1}M{middle[0]} {y0}V{y1}"


def test_curves_go_by_parameter_not_by_risk_or_row_order() -> None:
    points = [(50.0, 0.2, 0.6), (1.0, 0.5, 0.3), (5.0, 0.1, 0.5)]
    page = Page(render(scored(replace(full(), rows=tuple(rows_of("cmp", points))))))
    values = [a["data-value"] for a, _ in page.all("g", "point")]
    assert values == ["1", "5", "50"]
    wanted = f"{quipu([0.5, 0.1, 0.2], [0.3, 0.5, 0.6]):.3f}".replace("-", "−")
    assert cells_of(page) == [wanted]


def test_the_plane_names_its_corners_and_levels() -> None:
    page = Page(render(full()))
    words = [text for _, text in page.all("text")]
    for named in ("no utility", "no privacy", "optimal", "trash", "plain search 0.700"):
        assert named in words
    assert page.all("path", "diagonal")
    assert page.all("path", "chance")
    assert "0.1 %" in page.all("figcaption")[0][1]


def test_every_configuration_and_part_appears() -> None:
    results = full()
    page = Page(render(results))
    cells = {words for _, words in page.all("th")}
    assert {row.spec for row in results.rows} - {"plain"} <= cells
    body = page.all("body")[0][1]
    told = [
        "heart attempt",
        "Heart attack (no new word)",
        "100 for the release",
        "it means",
        "lengths",
        "A note.",
    ]
    told += ["veil audit --seed 7", "0.125", "[0.06, 0.25]", "no formal guarantee"]
    for said in told:
        assert said in body
    assert [words for _, words in page.all("mark")] == ["marked", "attempt", "liver"]


def test_three_sentences_sum_it_up() -> None:
    rows = list(full().rows)
    rows[0] = replace(rows[0], score=0.01, low=0.0, high=0.02)
    made = Results("x", tuple(rows), remarks=("What only this domain < says.",))
    told = [words for _, words in Page(render(made)).all("p")][:3]
    assert "cmp(epsilon=1.0) with 20 variants" in told[0]
    assert "none is certified" in told[0]
    assert "43 % of plain search" in told[0]
    many = [replace(row, n=400) for row in rows]
    sure = next(words for _, words in Page(render(Results("x", tuple(many)))).all("p"))
    assert "none is certified" not in sure
    assert told[1] == "What only this domain < says."
    assert "0.1 % (active)" in told[2]


def test_the_summary_says_who_was_spared() -> None:
    rows = full().rows
    stronger = tuple(
        replace(row, attacker="bayes", score=1.0)
        for row in rows
        if row.kind == "risk" and row.mechanism == "cmp"
    )
    told = next(words for _, words in Page(render(Results("x", (*rows, *stronger)))).all("p"))
    assert "tem(epsilon=1.0)" in told
    assert "not attacked by bayes, unlike others" in told


def test_the_summary_says_when_nothing_is_certain_or_nothing_fits() -> None:
    told = next(words for _, words in Page(render(full())).all("p"))
    assert "none is certified; by measured risk only, tem(epsilon=1.0)" in told
    rows = tuple(
        replace(row, score=0.5) if row.kind in ("risk", "recovery") else row for row in full().rows
    )
    told = next(words for _, words in Page(render(Results("x", rows))).all("p"))
    assert "none; no configuration keeps" in told


def test_the_best_score_is_bold_and_a_single_value_has_none() -> None:
    rows = rows_of("cmp", [(1.0, 0.0, 0.2), (5.0, 0.1, 0.7)])
    rows += rows_of("tem", [(1.0, 0.0, 0.1), (5.0, 0.9, 0.6)]) + rows_of("aea", [(1.0, 0.1, 0.4)])
    page = Page(render(scored(Results("x", tuple(rows)))))
    strong = [words for _, words in page.all("strong") if re.fullmatch(r"−?\d\.\d{3}", words)]
    assert strong == [f"{quipu([0.0, 0.1], [0.2, 0.7]):.3f}"]
    assert "0.000†" in cells_of(page)
    groups = [words for a, words in page.all("th") if a.get("scope") == "rowgroup"]
    assert groups == ["Sampling", "Embedding perturbation", "Heuristics"]


def test_a_plugin_stands_under_the_family_that_it_declares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Mine(CMP):
        family = "Generalisation"

    monkeypatch.setitem(MECHANISMS._loaded, "mine", Mine)
    mine = EntryPoint("mine", "elsewhere:Mine", MECHANISMS.group)
    monkeypatch.setattr(
        "veil.core.registry.entry_points", lambda group: [mine] * (group == mine.group)
    )
    points = [(1.0, 0.0, 0.2), (5.0, 0.1, 0.7)]
    rows = [*rows_of("gone", points), *rows_of("mine", points), *rows_of("cmp", points)]
    page = Page(render(scored(Results("x", tuple(rows)))))
    groups = [words for a, words in page.all("th") if a.get("scope") == "rowgroup"]
    assert groups == ["Embedding perturbation", "Generalisation", "Other"]


def score(curve: str, value: float, behind: tuple[float, float, float] | None) -> Score:
    made = Score("icd", "bm25", "bayes", "lazy", curve, curve, curve, "epsilon", 20, value,
                 value - 0.125, value + 0.125, 43, 5)  # fmt: skip
    if behind is None:
        return replace(made, points=1)
    middle, low, high = behind
    return replace(made, behind=middle, behind_low=low, behind_high=high)


def test_scores_have_intervals_and_marks() -> None:
    found = (
        score("cmp", 0.5, (0.0, 0.0, 0.0)),
        score("tem", 0.4, (0.1, -0.05, 0.2)),
        score("wbb", 0.1, (0.4, 0.3, 0.5)),
        replace(score("santext", 0.2, (0.3, 0.0, 0.5)), missing=2),
        score("aea", 0.0, None),
        replace(score("fea", math.nan, None), n=0, points=3),
    )
    page = Page(render(Results("x", (), scores=found)))
    cells = [words for _, words in page.all("td", "score")]
    assert cells == [
        "0.400 ≈[0.275, 0.525]", "0.100[−0.025, 0.225]", "0.200 ≈‡[0.075, 0.325]",
        "0.500[0.375, 0.625]", "0.000†",
    ]  # fmt: skip
    assert [words for _, words in page.all("strong") if words[:1].isdigit()] == ["0.500"]
    section = page.all("section")[2][1]
    assert "‡ marks curves with missing points" in section
    assert "persistent" not in section
    whole = Page(render(Results("x", (), scores=found[:2])))
    assert "‡" not in whole.all("body")[0][1]


def test_it_is_said_why_a_measure_has_no_score() -> None:
    rows = rows_of("cmp", [(1.0, 0.1, 0.2)]) + rows_of("cmp", [(1.0, 0.1, 0.2)], measure="lazy")
    odd = rows_of("cmp", [(1.0, 0.1, 0.2)], measure="persistent")
    for some, said in ((rows, False), ([*rows, odd[0]], True)):
        body = Page(render(scored(Results("x", tuple(some))))).all("body")[0][1]
        assert ("persistent has no score" in body) is said


def test_utilities_show_their_test_against_plain_search() -> None:
    rows = rows_of("cmp", [(1.0, 0.2, 0.3), (5.0, 0.3, 0.5)])
    rows[1] = replace(rows[1], p_value=0.00005)
    page = Page(render(Results("x", tuple(rows))))
    cells = [words for _, words in page.all("td")]
    assert "0.300 [0.10, 0.50], p < 0.001" in cells
    assert "0.500 [0.30, 0.70]" in cells
    assert "randomisation test of nDCG@10 against plain search" in page.all("caption")[0][1]


def test_recovery_is_drawn_by_number_of_variants() -> None:
    page = Page(render(full()))
    points = [a for a, _ in page.all("g", "point") if "data-size" in a]
    assert len(points) == 12
    spots = [spot(a["transform"]) for a, _ in page.all("g", "spot")][-12:]
    by_size = {a["data-size"]: x for a, (x, _) in zip(points, spots, strict=True)}
    steps = [by_size[size] for size in ("1", "2", "5", "10", "20", "50")]
    assert steps == sorted(steps)
    assert steps[1] - steps[0] == pytest.approx(steps[3] - steps[2], abs=0.02)  # logarithmic
    for point, (_, y) in zip(points, spots, strict=True):
        assert y == pytest.approx(axes.unit_y(float(point["data-score"])), abs=0.01)


def test_hostile_texts_stay_texts() -> None:
    rows = tuple(
        replace(row, mechanism=HOSTILE, spec=f"{HOSTILE}(epsilon={row.value})",
                attacker=row.attacker and HOSTILE, data=HOSTILE, parameter="a[(\\")
        for row in full().rows
    )  # fmt: skip
    results = Results(
        HOSTILE,
        rows,
        (Example(HOSTILE, HOSTILE, (HOSTILE, "\ud800 lone", "")),),
        (Card(HOSTILE, HOSTILE, NAN, HOSTILE, HOSTILE, HOSTILE),),
        ((HOSTILE, HOSTILE), ("command", HOSTILE)),
        (HOSTILE,),
    )
    page = Page(render(results))
    assert len(page.all("script")) == 1
    assert not page.all("img")
    assert HOSTILE in page.all("h1")[0][1]
    assert HOSTILE in [words for _, words in page.all("q")]
    assert HOSTILE in [words for _, words in page.all("code")]


def test_a_lone_surrogate_does_not_stop_the_writing(tmp_path: Path) -> None:
    write_report(Results("a", (), notes=("\ud800",)), tmp_path)


LITTLE = {
    "nothing": [],
    "one point": rows_of("cmp", [(5.0, 0.5, 0.5)]),
    "a risk": list(full().rows[:1]),
    "a utility": list(full().rows[1:2]),
    "a recovery": recovery_of("cmp", 5.0, {10: 0.5}),
}


@pytest.mark.parametrize("rows", LITTLE.values(), ids=LITTLE)
def test_little_data_is_enough(rows: list[Row]) -> None:
    page = Page(render(Results("little", tuple(rows))))
    assert len(page.all("p")) >= 3
    assert "nan" not in page.all("main")[0][1]


def test_what_is_not_a_number_is_left_out_and_told() -> None:
    rows = rows_of("cmp", [(1.0, NAN, 0.3), (5.0, 0.3, NAN), (10.0, 0.4, 0.5), (50.0, 0.8, 0.6)])
    rows[4] = replace(rows[4], low=NAN, high=NAN)
    text = render(Results("gaps", tuple(rows)))
    page = Page(text)
    assert len(page.all("g", "point")) == 2
    assert "Not shown: 2" in page.all("figcaption")[0][1]
    assert not re.search(r"\bnan\b|\binf\b", text)


def test_curves_that_differ_in_more_than_the_value_are_told_apart() -> None:
    rows = []
    for noise in ("cmp", "mahalanobis"):
        for row in rows_of("vickrey", [(1.0, 0.1, 0.2), (5.0, 0.3, 0.5)]):
            rows.append(replace(row, spec=f"vickrey(epsilon={row.value}, noise='{noise}')"))
    rows += [replace(row, size=5) for row in rows_of("cmp", [(1.0, 0.1, 0.2)])]
    rows += rows_of("cmp", [(1.0, 0.1, 0.2)])
    page = Page(render(Results("many", tuple(rows))))
    legend = [words for a, words in page.all("li") if "data-curve" in a]
    assert legend[:2] == ["vickrey(noise=cmp)", "vickrey(noise=mahalanobis)"]
    assert sorted(legend[2:]) == ["cmp, 20 variants", "cmp, 5 variants"]


def test_very_long_names_and_many_curves() -> None:
    rows = [row for i in range(30) for row in rows_of("m" * 300 + str(i), [(1.0, 0.1, i / 30)])]
    page = Page(render(Results("n" * 1000, tuple(rows))))
    drawn = {a["data-curve"] for a, _ in page.all("g", "curve")}
    assert len(drawn) == 30
    marks = [a for a, _ in page.all("svg", "curve")]
    assert len(marks) == 30
    assert not [words for _, words in page.all("text") if len(words) > 60]


def test_no_two_of_many_curves_look_alike() -> None:
    looks = {(axes.colour(i), str(axes.shape(i))) for i in range(80)}
    assert len(looks) == 80


def test_labels_do_not_cover_each_other() -> None:
    labels = axes.Labels()
    for i in range(40):
        labels.place(100 + i, 100, f"{i}")
    boxes = labels.taken
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = one[0] >= other[2] or other[0] >= one[2]
            assert apart or one[1] >= other[3] or other[1] >= one[3]


def test_a_report_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = write_report(full(), tmp_path).read_bytes()

    def full_disk(*args: object, **more: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(InputError, match=r"report\.html \(No space left"):
        write_report(Results("other", ()), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_bytes() == before


def test_words_are_compared_by_place_or_along_the_common_sequence() -> None:
    assert [new for _, new in changed("a b c", "a c b")] == [False, True, True]
    assert [new for _, new in changed("a b c", "x a B c")] == [True, False, False, False]
    assert changed("a", "") == []


@pytest.mark.skipif(not (SHARED / "quipu").is_dir(), reason="needs the shared data")
def test_the_published_curves_give_the_published_table() -> None:
    published = json.loads((SHARED / "quipu" / "figure_points.json").read_text())
    exact = [each for each in published if each["exact"] and each["risk_measure"] == "R@10"]
    rows = []
    for each in exact:
        points = [(float(i), *point) for i, point in enumerate(each["points"])]
        for row in rows_of(each["mechanism"], points):
            rows.append(replace(row, data=each["collection"]))
    page = Page(render(scored(Results("published", tuple(rows)))))
    shown = [float(words.rstrip("†").replace("−", "-")) for words in cells_of(page)]
    assert len(exact) > 5
    for each in exact:
        assert min(abs(each["published"] - one) for one in shown) <= 0.0016
