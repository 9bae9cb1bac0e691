"""The plane from plain numbers: a drawing, a table, a notebook and a terminal show the same."""

import re

import pytest

from veil.drawing.axes import Curve, LogScale, unit_x, unit_y
from veil.drawing.plane import Plane, draw, draw_stops, html, page, place, table, text
from veil.drawing.svg import at

HOSTILE = "</svg><script>alert('x')</script>"
CURVE = Curve(
    "cmp",
    (
        place("cmp(epsilon=1)", (0.1, 0.05, 0.2), (0.3, 0.2, 0.4), label="1"),
        place("cmp(epsilon=5)", (0.5, 0.5, 0.5), (0.75, 0.7, 0.8), facts={"worst": "0.9"}),
    ),
)
PLANE = Plane("A plane", (CURVE,), "nDCG@10", 0.01, ("plain search", 0.8), {"cmp": 0.25})


def test_points_have_intervals_on_both_axes_where_they_are_known() -> None:
    drawing = draw(PLANE, "x")
    bars = re.findall(r'class="bars" d="([^"]*)"', drawing)
    across = f"M{at(unit_x(0.05))} {at(unit_y(0.3))}H{at(unit_x(0.2))}"
    along = f"M{at(unit_x(0.1))} {at(unit_y(0.2))}V{at(unit_y(0.4))}"
    assert bars[0] == across + along
    assert bars[1].count("M") == 1  # an interval without width is none


def test_the_levels_and_the_names_of_the_axes_are_drawn() -> None:
    drawing = draw(PLANE, "x")
    assert f'class="chance" d="M{at(unit_x(0.01))} ' in drawing
    assert "plain search 0.800" in drawing
    assert "utility (nDCG@10) →" in drawing
    assert 'aria-labelledby="x-title x-desc"' in drawing
    assert "cmp: from risk 0.10 and utility 0.30 to risk 0.50 and utility 0.75." in drawing


@pytest.mark.parametrize("show", [table, html, lambda plane: page(plane, ["A < sentence."])])
def test_every_figure_is_in_a_table(show: object) -> None:
    assert callable(show)
    shown = show(PLANE)
    for cell in ("cmp(epsilon=1)", "0.100", "[0.05, 0.20]", "0.750", "[0.70, 0.80]", "0.9"):
        assert cell in shown
    assert "<th scope" in shown


def test_a_notebook_is_styled_inside_of_the_plane_alone() -> None:
    style = re.findall(r"<style>(.*?)</style>", html(PLANE), re.DOTALL)
    assert len(style) == 1
    assert style[0].startswith(".veil-plane{")
    assert style[0].count("{") == style[0].count("}")
    assert ":root" not in style[0]
    assert "<script" not in html(PLANE)


def test_a_page_has_the_scores_and_loads_nothing() -> None:
    shown = page(PLANE, ["A < sentence."])
    assert "A &lt; sentence." in shown
    assert "QuIPU" in shown
    assert "0.250" in shown
    assert not re.search(r"https?://|url\(|@import", shown)


def test_hostile_names_stay_text() -> None:
    point = place(HOSTILE, (0.1, 0.1, 0.1), (0.1, 0.1, 0.1), label=HOSTILE, facts={"x": HOSTILE})
    plane = Plane(HOSTILE, (Curve(HOSTILE, (point,)),), HOSTILE, None, (HOSTILE, 0.5))
    assert "<script>" not in html(plane)
    assert "&lt;script&gt;" in html(plane)


def test_stops_carry_their_numbers() -> None:
    figure = (0.5, 0.5, 0.5)
    drawing = draw_stops("donut", [("a", figure, figure), ("b", figure, figure)])
    assert re.findall(r'data-stop="(\d)"', drawing) == ["0", "1"]
    assert 'xmlns="http://www.w3.org/2000/svg"' in drawing


def test_a_terminal_shows_a_letter_for_each_curve() -> None:
    other = Curve("tem", (place("tem", (0.5, 0.5, 0.5), (0.75, 0.7, 0.8)),))
    lines = text(Plane("", (CURVE, other)), width=21, height=5).splitlines()
    assert lines[2] == "   |          *    ."  # both are there
    assert lines[4] == "   |  a  ."
    assert lines[-2:] == ["a cmp", "b tem"]


def test_counts_that_occur_are_labelled() -> None:
    assert [label for _, label in LogScale([1, 2, 4, 8]).ticks((1, 2, 5, 10))] == [
        "1", "8", "2", "4",
    ]  # fmt: skip
    assert LogScale([7, 7]).ticks((1, 10))[0][1] == "7"
