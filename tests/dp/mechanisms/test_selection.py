"""The mechanisms that select a candidate: laws, ties, promises, and what they refuse."""

from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.dp.golden import golden, needs_golden

from veil import dp
from veil.core.errors import InputError, LawError, ParameterError
from veil.core.rng import generator
from veil.core.types import Floats
from veil.dp.exact.coins import filtered_coins
from veil.dp.exact.samplers import Weighted
from veil.dp.mechanisms import selection
from veil.dp.mechanisms.selection import Selection, choose, first_in_order

NAMES = ("exponential", "noisy_max", "permute_and_flip")


def made(name: str, **given: object) -> Selection:
    found = dp.MECHANISMS.get(name)(**{"epsilon": 1.0, **given})
    assert isinstance(found, Selection)
    return found


def whole_law(mechanism: Selection, scores: list[float] | list[int]) -> Floats:
    return dp.law(mechanism, scores, range(len(scores)))


def fits(drawn: Any, law: Floats) -> float:  # noqa: ANN401 - an array of positions
    seen = np.bincount(drawn, minlength=len(law))
    enough = law * len(drawn) > 5
    rest = (seen[~enough].sum(), law[~enough].sum() * len(drawn))
    observed, expected = [*seen[enough], rest[0]], [*law[enough] * len(drawn), rest[1]]
    if rest[1] < 1e-6:
        observed, expected = observed[:-1], expected[:-1]
    return float(
        stats.chisquare(observed, np.array(expected) * sum(observed) / sum(expected)).pvalue
    )


@needs_golden
@pytest.mark.parametrize("name", NAMES)
def test_laws_are_the_golden_ones(name: str) -> None:
    for case in golden("selection"):
        given = {key: case[key] for key in ("epsilon", "sensitivity", "monotone")}
        key = {"noisy_max": "noisy_max_laplace"}.get(name, name)
        np.testing.assert_allclose(
            whole_law(made(name, **given), case["scores"]), case[key], rtol=1e-9
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scores", [[3, 1, 0, 2], [5, 5, 5], [0, -7, 2, 2, -1, 2], [4]])
@pytest.mark.parametrize("monotone", [False, True])
def test_draws_follow_the_law(name: str, scores: list[int], monotone: bool) -> None:
    mechanism = made(name, epsilon=0.8, sensitivity=2, monotone=monotone)
    law = whole_law(mechanism, scores)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    drawn = dp.release(scores, mechanism, size=40_000, rng=len(scores)).value
    assert drawn.dtype == np.int64
    assert len(scores) == 1 or fits(drawn, law) > 1e-3


def test_what_integers_decide_follows_the_law_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "choose", partial(choose, margin=2**61))
    monkeypatch.setattr(selection, "filtered_coins", partial(filtered_coins, margin=0.9))
    for name in ("exponential", "permute_and_flip"):
        mechanism = made(name)
        drawn = dp.release([3, 1, 0, 2], mechanism, size=1_000, rng=2).value
        assert fits(drawn, whole_law(mechanism, [3, 1, 0, 2])) > 1e-3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("monotone", [False, True])
def test_no_neighbour_exceeds_the_promise_and_some_reach_it(name: str, monotone: bool) -> None:
    mechanism = made(name, epsilon=1.5, sensitivity=2, monotone=monotone)
    steps = (0, 2) if monotone else (-2, 0, 2)
    worst = 0.0
    for scores in ([0, 0, 0], [9, 0, 3], [0, 30, 31]):
        law = np.log(whole_law(mechanism, scores))
        for moved in product(steps, repeat=3):
            other = [score + step for score, step in zip(scores, moved, strict=True)]
            worst = max(worst, float(np.abs(law - np.log(whole_law(mechanism, other))).max()))
    assert 1.3 < worst <= 1.5 + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_equal_scores_are_as_likely_wherever_they_stand(name: str) -> None:
    drawn = dp.release([0, 0], made(name, epsilon=2.0), size=40_000, rng=1).value
    assert abs(float(np.mean(drawn)) - 0.5) < 0.012  # 0.36 if the first of equal sums won
    law = whole_law(made(name), [1, 4, 1, 4])
    np.testing.assert_allclose(law, law[[2, 3, 0, 1]], rtol=1e-12)


def test_permute_and_flip_is_the_sum_over_subsets_and_never_worse() -> None:
    for seed in range(5):
        scores = generator(seed).integers(0, 12, 6)
        p = np.exp(-0.5 * (scores.max() - scores))
        law = whole_law(made("permute_and_flip"), scores.tolist())
        for r in range(6):
            others = np.delete(p, r)
            total = sum(
                (-1) ** size * np.prod(subset) / (size + 1)
                for size in range(6)
                for subset in combinations(others, size)
            )
            assert law[r] == pytest.approx(p[r] * total, rel=1e-9)
        assert law @ scores >= whole_law(made("exponential"), scores.tolist()) @ scores


@pytest.mark.parametrize("n", [3, 65, 200, 1_500])
def test_the_integral_of_many_factors(n: int) -> None:
    assert first_in_order(np.ones(n)) == pytest.approx(1 / n, rel=1e-11)
    assert first_in_order(np.full((2, n), 0.5))[0] == pytest.approx(
        (1 - 0.5**n) * 2 / n, rel=1e-11
    )
    p = np.linspace(0, 1, n)
    assert (p * first_in_order(p)).sum() == pytest.approx(1 - np.prod(1 - p), rel=1e-10)


def test_the_law_of_noisy_max_is_that_of_its_sums() -> None:
    mechanism, scores, far = made("noisy_max", epsilon=1.2), [2, 0, 1], 60
    q = np.exp(-0.6)
    z = np.arange(-far, far + 1)
    mass = (1 - q) / (1 + q) * q ** np.abs(z)
    found = np.zeros(3)
    pair = mass[:, None] * mass  # of the noise of the last two
    for first, share in zip(z, mass, strict=True):
        sums = [np.full(pair.shape, first + 2), z[:, None] + 0 * z, z + 1 + 0 * z[:, None]]
        best = np.maximum.reduce(sums)
        ties = sum((each == best).astype(float) for each in sums)
        for i, each in enumerate(sums):
            found[i] += share * (pair * (each == best) / ties).sum()
    np.testing.assert_allclose(whole_law(mechanism, scores), found, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_large_scores_keep_their_last_bit(name: str) -> None:
    top = 2**60
    scores, law = [top, top - 1, -top], whole_law(made(name), [1, 0])
    np.testing.assert_allclose(whole_law(made(name), scores), [*law, 0.0], rtol=1e-9)
    drawn = dp.release(scores, made(name), size=20_000, rng=3).value
    assert fits(drawn, np.array([*law, 0.0])) > 1e-3


@pytest.mark.parametrize("name", ["exponential", "permute_and_flip"])
def test_scores_may_be_real_and_far_apart(name: str) -> None:
    scores = [0.1 + 0.2, 0.3, -1e308, 1e-300]
    law = whole_law(made(name, sensitivity=0.25), scores)
    assert law[2] == 0
    assert (
        fits(dp.release(scores, made(name, sensitivity=0.25), size=20_000, rng=4).value, law)
        > 1e-3
    )
    mechanism = made(name, epsilon=0.1, sensitivity=0.3)
    gap = mechanism.exponent(np.array([0.0, 0.7]), 0)
    assert gap == Fraction(0.1) / Fraction(0.3) / 2 * Fraction(0.7)
    np.testing.assert_allclose(whole_law(made(name), [1e308, -1e308]), [1, 0])


def test_a_tiny_weight_is_left_to_integers() -> None:
    law = Weighted(((Fraction(1), Fraction(0)), (Fraction(1), Fraction(80))))
    drawn = choose(np.array([1.0, np.exp(-80.0)]), lambda: law, 1_000, generator(1))
    assert not drawn.any()
    halves = Weighted(((Fraction(1), Fraction(0)),) * 2)
    wrong = np.array([1.0, 3.0])  # and it does not matter, within the margin that is set here
    drawn = choose(wrong, lambda: halves, 20_000, generator(2), margin=2**62)
    assert abs(float(drawn.mean()) - 0.5) < 0.02
    assert choose(np.ones(1), lambda: halves, 3, generator(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "scores",
    [[], [[1, 2]], 3, [1, float("nan")], [float("inf"), 1], ["a", "b"], [True, False], [2**70, 1]],
)
def test_scores_that_are_none_are_refused(name: str, scores: object) -> None:
    with pytest.raises(InputError, match=f"{name} takes") as caught:
        dp.release(scores, made(name))
    assert str(caught.value).endswith(".")


def test_noisy_max_takes_whole_scores_alone() -> None:
    with pytest.raises(InputError, match="Round them first, or use permute_and_flip"):
        dp.release([0.5, 1.5], "noisy_max(epsilon=1)")
    with pytest.raises(InputError, match="at most 2\\^61"):
        dp.release([2**62, 0], "noisy_max(epsilon=1)")
    with pytest.raises(LawError, match="too many"):
        dp.law("noisy_max(epsilon=1e-7)", [1, 0], [0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("outputs", [[4], [-1], [0.5], ["a"], [[0]]])
def test_positions_that_are_none_are_refused(name: str, outputs: object) -> None:
    with pytest.raises(InputError, match="positions"):
        dp.law(made(name), [1, 2, 3], outputs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("nan")},
                                   {"epsilon": float("inf")}, {"sensitivity": 0}])  # fmt: skip
def test_parameters_out_of_range_are_refused(name: str, given: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=f"parameter of {name} must"):
        made(name, **given)
    with pytest.raises(ParameterError, match="at most 2\\^900"):
        dp.release([1, 2], made(name, epsilon=1e300, sensitivity=1e-300))


def test_what_is_proved() -> None:
    said = made("exponential", monotone=True).guarantee
    assert (said.kind, said.epsilon, said.delta, said.unit) == ("dp", 1.0, 0.0, "record")
    assert "monotone" in said.caveat
    assert made("exponential").slope == Fraction(1, 2)
    assert made("exponential", monotone=True, sensitivity=4).slope == Fraction(1, 4)
