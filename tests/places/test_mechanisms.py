"""Methods that look at more than one point, or draw nothing."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import Voronoi, cKDTree
from tests.mutation import listed

from veil import places
from veil.core.component import example
from veil.core.errors import InputError, LawError, ParameterError
from veil.core.types import Floats
from veil.places.crs import LONLAT
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import MECHANISMS
from veil.places.projection import surface

CRS = [None, LONLAT]


def cloud(n: int, crs: str | None = None, seed: int = 3) -> places.Points:
    """Draw points over 2 km, on the sphere across the antimeridian."""
    metres = np.random.default_rng(seed).uniform(-1_000, 1_000, (n, 2))
    if crs is None:
        return places.Points(metres)
    far, turn = np.hypot(*metres.T), np.degrees(np.arctan2(*metres.T))
    return places.Points(np.column_stack(places.destination(179.999, -17.0, turn, far)), crs)


def apart(a: Floats, b: Floats, crs: str | None) -> Floats:
    """Return metres (n, m) between all pairs."""
    return np.array([places.distance(np.repeat(row[None], len(b), 0), b, crs) for row in a])


@pytest.mark.parametrize("name", MECHANISMS.names())
@pytest.mark.parametrize("crs", CRS)
def test_every_method_keeps_its_contract(name: str, crs: str | None) -> None:
    method, points = example(MECHANISMS.get(name)), cloud(40, crs)
    before = points.xy.copy()
    traced = places.Points(points.xy, crs, users=np.repeat(["a", "b"], 20))
    people = cloud(400, crs, 9)
    release = places.protect(traced, method, size=2, population=people, rng=1)
    assert release.xy.shape == (2, 40, 2)
    assert np.isfinite(release.xy).all()
    assert (points.xy == before).all()
    assert release.seeded
    assert release.method == str(method)
    assert str(places.mechanism(release.method)) == release.method
    again = places.protect(traced, method, size=2, population=people, rng=1)
    assert (release.xy == again.xy).all()
    assert (release.xy[0] != before).any(axis=1).all()
    assert release.unplaced == ()
    fresh = places.protect(traced, method, population=people)
    assert not fresh.seeded
    assert (fresh.xy[0] == release.xy[0]).all() == (not method.random)


@pytest.mark.parametrize("crs", CRS)
def test_rotation_keeps_distances_and_turns_against_the_clock(crs: str | None) -> None:
    points = cloud(12, crs)
    turned = places.protect(points, "rotate(degrees=90)").xy[0]
    assert apart(turned, turned, crs) == pytest.approx(apart(points.xy, points.xy, crs), abs=1e-5)
    if crs is None:
        centre = points.xy.mean(axis=0)
        east, north = (points.xy - centre).T
        assert turned - centre == pytest.approx(np.column_stack([-north, east]), abs=1e-9)
        about = places.protect(
            places.Points(np.array([[5.0, 2.0]])), "rotate(degrees=90, about='4;2')"
        )
        assert about.xy[0, 0] == pytest.approx([4, 3])


@pytest.mark.parametrize("crs", CRS)
def test_scaling_multiplies_distances_from_the_centre(crs: str | None) -> None:
    points = cloud(12, crs)
    stretched = places.protect(points, "scale(factor=1.5)").xy[0]
    near, far = apart(points.xy, points.xy, crs), apart(stretched, stretched, crs)
    assert far == pytest.approx(1.5 * near, rel=1e-5, abs=1e-5)
    about = places.protect(places.Points(np.array([[5.0, 2.0]])), "scale(factor=3, about='4;2')")
    assert about.xy[0, 0] == pytest.approx([7, 2])


def test_translation_shifts_east_and_north() -> None:
    points = cloud(12)
    assert places.protect(points, "translate(dx=30, dy=-4)").xy[0] == pytest.approx(
        points.xy + np.array([30, -4])
    )
    there = places.protect(cloud(12, LONLAT), "translate(dx=0, dy=500)").xy[0]
    north = there[:, 1] - cloud(12, LONLAT).xy[:, 1]
    assert np.radians(north) * 6_371_008.8 == pytest.approx(np.full(12, 500.0))


@pytest.mark.parametrize(
    "spec",
    [
        "rotate(degrees=0)",
        "rotate(degrees=-720)",
        "scale(factor=1)",
        "scale(factor=0)",
        "translate(dx=0, dy=0)",
        "rotate(degrees=3, about='here')",
        "scale(factor=2, about='1;2;3')",
        "donut(low=5, high=5)",
        "donut(low=6, high=5)",
        "bimodal(low=6, high=5)",
        "swap(low=6, high=5)",
        "donut(low=-1, high=5)",
        "disk(radius=0)",
        "disk(radius=nan)",
        "laplace(epsilon=0)",
        "density(k=0)",
        "density(k=5, inner=1)",
        "predictive(epsilon=1, threshold=5, test=1)",
        "cell(size=-3)",
        "bimodal(low=1, high=2, mean=-1000000, sigma=1)",
        "bimodal(low=1, high=2, sigma=1000000)",
        "laplace(epsilon=1e-300)",
    ],
)
def test_parameters_that_would_release_the_original_or_nothing_are_refused(spec: str) -> None:
    with pytest.raises(ParameterError, match="must"):
        places.mechanism(spec)


@pytest.mark.parametrize("spec", ["rotate(degrees=30)", "scale(factor=2)"])
def test_a_point_at_the_centre_is_not_released(spec: str) -> None:
    with pytest.raises(InputError, match="^Row 2 at the centre would be released in place"):
        places.protect(places.Points(np.array([[0.0, 0], [1, 0], [2, 0]])), spec)
    with pytest.raises(InputError, match="^Row 1 at the centre"):
        places.protect(places.Points(np.array([[10.0, 20.0]])), spec)


@pytest.mark.parametrize(
    "spec",
    ["disk(radius=1e-20)", "translate(dx=1e-9, dy=0)", "cell(size=1e-9)", "fixed(radius=1e-12)"],
)
def test_what_moves_nothing_is_not_released(spec: str) -> None:
    with pytest.raises(InputError, match="moved no point.*Nothing is released"):
        places.protect(cloud(20), spec)


@pytest.mark.parametrize("spec", ["fixed(radius=4e7)", "translate(dx=2.1e7, dy=0)"])
def test_nothing_goes_round_the_sphere(spec: str) -> None:
    with pytest.raises(ParameterError, match="half its circumference"):
        places.protect(cloud(20, LONLAT), spec)
    with pytest.raises(ParameterError, match="less than 1e12 m"):
        places.protect(cloud(20), "gaussian(sigma=1e300)")


@pytest.mark.parametrize("crs", CRS)
def test_density_draws_evenly_from_the_ring_that_holds_k(crs: str | None) -> None:
    points, people = cloud(3_000, crs), cloud(500, crs, 8)
    release = places.protect(points, "density(k=20, inner=0.5)", population=people, rng=2)
    high = np.sort(apart(points.xy, people.xy, crs), axis=1)[:, 19]
    assert places.radius_for_k(points, people, 20) == pytest.approx(high, rel=1e-9, abs=1e-6)
    share = places.distance(points.xy, release.xy[0], crs) / high
    assert stats.kstest(share, lambda s: (s**2 - 0.25) / 0.75).pvalue > 1e-3
    east, north = (release.xy[0] - points.xy).T
    if crs is not None:
        east = ((east + 180) % 360 - 180) * np.cos(np.radians(17.0))
    assert stats.kstest(np.arctan2(east, north) / (2 * np.pi) % 1, "uniform").pvalue > 1e-3


def test_density_uses_the_ring_of_each_candidate() -> None:
    people = places.Points(np.array([[0.0, 0], [10, 0], [30, 0], [130, 0]]))
    law = places.mechanism("density(k=2, inner=0)").log_density(
        np.array([[5.0, 0.0]]), people.xy, surface(None), people
    )[0]
    areas = np.pi * np.array([10.0, 10.0, 20.0, 100.0]) ** 2
    assert law[:2] == pytest.approx(-np.log(areas[:2]))
    assert np.isneginf(law[2:]).all()


def test_where_k_live_in_one_place_the_next_one_is_the_radius() -> None:
    people = places.Points(np.array([[0.0, 0], [40, 0]]), weights=np.array([9.0, 1.0]))
    home = places.Points(np.zeros((400, 2)))
    assert (places.radius_for_k(home, people, 5) == 0).all()
    moved = np.hypot(*places.protect(home, "density(k=5)", population=people, rng=1).xy[0].T)
    assert moved.min() > 3.99
    assert 38 < moved.max() <= 40.0000001
    alone = places.Points(np.zeros((3, 2)))
    with pytest.raises(InputError, match="someone at another place"):
        places.protect(home, "density(k=2)", population=alone)
    with pytest.raises(InputError, match="at least 11 people. Got 10"):
        places.radius_for_k(home, people, 11)


def test_a_weighted_radius_is_where_people_add_up() -> None:
    people = places.Points(
        np.column_stack([np.arange(1.0, 101), np.zeros(100)]), weights=np.full(100, 0.25)
    )
    home = places.Points(np.zeros((1, 2)))
    assert places.radius_for_k(home, people, 10).tolist() == [40.0]
    assert places.radius_for_k(home, people, 25).tolist() == [100.0]
    with pytest.raises(ParameterError, match="'k' argument must be above 0"):
        places.radius_for_k(home, people, 0)


@pytest.mark.parametrize("name", ["density(k=3)", "swap(low=1, high=2)"])
def test_a_population_must_be_handed_in(name: str) -> None:
    with pytest.raises(InputError, match="needs a population"):
        places.protect(cloud(3), name)


def test_a_cell_is_left_by_its_centre() -> None:
    points = places.Points(np.array([[0.0, 0], [199.9, 10], [200, 400], [-0.1, -200], [600, 0]]))
    centres = places.protect(points, "cell(size=200)").xy[0]
    assert centres.tolist() == [[100, 100], [100, 100], [300, 500], [-100, -100], [700, 100]]
    law = places.mechanism("cell(size=200)").log_density(centres[:1], points.xy, surface(None))[0]
    assert np.isfinite(law).tolist() == [True, True, False, False, False]


def test_cells_of_the_sphere_are_squares_of_metres() -> None:
    seam = cloud(500, LONLAT)  # where the last column is cut, and joins its neighbour
    centres = places.protect(seam, "cell(size=200)").xy[0]
    assert places.distance(seam.xy, centres, LONLAT).max() < np.hypot(100, 200) * 1.01
    points = places.Points(np.column_stack([seam.xy[:, 0] % 360 - 90, seam.xy[:, 1]]), LONLAT)
    centres = places.protect(points, "cell(size=200)").xy[0]
    assert places.distance(points.xy, centres, LONLAT).max() < 100 * np.sqrt(2) * 1.01
    rows = np.unique(np.round(centres[:, 1], 9))
    assert np.radians(np.diff(rows)).min() * 6_371_008.8 == pytest.approx(200)


@pytest.mark.parametrize("crs", CRS)
def test_voronoi_is_the_nearest_point_of_an_edge(crs: str | None) -> None:
    points = cloud(60, crs)
    moved = places.protect(points, "voronoi()").xy[0]
    own = places.distance(points.xy, moved, crs)
    others = np.sort(apart(moved, points.xy, crs), axis=1)
    assert others[:, 0] == pytest.approx(own, abs=1e-5)  # as near as any point of the data
    assert others[:, 1] == pytest.approx(own, abs=1e-5)  # and on an edge: two are as near
    if crs is None:
        edges = Voronoi(points.xy)
        for ends in edges.ridge_vertices:
            if min(ends) >= 0:  # no point of an edge is nearer
                start, end = edges.vertices[ends]
                line = start + np.linspace(0, 1, 50)[:, None] * (end - start)
                gap, site = cKDTree(points.xy).query(line)
                assert (gap >= own[site] - 1e-9).all()


def test_points_at_one_place_move_together() -> None:
    points = places.Points(np.array([[0.0, 0], [0, 0], [6, 0]]))
    assert places.protect(points, "voronoi()").xy[0].tolist() == [[3, 0], [3, 0], [3, 0]]
    with pytest.raises(InputError, match="two or more places"):
        places.protect(places.Points(np.zeros((3, 2))), "voronoi()")


@pytest.mark.parametrize("crs", CRS)
def test_swap_draws_evenly_from_the_ring(crs: str | None) -> None:
    people, home = cloud(60, crs, 8), cloud(1, crs, 2)
    far = apart(home.xy, people.xy, crs)[0]
    ring = np.flatnonzero((far >= 300) & (far <= 900))
    points = places.Points(np.repeat(home.xy, 4_000, axis=0), crs)
    moved = places.protect(points, "swap(low=300, high=900)", population=people, rng=3).xy[0]
    which = apart(moved[:1], people.xy, crs)[0].argmin()
    assert which in ring
    counts = np.array([(moved == people.xy[row]).all(axis=1).sum() for row in ring])
    assert counts.sum() == 4_000
    assert stats.chisquare(counts).pvalue > 1e-3
    law = places.mechanism("swap(low=300, high=900)").log_density(
        people.xy[ring[:1]], home.xy, surface(crs), people
    )
    assert law[0, 0] == pytest.approx(-np.log(len(ring)))


def test_who_has_nobody_around_stops_the_release() -> None:
    points = places.Points(np.array([[0.0, 0], [9_999, 0]]))
    people = places.Points(np.array([[0.0, 60.0]]))
    with pytest.raises(InputError, match="^Row 2 must have someone.*Nothing is released"):
        places.protect(points, "swap(low=50, high=500)", population=people)


def test_methods_without_a_law_say_so() -> None:
    for name in MECHANISMS.names():
        method: Mechanism = example(MECHANISMS.get(name))
        if not method.lawful:
            with pytest.raises(LawError, match="no closed-form density"):
                method.log_density(np.zeros((1, 2)), np.zeros((1, 2)), surface(None))
            with pytest.raises(LawError, match="closed-form distribution"):
                places.displacement(method)


@pytest.mark.parametrize("spec", ["density(k=9)", "swap(low=50, high=700)"])
def test_a_law_in_blocks_is_the_law_of_what_is_asked(spec: str) -> None:
    method, people, on = places.mechanism(spec), cloud(80), surface(None)
    other, fewer = cloud(80, None, 5), cloud(40, None, 6)
    whole = method.log_density(people.xy[:9], people.xy, on, people)
    parts = [method.log_density(people.xy[i : i + 3], people.xy, on, people) for i in (0, 3, 6)]
    assert (np.concatenate(parts) == whole).all()
    for candidates, population in ((other.xy, people), (people.xy, fewer), (people.xy, people)):
        again = places.mechanism(spec)  # one that has nothing to remember
        told = method.log_density(people.xy[:9], candidates, on, population)
        assert (told == again.log_density(people.xy[:9], candidates, on, population)).all()
    loose = people.xy.copy()
    before = method.log_density(people.xy[:9], loose, on, people)
    loose += 40  # what can be written to is not remembered
    assert (method.log_density(people.xy[:9], loose, on, people) != before).any()


def test_every_method_has_a_mutant() -> None:
    subjects = {mutant["what"].partition(":")[0] for mutant in listed()}
    assert set(MECHANISMS.builtin) <= subjects
