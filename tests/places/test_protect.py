"""The one door: regions, nodes, priors, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from veil import places
from veil.core.errors import InputError, ParameterError
from veil.core.types import Release as Releases
from veil.places.crs import LONLAT
from veil.places.region import Region

SQUARE: dict[str, Any] = {
    "type": "Polygon",
    "coordinates": [
        [[0, 0], [100, 0], [100, 100], [0, 100], [0, 0]],
        [[40, 40], [60, 40], [60, 60], [40, 60], [40, 40]],
    ],
}
FIJI: dict[str, Any] = {  # cut at the antimeridian
    "type": "MultiPolygon",
    "coordinates": [
        [[[177, -19], [180, -19], [180, -16], [177, -16], [177, -19]]],
        [[[-180, -19], [-178, -19], [-178, -16], [-180, -16], [-180, -19]]],
    ],
}


def inside(xy: Any) -> Any:  # noqa: ANN401
    """Tell which points are in the square and not in its hole."""
    x, y = xy.T
    hole = (x > 40) & (x < 60) & (y > 40) & (y < 60)
    return (x >= 0) & (x <= 100) & (y >= 0) & (y <= 100) & ~hole


def test_a_release_says_what_it_is_and_holds_no_original() -> None:
    points = places.Points(np.zeros((4, 2)), ids=np.array(list("abcd")))
    release = places.protect(points, "donut(low=50, high=500)", size=3)
    assert isinstance(release, Releases)
    assert release.mechanism == release.method == "donut(low=50.0, high=500.0, by='area')"
    assert (release.size, len(release), release.seeded) == (3, 4, False)
    assert release.points(2).xy.tolist() == release.xy[2].tolist()
    assert release.points(0).ids is None
    assert "0." not in repr(release).replace("50.0", "").replace("500.0", "")


@pytest.mark.parametrize(
    "spec", ["disk(radius=80)", "gaussian(sigma=60)", "donut(low=10, high=90)"]
)
def test_others_are_conditioned_on_the_region(spec: str) -> None:
    points = places.Points(np.full((4_000, 2), 20.0))
    moved = places.protect(points, spec, within=SQUARE, rng=1).xy[0]
    assert inside(moved).all()
    free = places.protect(points, spec, size=12, rng=2).xy.reshape(-1, 2)
    free = free[inside(free)]
    assert stats.ks_2samp(moved[:, 0], free[:, 0]).pvalue > 1e-3
    assert stats.ks_2samp(moved[:, 1], free[:, 1]).pvalue > 1e-3


def test_laplace_is_projected_and_never_drawn_again() -> None:
    points = places.Points(np.array([[20.0, 20.0], [-300, 50], [50, 50]]).repeat(300, axis=0))
    free = places.protect(points, "laplace(epsilon=0.02)", rng=1).xy[0]
    moved = places.protect(points, "laplace(epsilon=0.02)", within=SQUARE, rng=1)
    assert moved.cost.epsilon == places.protect(points, "laplace(epsilon=0.02)").cost.epsilon
    stays = inside(free)
    assert 0 < stays.sum() < len(stays)
    assert (moved.xy[0][stays] == free[stays]).all()
    nearest = np.clip(free, 0, 100)
    outer = ~((free > 0) & (free < 100)).all(axis=1)
    assert moved.xy[0][outer] == pytest.approx(nearest[outer], abs=1e-5)
    hole = ~stays & ~outer
    gap = np.abs(moved.xy[0][hole] - 50).max(axis=1)
    assert hole.any()
    assert gap == pytest.approx(np.full(hole.sum(), 10.0), abs=1e-5)
    assert Region.of(SQUARE, None).holds(moved.xy[0]).all()


@pytest.mark.parametrize("crs", [None, LONLAT])
def test_outside_points_go_to_the_nearest_edge(crs: str | None) -> None:
    turn = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    radius = 10 + np.sin(7 * turn)
    middle = np.array([0.0, 0.0 if crs is None else 60.0])
    ring = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]) + middle
    region = Region.of(
        {"type": "Polygon", "coordinates": [[*ring.tolist(), ring[0].tolist()]]}, crs
    )
    points = np.random.default_rng(1).uniform(-20, 20, (300, 2)) + middle
    moved = region.nearest(points)
    stays = region.holds(points)
    assert (moved[stays] == points[stays]).all()
    assert region.holds(moved).all()
    sides = np.stack([ring, np.roll(ring, -1, axis=0)])
    line = np.concatenate([sides[0] + s * (sides[1] - sides[0]) for s in np.linspace(0, 1, 40)])
    for point, there in zip(points[~stays], moved[~stays], strict=True):
        gaps = places.distance(np.tile(point, (len(line), 1)), line, crs)
        gap = places.distance(point[None], there[None], crs)[0]
        assert gap <= gaps.min() * (1 + 1e-4 if crs is None else 1.1)


def test_a_region_may_cross_the_antimeridian() -> None:
    points = places.Points(np.array([[179.999, -17.0], [-179.999, -17], [170, -17]]), LONLAT)
    region = Region.of(FIJI, LONLAT)
    for spec in ("laplace(epsilon=0.0001)", "predictive(epsilon=0.0001, threshold=9)"):
        traced = places.Points(points.xy, LONLAT, users=np.array(["a", "b", "c"]))
        release = places.protect(traced, spec, size=50, within=FIJI, rng=1)
        assert all(region.holds(xy).all() for xy in release.xy)
        assert release.xy[:, 2, 0] == pytest.approx(np.full(50, 177.0), abs=1e-6)
    near = places.protect(
        places.Points(points.xy[:2], LONLAT), "disk(radius=900)", 50, within=FIJI
    )
    assert all(region.holds(xy).all() for xy in near.xy)


@pytest.mark.parametrize(
    "spec", ["donut(low=10, high=80)", "cell(size=10)", "translate(dx=5, dy=0)"]
)
def test_a_point_that_finds_no_place_stops_the_release(spec: str) -> None:
    points = places.Points(np.array([[20.0, 20.0], [5_000.25, 77.5], [6_000.0, 1.0]]))
    with pytest.raises(InputError, match="^Rows 2, 3 found no place.*released.*larger") as caught:
        places.protect(points, spec, within=SQUARE)
    assert "5,000" not in str(caught.value)
    assert "77" not in str(caught.value)


def test_a_region_is_read_from_a_file_and_from_features(tmp_path: Path) -> None:
    feature = {"type": "Feature", "properties": {}, "geometry": SQUARE}
    for document in (SQUARE, feature, {"type": "FeatureCollection", "features": [feature]}):
        (tmp_path / "land.geojson").write_text(json.dumps(document))
        points = places.Points(np.full((50, 2), 20.0))
        moved = places.protect(points, "disk(radius=90)", within=tmp_path / "land.geojson")
        assert inside(moved.xy[0]).all()


@pytest.mark.parametrize(
    "within",
    [
        {"type": "Point", "coordinates": [1, 2]},
        {"type": "FeatureCollection", "features": []},
        {"type": "Feature", "geometry": None},
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]},
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]},
        {"type": "Polygon", "coordinates": "here"},
        {"type": "Polygon"},
        7,
        "no-such-file.geojson",
    ],
)
def test_what_is_no_region_is_refused(within: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match="region|no file"):
        places.protect(places.Points(np.zeros((2, 2))), "disk(radius=1)", within=within)


def test_snapping_goes_to_the_nearest_node_inside() -> None:
    nodes = places.Points(np.array([[5.0, 5.0], [95.0, 95.0], [500.0, 20.0]]))
    points = places.Points(np.random.default_rng(1).uniform(0, 100, (300, 2)))
    free = places.protect(points, "laplace(epsilon=0.02)", rng=1).xy[0]
    release = places.protect(points, "laplace(epsilon=0.02)", snap=nodes, rng=1)
    gaps = np.linalg.norm(free[:, None] - nodes.xy[None], axis=2)
    assert (release.xy[0] == nodes.xy[gaps.argmin(axis=1)]).all()
    assert "nodes are public" in release.cost.caveat
    land = places.protect(points, "laplace(epsilon=0.02)", snap=nodes, within=SQUARE, rng=1)
    assert inside(land.xy[0]).all()
    with pytest.raises(InputError, match="At least one node"):
        places.protect(points, "disk(radius=9)", within=SQUARE, snap=places.Points(nodes.xy[2:]))


def test_a_prior_moves_to_the_least_expected_distance() -> None:
    rng = np.random.default_rng(1)
    prior = places.Points(rng.uniform(0, 1_000, (30, 2)), weights=rng.uniform(0, 3, 30))
    points = places.Points(prior.xy[:20])
    free = places.protect(points, "laplace(epsilon=0.01)", rng=1).xy[0]
    release = places.protect(points, "laplace(epsilon=0.01)", prior=prior, rng=1)
    apart = np.linalg.norm(prior.xy[:, None] - prior.xy[None], axis=2)
    assert prior.weights is not None
    for z, chosen in zip(free, release.xy[0], strict=True):
        belief = prior.weights * np.exp(-0.01 * np.linalg.norm(prior.xy - z, axis=1))
        assert (chosen == prior.xy[(belief @ apart).argmin()]).all()
    assert "prior is public" in release.cost.caveat
    assert release.cost.epsilon == places.protect(points, "laplace(epsilon=0.01)").cost.epsilon
    with pytest.raises(ParameterError, match="'prior' argument is for laplace"):
        places.protect(points, "disk(radius=9)", prior=prior)


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_a_size_is_a_whole_number(size: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match="'size' argument"):
        places.protect(places.Points(np.zeros((2, 2))), "disk(radius=1)", size)


@pytest.mark.parametrize("crs", [None, LONLAT])
def test_points_that_stay_where_they_are_are_counted(crs: str | None) -> None:
    xy = np.array([[0.0, 0.0], [20.0, 0.0], [40.0, 0.0]])
    points = places.Points(xy, crs)
    snap = places.Points(np.array([[0.0, 0.0], [20.0, 0.0], [41.0, 0.0]]), crs)
    caveat = places.protect(points, "disk(radius=0.1)", 2, snap=snap).cost.caveat
    assert "4 of 6 released places are the true place" in caveat
    assert "where the truth" not in places.protect(points, "disk(radius=0.1)").cost.caveat
    proved = places.protect(points, "laplace(epsilon=5, grid=1)", snap=snap)
    assert "where the truth" not in proved.cost.caveat  # a look would break the proof


def test_the_centre_of_a_cell_stays_and_is_counted() -> None:
    points = places.Points(np.array([[50.0, 50.0], [120.0, 60.0]]))
    caveat = places.protect(points, "cell(size=100)").cost.caveat
    assert "1 of 2 released places is the true place" in caveat


def test_a_size_may_be_of_numpy() -> None:
    size: Any = np.int64(2)
    release = places.protect(places.Points(np.zeros((3, 2))), "laplace(epsilon=1)", size)
    assert release.xy.shape == (2, 3, 2)
    assert release.cost.epsilon == pytest.approx(2, rel=1e-5)


@pytest.mark.parametrize("extra", ["population", "snap", "prior"])
def test_coordinates_are_never_mixed(extra: str) -> None:
    other: Any = {extra: places.Points(np.zeros((2, 2)), LONLAT)}
    with pytest.raises(InputError, match="one coordinate system"):
        places.protect(places.Points(np.zeros((2, 2))), "laplace(epsilon=1)", **other)


def test_what_is_no_point_is_not_protected() -> None:
    bad: Any = np.zeros((2, 2))
    with pytest.raises(InputError, match="must be Points"):
        places.protect(bad, "disk(radius=1)")
