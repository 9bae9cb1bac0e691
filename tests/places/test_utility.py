"""The verb `utility`, what is shown beside it, and the plane that it is measured in."""

import numpy as np
import pytest
from numpy.random import Generator

from veil import places
from veil.core.errors import InputError
from veil.places.attacks.addresses import localise
from veil.places.measures import moran
from veil.places.points import Points
from veil.places.projection import Flat, distance, surface


def town(rng: Generator, n: int = 60) -> Points:
    xy = np.column_stack([rng.normal(5_000, 300, n), rng.normal(9_000, 200, n)])
    weights, times = rng.integers(1, 6, n), np.arange(n) * 60
    return Points(xy, weights=weights.astype(np.float64), times=times.astype(np.float64))


def test_contract_names_are_public(rng: Generator) -> None:
    homes = town(rng)
    release = places.protect(homes, "donut(low=1, high=20)", size=3, rng=1)
    result = places.utility(homes, release, facilities=homes.take(np.arange(4)))
    assert 0.9 < result.score < 1
    assert set(result.parts) == {
        "ripley", "neighbours", "density", "hotspots", "centre", "dispersion",
    }  # fmt: skip
    assert result.score.n == 3
    guessed = places.attack(release, homes, homes, "bayes")  # the release says its method
    assert places.risk(guessed) > 0.3
    assert places.localise(release, homes, "donut(low=1, high=20)").shape == (60, 2)
    assert len(places.plane(homes, ["disk(radius=9)"], homes, "nearest", rng=1)) == 1


def test_beside_the_score_stand_figures_before_and_after(rng: Generator) -> None:
    homes = town(rng)
    moved = homes.xy + np.array([3.0, 4.0])
    pumps = Points(np.array([[4_700.0, 9_000.0], [5_300.0, 9_000.0]]))
    values = homes.xy[:, 0]
    result = places.utility(homes, moved[None], pumps, values=values).beside
    assert float(result["mean displacement"]) == pytest.approx(5)
    assert float(result["95 % displacement"]) == pytest.approx(5)
    near = np.linalg.norm(homes.xy[:, None] - pumps.xy[None], axis=2).argmin(axis=1)
    after = np.linalg.norm(moved[:, None] - pumps.xy[None], axis=2).argmin(axis=1)
    assert float(result["same facility"]) == pytest.approx((near == after).mean())
    assert homes.weights is not None
    assert float(result["facility 1 before"]) == homes.weights[near == 0].sum()
    assert float(result["facility 2 after"]) == homes.weights[after == 1].sum()
    assert float(result["Moran's I before"]) == pytest.approx(moran(homes.xy, values))
    assert result["Knox pairs before"] == result["Knox pairs after"] > 0


def test_of_rows_in_another_order_nothing_is_said_of_points(rng: Generator) -> None:
    homes = town(rng)
    mixed = homes.xy[rng.permutation(60)]
    result = places.utility(homes, mixed, homes.take(np.arange(3)), ordered=False)
    assert float(result.score) == pytest.approx(1)
    assert set(result.beside) == {f"facility {i} before" for i in (1, 2, 3)}


def test_degrees_are_measured_in_metres(rng: Generator) -> None:
    homes = town(rng)
    for lon, lat in ((0.0, 0.0), (179.999, 10.0)):  # also across the antimeridian
        scale = np.degrees(1 / 6_371_008.8)
        east = scale / np.cos(np.radians(lat))
        away = (homes.xy - homes.xy.mean(axis=0)) * np.array([east, scale]) + [lon, lat]
        away[:, 0] = (away[:, 0] + 180) % 360 - 180
        there = Points(away, "EPSG:4326")
        release = places.protect(there, "gaussian(sigma=60)", rng=5)
        result = places.utility(there, release)
        assert float(result.beside["mean displacement"]) == pytest.approx(75, rel=0.3)
        flat = Flat.around(away, "EPSG:4326")
        seen = Points(flat.metres(release.xy[0]))
        plain = places.utility(Points(flat.metres(away)), seen)
        assert float(result.score) == pytest.approx(float(plain.score), abs=1e-9)


def test_the_plane_around_points_is_true_near_them_and_leads_back(rng: Generator) -> None:
    xy = np.column_stack([rng.normal(179.99, 0.02, 50), rng.normal(51.5, 0.01, 50)])
    xy[:, 0] = (xy[:, 0] + 180) % 360 - 180
    flat = Flat.around(xy, "EPSG:4326")
    metres = flat.metres(xy)
    apart = np.linalg.norm(metres[1:] - metres[:-1], axis=1)
    assert apart == pytest.approx(distance(xy[1:], xy[:-1], "EPSG:4326"), rel=2e-3)
    assert distance(flat.back(metres), xy, "EPSG:4326").max() < 1e-6
    assert Flat.around(xy, None).metres(xy) is xy


def test_bad_input_is_one_sentence(rng: Generator) -> None:
    homes = town(rng)
    with pytest.raises(InputError, match="released points, one per original"):
        places.utility(homes, homes.xy[:10])
    with pytest.raises(InputError, match="one coordinate system"):
        places.utility(homes, Points(homes.xy / 1e3, "EPSG:4326"))
    with pytest.raises(InputError, match="one finite value"):
        places.utility(homes, homes, values=np.ones(3))


def test_a_release_that_no_address_explains_says_nothing(rng: Generator) -> None:
    homes = town(rng)
    assert homes.weights is not None
    far = np.full((1, 2, 2), 1e6)
    mean = homes.weights @ homes.xy / homes.weights.sum()
    assert localise(far, homes, "disk(radius=5)") == pytest.approx(np.stack([mean, mean]))
    assert surface(None).crs is None
