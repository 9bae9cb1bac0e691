"""Randomised response: the law, codes of any number, and what is refused."""

import math

import numpy as np
import pytest
from scipy import stats

from veil import dp
from veil.core.errors import InputError, ParameterError
from veil.dp.mechanisms.randomised_response import RandomisedResponse


@pytest.mark.parametrize("k", [2, 3, 50])
@pytest.mark.parametrize("epsilon", [0.1, math.log(3), 4.0])
def test_draws_follow_the_law(epsilon: float, k: int) -> None:
    mechanism = RandomisedResponse(epsilon=epsilon, k=k)
    law = dp.law(mechanism, 1, range(k))
    assert law.sum() == pytest.approx(1)
    assert law[1] == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + k - 1))
    drawn = dp.release([1] * 30_000, mechanism, rng=k).value
    assert drawn.dtype == np.int64
    observed = np.bincount(drawn, minlength=k)
    assert stats.chisquare(observed, law * len(drawn)).pvalue > 1e-3


def test_two_fair_coins_are_ln_3_and_read_back() -> None:
    mechanism = RandomisedResponse(epsilon=math.log(3))
    assert dp.law(mechanism, 1, [0, 1]) == pytest.approx([0.25, 0.75])
    truth = np.repeat([0, 1], [70_000, 30_000])
    answers = dp.release(truth, mechanism, rng=1).value
    assert 2 * float(answers.mean()) - 0.5 == pytest.approx(0.3, abs=0.01)


def test_every_code_is_drawn_on_its_own() -> None:
    drawn = dp.release([0, 1], "randomised_response(epsilon=0.5)", size=30_000, rng=2).value
    law = dp.law("randomised_response(epsilon=0.5)", [0, 1], [[0, 0], [0, 1], [1, 0], [1, 1]])
    observed = np.bincount(2 * drawn[:, 0] + drawn[:, 1], minlength=4)
    assert stats.chisquare(observed, law * len(drawn)).pvalue > 1e-3
    assert dp.law("randomised_response(epsilon=0.5)", [0, 1], [[0, 2], [-1, 0]]).tolist() == [0, 0]


def test_very_many_codes() -> None:
    k = 2**62
    drawn = dp.release([k - 1] * 2_000, f"randomised_response(epsilon=43, k={k})", rng=1).value
    kept = float(np.mean(drawn == k - 1))
    assert kept == pytest.approx(1 / (1 + (k - 1) * math.exp(-43)), abs=0.05)
    assert drawn.min() >= 0


def test_what_is_proved() -> None:
    said = RandomisedResponse(epsilon=2.0).guarantee
    assert (said.kind, said.epsilon, said.neighbours) == ("dp", 2.0, "replace one record")
    laws = [dp.law("randomised_response(epsilon=2, k=5)", x, range(5)) for x in range(5)]
    losses = [np.abs(np.log(one / other)).max() for one in laws for other in laws]
    assert max(losses) == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("x", [3, [0, 3], -1, 0.0, True, [], "a", [0, 2**70]])
def test_codes_that_are_none_are_refused(x: object) -> None:
    with pytest.raises(InputError, match="randomised_response takes"):
        dp.release(x, "randomised_response(epsilon=1, k=3)")


@pytest.mark.parametrize(
    "given", ["epsilon=0", "epsilon=-1", "epsilon=1, k=1", "epsilon=1, k=2.5"]
)
def test_parameters_out_of_range_are_refused(given: str) -> None:
    with pytest.raises(ParameterError, match="parameter of randomised_response must"):
        dp.mechanism(f"randomised_response({given})")
