"""The advantage: what is gained over a blind guess."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from veil.core.errors import InputError
from veil.dp.attack import advantage, gains, score

NAN = float("nan")


@pytest.mark.parametrize(
    ("guess", "truth", "risk"),
    [
        ([1, 1, 1, 0], [1, 1, 1, 0], 1.0),
        ([1, 1, 1, 1], [1, 1, 1, 0], 0.0),  # no better than the more frequent bit
        ([0, 0, 0, 1], [1, 1, 1, 0], 0.0),  # worse is no risk
        ([1, 1, 0, 0, 1], [1, 1, 1, 0, 0], 0.0),
        ([1, 1, 0, 0, 0], [1, 1, 1, 0, 0], 0.5),  # (0.8 - 0.6) / 0.4
        ([NAN, NAN, NAN, NAN], [1, 1, 1, 0], 0.0),
        ([1, NAN, NAN, 0], [1, 0, 1, 0], 0.5),  # half is found, and nothing said of the rest
        ([1, 1], [1, 1], 0.0),  # nothing to find
        ([300.0, 500.2, 100.0, 100.0], [300, 500, 100, 100], 1.0),
        ([350.0, 380.0, 100.0, 100.0], [300, 500, 100, 100], 0.5),
        ([True, False, True, False], [True, False, True, False], 1.0),
    ],
)
def test_the_risk_of_guesses(guess: list[float], truth: list[float], risk: float) -> None:
    assert float(advantage(guess, truth)) == pytest.approx(risk)


def test_bits_are_rounded_at_a_half() -> None:
    raw, truth = [0.51, 7.0, 0.49, -3.0], [1, 1, 0, 0]
    assert advantage(raw, truth, scores=False) > 0.999
    assert advantage([0.5, 0.5, 0.4, 0.4], truth, scores=False) > 0.999


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, NAN]), st.integers(0, 1)), min_size=1, max_size=40
    )
)
def test_a_risk_is_a_share_with_an_interval(pairs: list[tuple[float, int]]) -> None:
    guess, truth = zip(*pairs, strict=True)
    found = advantage(guess, truth)
    assert 0 <= found.low <= found <= found.high <= 1
    assert found.n == len(pairs)
    share = max(np.mean(truth), 1 - np.mean(truth))
    if share < 1 and not np.isnan(guess).any():
        right = np.mean([one == other for one, other in pairs])
        assert float(found) == pytest.approx(max(0, (right - share) / (1 - share)))


def test_scores_count_by_their_order(rng: Generator) -> None:
    truth = np.arange(200) < 100
    scores = np.where(truth, 5.0, 0.0) + rng.normal(size=200)
    assert advantage(scores, truth) > 0.9
    assert advantage(np.exp(scores), truth) > 0.9
    assert float(advantage(-scores, truth)) == 0
    assert float(advantage(np.zeros(200) + 0.3, truth)) == 0  # equal scores tell nothing


def test_a_threshold_is_not_chosen_on_whom_it_judges(rng: Generator) -> None:
    """By the best threshold on the same people, noise alone would have an advantage."""
    truth = np.arange(40) < 20
    risks = [gains(rng.random(40), truth, scores=True).mean() for _ in range(300)]
    assert abs(np.mean(risks)) < 0.03


def test_the_threshold_of_each_half_is_that_of_the_other() -> None:
    truth = [1, 1, 1, 1, 0, 0, 0, 0]
    scores = [9, 2, 9, 2, 3, 0, 3, 0]  # in turn: halves that need 9 > 3 and 2 > 0
    added = gains(scores, truth, scores=True)
    assert added.tolist() == [2, 0, 2, 0, -2, 0, -2, 0]


@pytest.mark.parametrize(
    ("guess", "truth", "said"),
    [
        ([], [], "one number per secret"),
        ([1], [1, 0], "one number per secret"),
        ([[1]], [[1]], "one number per secret"),
        (["yes"], [1], "one number per secret"),
        ([1, 0], [1, NAN], "must be finite"),
        ([np.inf, 0], [1, 0], "must be finite"),
    ],
)
def test_what_cannot_be_used_is_told(guess: object, truth: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        advantage(guess, truth)  # type: ignore[arg-type]


def test_scores_need_members_and_others() -> None:
    with pytest.raises(InputError, match="two members and two non-members"):
        advantage([0.2, 0.3, 0.4], [1, 1, 0])
    with pytest.raises(InputError, match="must be 0 or 1"):
        advantage([0.2, 0.3, 0.4], [1, 2, 0], scores=True)


def test_guesses_of_bits_are_a_choice() -> None:
    guess, secret = [1, 1, 0, np.nan, 0, 1], [1, 1, 0, 0, 1, 0]
    choice = score(guess, secret)
    assert choice.risk == advantage(guess, secret)
    assert (choice.risk.low, choice.risk.high) == (
        advantage(guess, secret).low,
        advantage(guess, secret).high,
    )
    assert choice.baseline == 0.5
    assert choice.per_record.tolist() == [1, 1, 1, 0.5, 0, 0]
    assert choice.true_positive_rate == pytest.approx(2 / 3)
    assert choice.false_positive_rate == pytest.approx(1 / 3)


def test_scores_of_members_are_a_choice() -> None:
    guess, members = [0.7, 0.6, 0.9, -0.2, 0.1, 0.3], [1, 1, 1, 0, 0, 0]
    choice = score(guess, members, scores=True)
    assert choice.risk == advantage(guess, members, scores=True) == 1.0
    assert (choice.true_positive_rate, choice.false_positive_rate) == (1.0, 0.0)
    assert float(choice.advantage) == 1.0
    with pytest.raises(InputError, match="0 or 1"):
        score([1, 2], [1, 2])
