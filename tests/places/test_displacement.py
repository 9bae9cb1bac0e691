"""Closed forms of the displacement, against the values that were computed once."""

import json
import math

import pytest
from scipy import integrate
from tests.places.snow import GOLDEN, needs_snow

from veil import places
from veil.core.errors import LawError, ParameterError


@needs_snow
def test_closed_forms_are_those_computed() -> None:
    told = json.loads(GOLDEN.read_text())
    assert len(told["closed_forms"]) == 9
    for spec, values in told["closed_forms"].items():
        result = places.displacement(spec)
        for name, value in values.items():
            assert getattr(result, name) == pytest.approx(value, rel=1e-9)
    laplace = places.displacement("laplace(epsilon=1)")
    for p, value in told["planar_laplace_radius_times_epsilon_at_quantile"].items():
        assert laplace.quantile(float(p)) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    "spec",
    [
        "fixed(radius=30)",
        "disk(radius=30)",
        "disk(radius=30, by='radius')",
        "donut(low=20, high=30)",
        "donut(low=20, high=30, by='radius')",
        "bimodal(low=20, high=30, mean=40, sigma=9)",
        "bimodal(low=20, high=30, mean=1, sigma=7)",
        "gaussian(sigma=30)",
        "gaussian(sigma=30, form='radius')",
        "laplace(epsilon=0.3)",
    ],
)
def test_moments_are_integrals_of_the_quantiles(spec: str) -> None:
    told = places.displacement(spec)
    assert integrate.quad(told.quantile, 0, 1)[0] == pytest.approx(told.mean, rel=1e-6)
    square = integrate.quad(lambda p: told.quantile(p) ** 2, 0, 1)[0]
    assert math.sqrt(square) == pytest.approx(told.rms, rel=1e-6)


def test_quantiles_have_their_ends() -> None:
    assert places.displacement("donut(low=50, high=500)").quantile(0) == 50
    assert places.displacement("donut(low=50, high=500)").quantile(1) == 500
    assert places.displacement("bimodal(low=50, high=500)").quantile(1) == pytest.approx(500)
    assert places.displacement("laplace(epsilon=1)").quantile(0) == 0
    for spec in ("laplace(epsilon=1)", "gaussian(sigma=1)", "gaussian(sigma=1, form='radius')"):
        assert places.displacement(spec).quantile(1) == math.inf
    with pytest.raises(ParameterError, match="'p' argument must be from 0 to 1"):
        places.displacement("disk(radius=1)").quantile(1.5)


@pytest.mark.parametrize("spec", ["density(k=3)", "rotate(degrees=3)", "voronoi()"])
def test_what_has_no_closed_form_says_so(spec: str) -> None:
    with pytest.raises(LawError, match="closed-form"):
        places.displacement(spec)
