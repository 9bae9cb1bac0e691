"""The exponential is exact to float64, with numba and without."""

import numpy as np
import pytest
from numpy.random import Generator

from veil.text.vectors import distances
from veil.text.vectors.distances import exp_in_place


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("lowest", [-1e-9, -0.4, -5.0, -120.0, -699.9, -760.0, -1e300])
def test_equals_numpy_to_the_last_place(
    fused: bool, lowest: float, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fused:
        pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    monkeypatch.setattr(distances, "_fused", lambda: fused)
    logs = lowest * rng.random((7, 513))
    logs[0, :3] = 0, -0.0, lowest
    expected = np.exp(logs)
    exp_in_place(logs)
    np.testing.assert_allclose(logs, expected, rtol=4e-16, atol=0)
    assert logs[0, 0] == 1


def test_infinite_logs_and_odd_layouts(rng: Generator) -> None:
    logs = np.array([[0.0, -np.inf], [-1.0, -2.0]])
    exp_in_place(logs)
    np.testing.assert_array_equal(logs[0], [1, 0])
    wide = -rng.random((4, 10))
    expected = np.exp(wide[:, :7])
    exp_in_place(wide[:, :7])
    np.testing.assert_allclose(wide[:, :7], expected, rtol=4e-16)
    exp_in_place(np.empty((3, 0)))
