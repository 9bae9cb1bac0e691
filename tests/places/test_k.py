"""k: three definitions, and the values computed by brute force."""

from typing import Any

import numpy as np
import pytest
from tests.places.snow import deaths, golden, masked, needs_snow, register

from veil import places
from veil.core.errors import InputError, LawError, ParameterError
from veil.places.anonymity import spatial_k
from veil.places.crs import LONLAT
from veil.places.projection import surface


@needs_snow
def test_k_is_that_of_brute_force() -> None:
    told = golden()["donut"]
    original, released = places.Points(deaths()[0]), masked()
    addresses, weights = register()
    equal, weighted = places.Points(addresses), places.Points(addresses, weights=weights)
    actual = spatial_k(original, released, equal)
    assert actual.mean() == pytest.approx(told["actual_k"]["mean"], abs=1e-9)
    assert actual[:20].tolist() == told["actual_k"]["values"]
    assert (actual.min(), np.median(actual)) == (1, told["actual_k"]["median"])
    heavy = spatial_k(original, released, weighted)
    assert heavy.mean() == pytest.approx(told["actual_k_weighted"]["mean"], abs=1e-9)
    possible = spatial_k(original, released, equal, "possible", told["method"])
    assert possible.mean() == pytest.approx(told["possible_k"]["mean"], abs=1e-9)
    assert possible[:20].tolist() == told["possible_k"]["values"]
    effective = spatial_k(original, released, equal, "effective", told["method"])
    assert effective == pytest.approx(possible)  # a uniform law and equal weights
    guess = spatial_k(original, released, weighted, "effective", told["method"])
    assert guess.min() == pytest.approx(told["bayes_weighted"]["effective_k_min"])


def test_k_counts_the_true_place_and_ties() -> None:
    people = places.Points(np.array([[0.0, 0], [2, 0], [0, 2], [9, 9]]))
    home, there = places.Points(np.array([[0.0, 0]])), np.array([[[1.0, 0]]])
    assert spatial_k(home, there, people).tolist() == [2]
    away = places.Points(np.array([[0.1, 0]]))
    assert spatial_k(away, there, people).tolist() == [0]  # none of them is as near


def test_weights_are_people() -> None:
    people = places.Points(np.array([[0.0, 0], [2, 0], [9, 9]]), weights=np.array([1.0, 4, 5]))
    home, there = places.Points(np.array([[0.0, 0]])), np.array([[[1.0, 0]]])
    assert spatial_k(home, there, people).tolist() == [5]
    law = "disk(radius=3)"
    assert spatial_k(home, there, people, "possible", law).tolist() == [5]
    assert spatial_k(home, there, people, "effective", law) == pytest.approx([1.25])


def test_estimated_is_the_density_times_the_area() -> None:
    grid = np.stack(np.meshgrid(np.arange(-50.0, 50), np.arange(-50.0, 50)), -1).reshape(-1, 2)
    people = places.Points(grid + 0.5)
    home, there = places.Points(np.zeros((1, 2))), np.array([[[0.0, 3.0]]])
    apart = np.sort(np.linalg.norm(people.xy - there[0], axis=1))
    inside = (apart <= apart[49] * (1 + 1e-12)).sum()
    assert spatial_k(home, there, people, "estimated") == pytest.approx(
        [9 * inside / apart[49] ** 2]
    )
    few = places.Points(people.xy[:3], weights=np.array([1.0, 2, 3]))
    last = np.linalg.norm(few.xy - there[0], axis=1).max()
    assert spatial_k(home, there, few, "estimated") == pytest.approx([9 * 6 / last**2])
    with pytest.raises(InputError, match="^Row 1 cannot have a density.* at one"):
        spatial_k(home, there, places.Points(np.tile([[0.0, 3.0]], (60, 1))), "estimated")


def test_everybody_is_possible_under_laplace_and_gaussian() -> None:
    people = places.Points(np.random.default_rng(1).uniform(0, 900, (40, 2)))
    there = people.xy[None, :5] + 20
    home = places.Points(people.xy[:5])
    for spec in ("laplace(epsilon=0.02)", "gaussian(sigma=90)"):
        assert (spatial_k(home, there, people, "possible", spec) == 40).all()
        law = places.mechanism(spec).log_density(there[0], people.xy, surface(None))
        shares = np.exp(law) / np.exp(law).sum(axis=1, keepdims=True)
        assert spatial_k(home, there, people, "effective", spec) == pytest.approx(
            1 / shares.max(1)
        )


def test_nobody_possible_is_told_as_infinite() -> None:
    people, home = places.Points(np.zeros((2, 2))), places.Points(np.zeros((1, 2)))
    far = np.array([[[1e5, 0.0]]])
    assert spatial_k(home, far, people, "possible", "disk(radius=3)").tolist() == [0]
    assert np.isinf(spatial_k(home, far, people, "effective", "disk(radius=3)")).all()


def test_k_on_the_sphere_is_k_in_metres() -> None:
    rng = np.random.default_rng(1)
    flat = rng.uniform(-2_000, 2_000, (300, 2))
    turn, far = np.degrees(np.arctan2(*flat.T)), np.hypot(*flat.T)
    there = np.column_stack(places.destination(180.0, 0.0, turn, far))
    people, round_people = places.Points(flat), places.Points(there, LONLAT)
    plane = spatial_k(people, flat[None, ::-1], people)
    sphere = spatial_k(round_people, there[None, ::-1], round_people)
    assert np.abs(plane - sphere).max() <= 1


def test_k_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    people = places.Points(
        np.random.default_rng(1).uniform(0, 900, (40, 2)), weights=np.arange(40.0)
    )
    there, home = people.xy[None, 1:21] + 20, places.Points(people.xy[1:21])
    kinds: Any = ("actual", "estimated", "effective")
    whole = [spatial_k(home, there, people, kind, "donut(low=9, high=90)") for kind in kinds]
    monkeypatch.setattr("veil.places.anonymity._ROWS", 3)
    monkeypatch.setattr("veil.places.anonymity.BLOCK", 4 * 8 * 40 * 3)
    parts = [spatial_k(home, there, people, kind, "donut(low=9, high=90)") for kind in kinds]
    assert all((one == other).all() for one, other in zip(whole, parts, strict=True))


def test_what_cannot_be_counted_is_refused() -> None:
    home, people = places.Points(np.zeros((2, 2))), places.Points(np.zeros((1, 2)))
    bad: Any = "all"
    with pytest.raises(ParameterError, match="'kind' argument must be one of"):
        spatial_k(home, np.zeros((1, 2, 2)), people, bad)
    with pytest.raises(ParameterError, match="needs the mechanism"):
        spatial_k(home, np.zeros((1, 2, 2)), people, "possible")
    with pytest.raises(InputError, match="2 masked points, one per original. Got 3"):
        spatial_k(home, np.zeros((1, 3, 2)), people)
    with pytest.raises(LawError, match="no closed-form density"):
        spatial_k(home, np.zeros((1, 2, 2)), people, "effective", "rotate(degrees=3)")
    with pytest.raises(InputError, match="one coordinate system"):
        spatial_k(home, np.zeros((1, 2, 2)), places.Points(np.zeros((1, 2)), LONLAT))
