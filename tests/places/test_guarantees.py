"""What is claimed of the planar Laplace holds, and nothing is claimed of the others."""

import math
from fractions import Fraction

import numpy as np
import pytest

from veil import places
from veil.core.component import example
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.places.crs import LONLAT
from veil.places.mechanisms import MECHANISMS
from veil.places.mechanisms.laplace import Laplace
from veil.places.projection import RADIUS, surface

PROVED = {"laplace", "predictive"}


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_nothing_is_claimed_without_a_proof(name: str) -> None:
    told = example(MECHANISMS.get(name)).guarantee
    assert told.unit == "point"
    assert told.kind == ("metric-dp" if name in PROVED else "none")
    assert told.caveat
    if name not in PROVED:
        assert told.caveat.startswith("No bound")


@pytest.mark.parametrize(
    ("spec", "attack"),
    [
        ("fixed(radius=3)", "who knows the radius and a register finds the address"),
        ("rotate(degrees=3)", "two known points undo it"),
        ("scale(factor=3)", "two known points undo it"),
        ("translate(dx=3, dy=0)", "two known points undo it"),
        ("disk(radius=3)", "repeated releases average out"),
        ("donut(low=1, high=3)", "repeated releases average out"),
        ("bimodal(low=1, high=3)", "repeated releases average out"),
        ("gaussian(sigma=3)", "repeated releases average out"),
        ("density(k=3)", "repeated releases average out"),
        ("density(k=3)", "displacement reveals the density at the true place"),
    ],
)
def test_the_caveat_names_the_attack(spec: str, attack: str) -> None:
    assert attack in places.mechanism(spec).guarantee.caveat


def test_the_law_keeps_the_claim_for_all_pairs() -> None:
    rng = np.random.default_rng(1)
    method = places.mechanism("laplace(epsilon=0.01, grid=0)")
    places_of, outputs = rng.uniform(0, 2_000, (40, 2)), rng.uniform(-3_000, 5_000, (200, 2))
    law = method.log_density(outputs, places_of, surface(None))  # (200, 40)
    apart = np.linalg.norm(places_of[:, None] - places_of[None], axis=2)
    loss = (law[:, :, None] - law[:, None, :]).max(axis=0)
    assert (loss <= method.guarantee.epsilon * apart + 1e-9).all()
    assert loss.max() > 0.9 * (method.guarantee.epsilon * apart).max()


def test_epsilon_has_what_precision_and_curvature_add() -> None:
    method = Laplace(epsilon=0.01)
    off = 1e5 * math.pi * 2.0**-53 + 2.0**-30  # of the angle, and half an ulp of 1e7 + 1e5
    assert method.slack == pytest.approx(8 * off * math.exp(0.01 * math.sqrt(2)), rel=1e-5)
    assert 7e-9 < method.slack < 8e-9
    assert "of the sum with a coordinate" in method.guarantee.caveat
    assert method.guarantee.epsilon == 0.01 + method.slack
    assert method.guarantee.metric == "euclidean metres"
    assert method.guarantee.unit == "point"
    sphere = method.promise(surface(LONLAT))
    assert sphere.metric == "great-circle metres"
    assert sphere.epsilon - method.guarantee.epsilon == pytest.approx(8.23e-9, rel=1e-3)
    assert "exceeds with probability" in sphere.caveat


def test_the_sum_with_a_coordinate_is_rounded_by_no_more_than_is_counted() -> None:
    far, noise = 1e7, np.random.default_rng(4).uniform(-1e5, 1e5, 2_000)
    lost = max(abs(Fraction(far) + Fraction(z) - Fraction(far + z)) for z in noise.tolist())
    counted = Fraction(Laplace(epsilon=0.01).slack) / 8  # w, but for what the density adds
    assert Fraction(1, 2**31) < lost <= counted


def test_curvature_is_bounded_by_what_is_added() -> None:
    r = np.linspace(1.0, 1e6, 2_000)
    slope: Floats = 1 / r - 1 / (np.tan(r / RADIUS) * RADIUS)
    added = Laplace(epsilon=0.01).promise(surface(LONLAT)).epsilon - 0.01
    assert (slope <= added).all()


def test_without_a_grid_the_caveat_says_so() -> None:
    told = places.mechanism("laplace(epsilon=0.01, grid=0)").guarantee
    assert told.epsilon == 0.01
    assert "Real numbers are idealised" in told.caveat


@pytest.mark.parametrize("spec", ["laplace(epsilon=50, grid=1)", "laplace(epsilon=1, grid=1e-12)"])
def test_a_lattice_of_which_nothing_can_be_said_is_refused(spec: str) -> None:
    with pytest.raises(ParameterError, match="precision"):
        places.mechanism(spec)


def test_what_is_refused_is_a_parameter_of_the_method_that_has_it() -> None:
    with pytest.raises(ParameterError, match="'grid' parameter of predictive must fit epsilon"):
        places.mechanism("predictive(epsilon=100, threshold=100)")
    assert (
        places.mechanism("predictive(epsilon=100, threshold=100, test=0.97)").name == "predictive"
    )


def test_a_sphere_is_too_small_for_a_low_epsilon() -> None:
    points = places.Points(np.array([[1.0, 2.0]]), LONLAT)
    with pytest.raises(ParameterError, match="at least 2e-05 on the sphere"):
        places.protect(points, "laplace(epsilon=1e-5)")
    assert places.protect(places.Points(points.xy), "laplace(epsilon=1e-5)").cost.epsilon > 0


def test_releases_are_added_up() -> None:
    points = places.Points(np.zeros((3, 2)))
    release = places.protect(points, "laplace(epsilon=0.01)", size=5)
    assert release.cost.epsilon == pytest.approx(0.05, rel=1e-4)
    assert release.cost.epsilon > 0.05
    assert places.protect(points, "disk(radius=3)", size=5).cost.kind == "none"


@pytest.mark.parametrize("crs", [None, LONLAT])
def test_samples_do_not_refute_the_claim(crs: str | None) -> None:
    result = places.audit_claim("laplace(epsilon=0.01)", crs, samples=60_000, rng=4)
    assert result.claimed == pytest.approx(1)
    assert 0.6 < result.lower <= result.claimed
    assert not result.exceeded
    assert "not refuted" in str(result)


def test_samples_refute_a_claim_that_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Laplace.radii
    monkeypatch.setattr(Laplace, "radii", lambda self, uniform: honest(self, uniform) / 2)
    result = places.audit_claim("laplace(epsilon=0.01)", samples=60_000, rng=4)
    assert result.exceeded
    assert "REFUTED" in str(result)


def test_what_claims_nothing_is_not_audited() -> None:
    with pytest.raises(ParameterError, match="nothing to audit"):
        places.audit_claim("disk(radius=300)")
    with pytest.raises(ParameterError, match="1,000 samples"):
        places.audit_claim("laplace(epsilon=1)", samples=10)


def test_points_too_far_for_exact_sums_are_refused() -> None:
    near = places.Points(np.array([[1e7, 0.0], [0.0, 0.0]]))
    assert places.protect(near, "laplace(epsilon=1)", rng=1).xy.shape == (1, 2, 2)
    far = places.Points(np.array([[1.1e7, 0.0], [0.0, 0.0]]))
    with pytest.raises(InputError, match="10,000 km of its origin") as refused:
        places.protect(far, "laplace(epsilon=1)", rng=1)
    assert "11000000" not in str(refused.value)
