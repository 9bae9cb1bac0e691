"""The account of Gaussian rounds is that of the law of the losses."""

import math
import sys

import pytest

from veil.core.errors import MissingExtraError, ParameterError
from veil.dp.calibration import gaussian_delta
from veil.ratings.accounting import checked_delta, gaussian_epsilon, gaussian_noise

CASES = [  # noise, rounds, delta, sample, epsilon by the law of the losses
    (4.0, 100, 1e-6, 1.0, 14.45078),
    (10.0, 1, 1e-5, 1.0, 0.34067),
    (3.0, 20, 1e-5, 1.0, 6.99923),
    (2.0, 10, 3.7e-4, 1.0, 6.05445),
    (4.0, 60, 1e-5, 1.0, 9.60835),
    (1.0, 1000, 1e-5, 0.01, 1.82824),
    (2.0, 100, 1e-5, 0.1, 2.3374),
    (0.8, 200, 1e-4, 0.05, 6.47259),
    (4.0, 60, 1e-5, 0.25, 2.04184),
]


@pytest.mark.parametrize(("noise", "rounds", "delta", "sample", "epsilon"), CASES)
def test_epsilon_is_that_of_the_law_of_the_losses(
    noise: float, rounds: int, delta: float, sample: float, epsilon: float
) -> None:
    if sample < 1:
        pytest.importorskip("dp_accounting")
    assert 0.999 <= gaussian_epsilon(noise, rounds, delta, sample) / epsilon <= 1.01


def test_noise_and_epsilon_are_inverse() -> None:
    noise = gaussian_noise(2.0, 1e-5, 7)
    assert gaussian_epsilon(noise, 7, 1e-5) == pytest.approx(2.0, rel=1e-9)
    assert gaussian_delta(2.0, noise / math.sqrt(7)) <= 1e-5


def test_sampled_rounds_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    assert gaussian_epsilon(4.0, 60, 1e-5) > 9
    with pytest.raises(MissingExtraError, match=r"\[accounting\]"):
        gaussian_epsilon(4.0, 60, 1e-5, 0.25)


def test_delta_is_below_one_user() -> None:
    assert checked_delta(None, 1000) == 1e-4
    assert checked_delta(1e-5, 1000) == 1e-5
    for wrong in (1e-3, 0.5, 1.0, 0.0):
        with pytest.raises(ParameterError, match="delta"):
            checked_delta(wrong, 1000)


@pytest.mark.parametrize("wrong", [{"noise": 0.0}, {"rounds": 0}, {"delta": 0.0}, {"sample": 0.0}])
def test_wrong_numbers_are_refused(wrong: dict[str, float]) -> None:
    values = {"noise": 1.0, "rounds": 1, "delta": 1e-5, "sample": 1.0} | wrong
    with pytest.raises(ParameterError):
        gaussian_epsilon(**values)  # type: ignore[arg-type]
