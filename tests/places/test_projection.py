"""Metres on a plane and on the sphere, at the poles and across the antimeridian."""

import json

import numpy as np
import pytest
from tests.places.snow import GOLDEN, needs_snow

from veil import places
from veil.core.errors import InputError
from veil.places.crs import LONLAT, check_crs
from veil.places.projection import blocks, common, pairs, surface


@needs_snow
def test_destinations_are_those_of_pyproj() -> None:
    cases = json.loads(GOLDEN.read_text())["destination_on_sphere_6371008.8"]
    assert len(cases) == 6
    for case in cases:
        told = places.destination(case["lon"], case["lat"], case["azimuth"], case["distance"])
        assert np.array(told) == pytest.approx(case["to"], abs=1e-9)


def test_a_pole_has_directions() -> None:
    lon, lat = places.destination(0.0, -90.0, np.array([0.0, 45, 180, 270]), 5_000.0)
    assert lon % 360 == pytest.approx([0, 45, 180, 270])
    assert lat == pytest.approx(np.full(4, -90 + np.degrees(5_000 / 6_371_008.8)))


def test_there_and_back() -> None:
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(-180, 180, 300), np.degrees(np.arcsin(rng.uniform(-1, 1, 300)))
    azimuth, far = rng.uniform(0, 360, 300), 10 ** rng.uniform(-2, 7, 300)
    there = np.column_stack(places.destination(lon, lat, azimuth, far))
    home = np.column_stack([lon, lat])
    assert places.distance(home, there, LONLAT) == pytest.approx(far, rel=1e-6, abs=1e-7)
    assert (np.abs(there[:, 0]) <= 180).all()
    metres, turn = surface(LONLAT).polar(home[:1], there[:1])
    assert metres == pytest.approx(far[:1], rel=1e-6)
    assert np.degrees(turn) % 360 == pytest.approx(azimuth[:1], rel=1e-6)


def test_distance_of_antipodes_and_of_nothing() -> None:
    ends = np.array([[0.0, 0.0], [10.0, 89.0]])
    others = np.array([[180.0, 0.0], [10.0, 89.0]])
    assert places.distance(ends, others, LONLAT) == pytest.approx([np.pi * 6_371_008.8, 0])
    assert places.distance(ends, others) == pytest.approx([180, 0])


def test_mercator_is_not_metres() -> None:
    snow = places.Points(np.array([[-15540.0, 6712904.0]]), "EPSG:3857")
    moved = places.protect(snow, "fixed(radius=100)", rng=1)
    units = float(np.hypot(*(moved.xy[0, 0] - snow.xy[0])))
    assert units == pytest.approx(100 / 0.622, rel=0.005)
    assert places.distance(snow.xy, moved.xy[0], "EPSG:3857") == pytest.approx([100], abs=1e-5)


@pytest.mark.parametrize("crs", [None, LONLAT])
def test_pairs_are_the_distances(crs: str | None) -> None:
    rng, on = np.random.default_rng(1), surface(crs)
    a, b = rng.uniform(-80, 80, (7, 2)), rng.uniform(-80, 80, (5, 2))
    told = pairs(on, on.embed(a), on.embed(b))
    for row in range(5):
        assert told[:, row] == pytest.approx(places.distance(a, np.tile(b[row], (7, 1)), crs))
    assert on.metres(on.chord(np.array([3.0, 4e6]))) == pytest.approx([3.0, 4e6])


def test_blocks_cover_all_rows_and_stay_small() -> None:
    rows = [row for block in blocks(1_003, 10**6) for row in range(block.start, block.stop)]
    assert rows == list(range(1_003))
    assert all(8 * 10**6 * (cut.stop - cut.start) <= 64 * 2**20 for cut in blocks(1_003, 10**6))


@pytest.mark.parametrize(
    "at", [[[0.3, 0.4]], [[179.9999, 89.9999]], [[-180.0, -90.0]], [[20, 60]]]
)
def test_the_lattice_of_the_sphere_is_near_and_stays(at: list[list[float]]) -> None:
    on, home = surface(LONLAT), np.array(at, dtype=np.float64)
    node = on.lattice(home, 100.0)
    assert places.distance(home, node, LONLAT)[0] < 112
    assert (np.abs(node) <= [180, 90]).all()
    assert on.lattice(node, 100.0) == pytest.approx(node, abs=1e-9)


@pytest.mark.parametrize("crs", ["EPSG:99999", "EPSG", "4326 please", "urn:x", ""])
def test_an_unknown_code_is_refused(crs: str) -> None:
    with pytest.raises(InputError, match=r"coordinate system"):
        check_crs(crs)


def test_codes_are_written_in_one_way() -> None:
    assert [check_crs(code) for code in ("epsg:4326", 4326, "OGC:CRS84")] == [LONLAT] * 3
    with pytest.raises(InputError, match="a plane in metres"):
        common(None, LONLAT)
