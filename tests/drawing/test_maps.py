"""The drawings: one scale, north up, originals only on request, and then marked."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.types import Floats
from veil.drawing.maps import (
    SECTORS,
    WARNING,
    Sheet,
    draw_points,
    draw_rose,
    petals,
    thin_slice,
)
from veil.places.pictures import surfaces


def read(picture: str) -> ET.Element:
    """Read a drawing as XML; it is one of ours."""
    return ET.fromstring(picture)  # noqa: S314


@pytest.fixture
def points(rng: Generator) -> Floats:
    return rng.normal(size=(40, 2)) * [400, 150] + [1e6, 5e6]


def moves(picture: str, kind: str) -> Floats:
    """Return where the path of a class has its points (n, 2)."""
    paths = read(picture).iter("{http://www.w3.org/2000/svg}path")
    path = next(one for one in paths if kind in one.get("class", "").split())
    return np.array(re.findall(r"M([\d.-]+) ([\d.-]+)", path.get("d", "")), dtype=np.float64)


def test_a_map_has_one_scale_and_north_is_up(points: Floats) -> None:
    drawn = moves(draw_points(points, "donut"), "released")
    scale = np.ptp(drawn[:, 0]) / np.ptp(points[:, 0])
    assert np.ptp(drawn[:, 1]) / np.ptp(points[:, 1]) == pytest.approx(scale, rel=1e-3)
    order = np.lexsort((points[:, 1], points[:, 0]))  # from west to east, whatever their rows
    assert drawn[:, 1].argmin() == points[order, 1].argmax()
    assert drawn[:, 0].argmax() == points[order, 0].argmax()


def test_the_bar_has_the_length_that_it_says(points: Floats) -> None:
    picture = draw_points(points, "")
    said = re.search(r">(\d+) m<", picture)
    bar = re.search(r'd="M([\d.]+) [\d.]+V[\d.]+H([\d.]+)V', picture)
    assert said is not None
    assert bar is not None
    drawn = moves(picture, "released")
    scale = np.ptp(drawn[:, 0]) / np.ptp(points[:, 0])
    assert (float(bar[2]) - float(bar[1])) / scale == pytest.approx(float(said[1]), rel=1e-2)


def test_originals_are_drawn_on_request_alone_and_marked(points: Floats) -> None:
    released = points + 50.0
    without, beside = draw_points(released, "x"), draw_points(released, "x", points)
    assert WARNING not in without
    assert "original" not in without
    assert re.search(f'class="[^"]*\\bwarning"[^>]*>{WARNING}<', beside)
    assert len(moves(beside, "original")) == len(points)
    for picture in (surfaces(points, released), draw_rose(points, released)):
        assert WARNING in picture


def test_a_drawing_loads_nothing_and_quotes_nothing(points: Floats) -> None:
    for picture in (
        draw_points(points, "<b>", points),
        surfaces(points, points),
        draw_rose(points, points),
    ):
        read(picture)
        assert "<b>" not in picture
        assert "style" not in picture
        assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_one_place_can_be_drawn() -> None:
    assert len(moves(draw_points(np.full((3, 2), 7.0), ""), "released")) == 3


def test_of_many_points_some_are_drawn_and_that_is_said(rng: Generator) -> None:
    picture = draw_points(rng.normal(size=(50_001, 2)), "")
    drawn = len(moves(picture, "released"))
    assert drawn == len(range(0, 50_001, 3))
    assert f"({drawn:,} of them drawn)" in picture
    assert thin_slice(20_000) == slice(None, None, 1)


def test_petals_are_shares_by_azimuth(rng: Generator) -> None:
    turns = np.repeat(np.arange(SECTORS), 5) * 2 * np.pi / SECTORS
    moved = 100 * np.column_stack([np.sin(turns), np.cos(turns)])
    moved[:5] *= 3  # those to the north went farther
    shares, near = petals(moved)
    assert shares == pytest.approx(np.full(SECTORS, 1 / SECTORS))
    assert near[0] == 0
    assert near[1:].max() > 0
    assert petals(np.zeros((4, 2)))[0].sum() == 0


def test_a_sheet_holds_all_of_it(points: Floats) -> None:
    sheet = Sheet.around(points, 5, 7, 100, 60)
    places = sheet.place(points)
    assert (places >= [5, 7]).all()
    assert (places <= [105, 67]).all()
