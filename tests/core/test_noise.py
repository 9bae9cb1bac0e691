"""The noise has the published density."""

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats

from veil.core.rng import laplace_ball, sphere
from veil.core.types import Floats


@pytest.mark.parametrize(("dim", "epsilon"), [(1, 2.0), (2, 0.5), (6, 10.0), (300, 25.0)])
def test_radius_is_gamma_and_direction_uniform(dim: int, epsilon: float, rng: Generator) -> None:
    z = laplace_ball(4000, dim, epsilon, rng)
    radius = np.linalg.norm(z, axis=1)
    assert stats.kstest(radius, stats.gamma(dim, scale=1 / epsilon).cdf).pvalue > 1e-3
    if dim > 1:
        half = (dim - 1) / 2  # one coordinate of a uniform direction is a shifted, scaled Beta
        assert stats.kstest((z[:, 0] / radius + 1) / 2, stats.beta(half, half).cdf).pvalue > 1e-3
    assert abs(np.sign(z[:, -1]).mean()) < 0.08


def test_directions_have_length_one_even_after_a_zero_draw() -> None:
    class Zeros:
        """A generator whose first draw is all zeros."""

        def __init__(self) -> None:
            self.calls = 0

        def standard_normal(self, shape: tuple[int, int]) -> Floats:
            self.calls += 1
            return np.zeros(shape) if self.calls == 1 else np.ones(shape)

    out = sphere(3, 4, Zeros())  # type: ignore[arg-type]
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1)
