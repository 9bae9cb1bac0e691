"""Parameters at the ends of the floats, and inputs of no shape: a sentence, never a traceback."""

import pytest

from veil import dp
from veil.core.errors import InputError, LawError, ParameterError

RAGGED = [[1], [2, 3]]


@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e300])
def test_a_sigma_without_a_rho_is_refused(sigma: float) -> None:
    with pytest.raises(ParameterError, match="sigma"):
        dp.mechanism(f"gaussian(sigma={sigma})")


@pytest.mark.parametrize(
    ("pair", "x"), [("epsilon=1.7e308, delta=1e-6", 0.0), ("epsilon=1, delta=5e-324", [0.0, 1.0])]
)
def test_a_pair_without_a_noise_is_refused(pair: str, x: object) -> None:
    with pytest.raises(ParameterError, match="too large or too small"):
        dp.release(x, f"gaussian({pair})")


@pytest.mark.parametrize("name", ["geometric", "laplace", "above_threshold", "noisy_max"])
def test_a_law_that_no_float_can_hold_is_none(name: str) -> None:
    spec = f"{name}(epsilon=5e-324{', threshold=0' if name == 'above_threshold' else ''})"
    with pytest.raises(LawError, match="cannot be computed"):
        dp.law(spec, [0, 1], [[0, 1]] if name in ("geometric", "laplace") else [0, 1])


@pytest.mark.parametrize("name", ["exponential", "permute_and_flip", "noisy_max"])
def test_scores_of_no_shape_and_truth_values_are_none(name: str) -> None:
    for scores in (RAGGED, [1, True]):
        with pytest.raises(InputError, match="rows of equal length"):
            dp.release(scores, f"{name}(epsilon=1)")
    with pytest.raises(InputError, match="rows of equal length"):
        dp.law(f"{name}(epsilon=1)", [1, 2], RAGGED)


def test_values_of_no_shape_and_truth_values_are_none() -> None:
    for values in (RAGGED, [1, True]):
        with pytest.raises(InputError, match="rows of equal length"):
            dp.release(values, "quantile(epsilon=1, q=0.5, low=0, high=9)")
