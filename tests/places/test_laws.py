"""Each random method has the law it states: of the distance, and of the direction."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from veil import places
from veil.core.types import Floats
from veil.places.crs import LONLAT
from veil.places.projection import surface

Cdf = Callable[[Floats], Floats]
N = 6_000
LAWS: dict[str, Cdf] = {
    "disk(radius=300)": lambda r: (r / 300) ** 2,
    "disk(radius=300, by='radius')": lambda r: r / 300,
    "gaussian(sigma=200)": stats.rayleigh(scale=200).cdf,
    "gaussian(sigma=200, form='radius')": stats.halfnorm(scale=200).cdf,
    "donut(low=50, high=500)": lambda r: (r**2 - 50**2) / (500**2 - 50**2),
    "donut(low=50, high=500, by='radius')": lambda r: (r - 50) / 450,
    "bimodal(low=50, high=500)": stats.truncnorm(-2.5, 2.5, 275, 90).cdf,
    "bimodal(low=50, high=500, mean=700, sigma=100)": stats.truncnorm(-6.5, -2, 700, 100).cdf,
    "bimodal(low=50, high=500, mean=-100, sigma=80)": stats.truncnorm(1.875, 7.5, -100, 80).cdf,
    "laplace(epsilon=0.01, grid=0)": stats.gamma(2, scale=100).cdf,
    "laplace(epsilon=0.01)": stats.gamma(2, scale=100).cdf,  # a metre does not show
}


def moves(spec: str, crs: str | None) -> tuple[Floats, Floats]:
    """Return distances (n,) and directions (n,), as seen from where a point was."""
    home = np.array([[300.0, -4000.0]] if crs is None else [[179.999, 66.0]])
    points = places.Points(np.repeat(home, N, axis=0), crs)
    return surface(crs).polar(home, places.protect(points, spec, rng=5).xy[0])


@pytest.mark.parametrize("crs", [None, LONLAT])
@pytest.mark.parametrize("spec", LAWS)
def test_distance_and_direction_have_their_laws(spec: str, crs: str | None) -> None:
    distance, direction = moves(spec, crs)
    assert stats.kstest(distance, LAWS[spec]).pvalue > 1e-3
    turn = direction / (2 * np.pi) % 1
    assert stats.kstest(turn, "uniform").pvalue > 1e-3
    assert abs(stats.spearmanr(distance, np.cos(direction)).statistic) < 0.05


@pytest.mark.parametrize("crs", [None, LONLAT])
def test_a_fixed_distance_is_fixed_and_its_direction_uniform(crs: str | None) -> None:
    distance, direction = moves("fixed(radius=300)", crs)
    assert np.abs(distance - 300).max() < 1e-6
    assert stats.kstest(direction / (2 * np.pi) % 1, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("spec", LAWS)
def test_moments_are_those_of_the_law(spec: str) -> None:
    distance, _ = moves(spec, None)
    told = places.displacement(spec)
    assert distance.mean() == pytest.approx(told.mean, rel=0.03)
    assert np.sqrt(np.mean(distance**2)) == pytest.approx(told.rms, rel=0.03)
    for p in (0.1, 0.5, 0.95):
        assert LAWS[spec](np.array(told.quantile(p))) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize("spec", LAWS)
def test_the_density_per_area_is_that_of_the_distance(spec: str) -> None:
    """2 pi r f(r) integrates to the distribution of the distance."""
    law = places.mechanism(spec)
    nodes = np.array([[0.0, 0.0]])

    def line(r: float) -> float:
        logs = law.log_density(nodes, np.array([[r, 0.0]]), surface(None))
        return float(2 * np.pi * r * np.exp(logs[0, 0]))

    low, high = places.displacement(spec).quantile(0.2), places.displacement(spec).quantile(0.7)
    assert integrate.quad(line, low, high)[0] == pytest.approx(0.5, abs=1e-6)


def test_what_is_impossible_has_no_density() -> None:
    on, zero = surface(None), np.zeros((1, 2))
    far = np.array([[49.9, 0.0], [50.0, 0.0], [500.0, 0.0], [500.1, 0.0]])
    for spec in ("donut(low=50, high=500)", "bimodal(low=50, high=500)"):
        law = places.mechanism(spec).log_density(zero, far, on)[0]
        assert np.isfinite(law).tolist() == [False, True, True, False]
    ring = places.mechanism("fixed(radius=50)").log_density(zero, far, on)[0]
    assert np.isfinite(ring).tolist() == [False, True, False, False]


def test_a_seeded_result_does_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = places.Points(np.random.default_rng(1).uniform(0, 1e4, (1_000, 2)))
    for spec in [*LAWS, "fixed(radius=300)"]:
        whole = places.protect(points, spec, size=2, rng=3).xy
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules["veil.places.mechanism"], "_ROWS", 37)
            assert (places.protect(points, spec, size=2, rng=3).xy == whole).all()
        assert (whole[0] != whole[1]).any()


def test_a_rounded_radius_keeps_the_truth_possible() -> None:
    points = places.Points(np.random.default_rng(2).uniform(0, 1e4, (500, 2)))
    method = places.mechanism("fixed(radius=300, grid=5)")
    released = places.protect(points, method, rng=1).xy[0]
    assert (released % 5 == 0).all()
    law = method.log_density(released, points.xy, surface(None))
    assert np.isfinite(np.diagonal(law)).all()
