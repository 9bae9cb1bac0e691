"""The planes as pieces of a page: nothing inline, everything escaped, points that can be told."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from veil.studies.report.drawing import SCRIPT, STYLE, draw
from veil.studies.results import Row

HOSTILE = "<script>alert('x')</script><img src=http://evil.example/a.png onerror=\"x\">&amp;"
VOID = {"br", "img"}


class Piece(HTMLParser):
    """Elements with their attributes; fails if one is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def points(self) -> list[dict[str, str]]:
        return [one for _, one in self.elements if one.get("class") == "point"]


def rows_of(mechanism: str, measure: str, size: int = 20, attacker: str = "bayes") -> list[Row]:
    found = []
    for value, risk, utility in ((1.0, 0.1, 0.2), (5.0, 0.4, 0.6)):
        head = (mechanism, f"{mechanism}(epsilon={value})", "epsilon", value, size)
        found += [
            Row("icd", "", *head, "risk", measure, attacker, risk, 0.0, 0.5, 80, 0.01),
            Row("icd", "bm25", *head, "utility", "nDCG@10", "", utility, 0.1, 0.7, 80),
        ]
    return found


ROWS = [
    *rows_of("cmp", "lazy"),
    *rows_of("cmp", "lazy", size=5),
    *rows_of("tem", "lazy"),
    *rows_of("cmp", "active")[::2],
    *rows_of("cmp", "persistent")[::2],
    *rows_of("cmp", "lazy", attacker="inference")[::2],
]


def test_there_is_a_plane_for_each_attacker_and_measure() -> None:
    drawn = draw(ROWS)
    places = [(plot.attacker, plot.measure) for plot in drawn.plots]
    assert places == [("bayes", "lazy"), ("bayes", "active"), ("inference", "lazy")]
    for plot in drawn.plots:
        assert (plot.data, plot.task) == ("icd", "bm25")
        assert plot.html in drawn.html
        assert plot.html.startswith("<figure ")
    assert "bayes on icd with bm25, lazy: the first guess is right" in drawn.plots[0].title
    assert drawn.legend in drawn.html


def test_the_legend_names_every_curve_once() -> None:
    names = [one["data-curve"] for tag, one in Piece(draw(ROWS).legend).elements if tag == "li"]
    assert names == ["cmp, 20 variants", "cmp, 5 variants", "tem"]


@pytest.mark.parametrize("rows", [ROWS, [], [replace(r, score=float("nan")) for r in ROWS]])
def test_nothing_inline_is_in_any_piece(rows: list[Row]) -> None:
    drawn = draw(rows, [("cmp(epsilon=1.0)", 20)])
    for text in (drawn.html, drawn.legend, *(plot.html for plot in drawn.plots)):
        for tag, attributes in Piece(text).elements:
            assert tag not in {"script", "style", "link", "img", "iframe", "a", "form"}
            assert not {"style", "src", "href", "xlink:href"} & set(attributes)
            assert not [key for key in attributes if key.startswith("on")]


def test_each_point_says_which_configuration_it_is() -> None:
    plot = draw(ROWS, [("cmp(epsilon=5.0)", 5), ("tem(epsilon=1.0)", 20)]).plots[0]
    found = {
        (one["data-spec"], one["data-size"]): one.get("data-stop")
        for one in Piece(plot.html).points()
    }
    assert found == {
        ("cmp(epsilon=1.0)", "20"): None,
        ("cmp(epsilon=5.0)", "20"): None,
        ("cmp(epsilon=1.0)", "5"): None,
        ("cmp(epsilon=5.0)", "5"): "0",
        ("tem(epsilon=1.0)", "20"): "1",
        ("tem(epsilon=5.0)", "20"): None,
    }
    rings = [one for _, one in Piece(plot.html).elements if one.get("class") == "ring"]
    assert len(rings) == 2


def test_the_rings_are_explained_where_there_are_any() -> None:
    assert "ring" not in draw(ROWS).hint
    assert "Points with a ring are settings of the slider." in draw(ROWS, [("x", 1)]).hint


def test_all_figures_are_in_a_table() -> None:
    piece = Piece(draw(ROWS).html)
    assert [tag for tag, _ in piece.elements].count("table") == 2  # one for each attacker
    for row in ROWS:
        assert row.spec in piece.text
        assert f"{row.score:.3f}" in piece.text
    identities = [one["id"] for _, one in piece.elements if "id" in one]
    assert len(identities) == len(set(identities))


def test_hostile_texts_stay_texts() -> None:
    rows = [
        replace(
            row,
            mechanism=HOSTILE,
            spec=f"{HOSTILE}(epsilon={row.value})",
            data=HOSTILE,
            attacker=row.attacker and HOSTILE,
        )
        for row in ROWS
    ]
    drawn = draw(rows, [(rows[0].spec, 20)])
    piece = Piece(drawn.html)
    assert not {"script", "img"} & {tag for tag, _ in piece.elements}
    assert HOSTILE in piece.text
    assert HOSTILE in drawn.plots[0].title  # a text, not HTML


def test_the_style_knows_every_class_and_loads_nothing() -> None:
    drawn = draw(ROWS, [("cmp(epsilon=1.0)", 20)])
    classes = {
        name for _, one in Piece(drawn.html).elements for name in one.get("class", "").split()
    }
    unstyled = {name for name in classes if not re.search(rf"\.{name}\b", STYLE)}
    assert unstyled <= {"spot", "tick"}  # wrappers and texts that need no rule of their own
    assert "#tip{" in STYLE
    for text in (STYLE, SCRIPT):
        assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|innerHTML|eval", text)


def test_the_style_leaves_the_page_around_it_alone() -> None:
    selectors = re.findall(r"(?:^|[}\n])([a-z*][^{}@]*)\{", STYLE)
    named = {part.split()[0] for one in selectors for part in one.split(",")}
    assert not named & {"*", "html", "body", "h1", "h2", "h3", "p", "a", "nav", "li"}


def test_the_script_has_no_names_in_common_with_others() -> None:
    assert SCRIPT.startswith("(() => {")
    assert SCRIPT.rstrip().endswith("})();")


def many(count: int) -> list[Row]:
    """Return curves of which the later ones are the better ones."""
    found = []
    for i in range(count):
        for row in rows_of(f"m{i:02}", "lazy"):
            gain = i / 100 if row.kind == "utility" else -i / 1000
            found.append(replace(row, score=row.score + gain))
    return found


def curves(html: str) -> dict[str, bool]:
    """Return the names of the curves, and whether they are drawn at first."""
    found = [one for tag, one in Piece(html).elements if tag == "g" and "data-curve" in one]
    return {one["data-curve"]: "rest" not in one["class"].split() for one in found}


def test_few_curves_are_all_drawn() -> None:
    drawn = draw(many(7))
    assert all(curves(drawn.html).values())
    assert "are shown at first" not in drawn.hint
    assert "details" not in drawn.legend


def test_of_many_curves_the_best_are_drawn_at_first() -> None:
    drawn = draw(many(17))
    found = curves(drawn.html)
    assert len(found) == 17
    assert sum(found.values()) == 5
    assert found["m16"]  # it beats all others
    assert "5 of 17 curves are shown at first" in drawn.hint
    piece = Piece(drawn.legend)
    named = [one for tag, one in piece.elements if tag == "li"]
    assert {one["data-curve"] for one in named if one.get("class") != "rest"} == {
        name for name, shown in found.items() if shown
    }
    assert "12 further curves" in piece.text
    colours = [one["class"] for tag, one in piece.elements if tag == "svg"][:5]
    assert len(set(colours)) == 5


def test_curves_with_stops_come_first_and_no_stop_is_hidden() -> None:
    stops = [(f"m{i:02}(epsilon={value})", 20) for i in range(3) for value in (1.0, 5.0)]
    stops += [(f"m{i:02}(epsilon=5.0)", 20) for i in range(3, 9)]
    drawn = draw(many(17), stops)
    found = curves(drawn.html)
    assert all(found[f"m{i:02}"] for i in range(3))
    assert sum(found.values()) == 5
    assert "those with the most settings of the slider" in drawn.hint
    assert ".curve.rest :is(.line,.bars,.value,.point:not([data-stop])){display:none}" in STYLE


def boxes(html: str) -> list[tuple[float, float, float, float]]:
    """Return where words and the marks of curves that are drawn at first lie."""
    drawn = re.sub(r'<g class="curve[^"]* rest".*?(?=<g class="curve|</svg>)', "", html)
    found = []
    for kind, x, y, words in re.findall(
        r'<text class="(named|value|level)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', drawn
    ):
        width = 4.8 * len(words)
        left = float(x) - (width if kind == "named" and float(x) > 200 else 0)
        found.append((left, float(y) - 7, left + width, float(y)))
    return found


def test_words_near_the_origin_do_not_collide() -> None:
    rows = []
    for i in range(9):
        for row in rows_of(f"m{i}", "lazy"):
            near = 0.01 * i if row.value == 1.0 else row.score + 0.02 * i
            rows.append(replace(row, score=near, low=max(0.0, near - 0.02), high=near + 0.02))
    (plot,) = draw(rows).plots
    found = boxes(plot.html)
    assert len(found) > 6
    for i, one in enumerate(found):
        for two in found[:i]:
            apart = one[0] >= two[2] or two[0] >= one[2]
            assert apart or one[1] >= two[3] or two[1] >= one[3]
    for place in re.findall(r'<g transform="translate\(([\d. ]+)\)" class="spot"', plot.html):
        x, y = map(float, place.split())
        for box in found[:4]:  # the names of the corners
            assert not (box[0] < x < box[2] and box[1] < y < box[3])
