"""What keeps its promise is not accused, and what does not is."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from tests.dp.audit.broken import BROKEN, EPSILON, RIGHT

from veil import dp
from veil.core.component import example
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.dp.audit import DELTA, audit, claim_of
from veil.dp.mechanisms.above_threshold import AboveThreshold, Version
from veil.dp.mechanisms.gaussian import DiscreteGaussian
from veil.dp.mechanisms.laplace import Geometric
from veil.dp.mechanisms.selection import Exponential, NoisyMax

SPARSE = "above_threshold(epsilon=1, threshold=0, version={})"
CORRECT = [
    *(name for name in dp.MECHANISMS.names() if name != "gaussian"),
    "gaussian(epsilon=1, delta=1e-3)",
    "gaussian(sigma=1)",
    "geometric(epsilon=2, sensitivity=3)",
    "exponential(epsilon=1, monotone=true)",
    "noisy_max(epsilon=2, monotone=true)",
    "noisy_max(epsilon=1, sensitivity=0.5)",
    "permute_and_flip(epsilon=2, sensitivity=0.1)",
    "quantile(epsilon=2, q=0.9, low=-5, high=5)",
    "randomised_response(epsilon=2, k=40)",
    SPARSE.format("dwork-roth"),
    "above_threshold(epsilon=4, threshold=0, cutoff=3)",
    "above_threshold(epsilon=4, threshold=0, cutoff=5, version=dwork-roth)",
    "above_threshold(epsilon=1, threshold=5, cutoff=3, monotone=true)",
    *dp.ORACLES.names(),
]


def built(spec: str) -> Any:  # noqa: ANN401 - a mechanism or an oracle
    for registry in (dp.MECHANISMS, dp.ORACLES):
        if spec in registry.names():
            return example(registry.get(spec))
    return spec


@pytest.mark.parametrize("spec", CORRECT)
def test_what_is_right_is_not_accused(spec: str) -> None:
    found = audit(built(spec), samples=20_000, rng=len(spec))
    assert not found.exceeded, str(found)
    assert found.verdict in ("not refuted", "out of reach")


@pytest.mark.parametrize("version", ["roth", "lee-clifton", "stoddard", "chen"])
def test_a_wrong_sparse_vector_is_exposed(version: str) -> None:
    found = audit(SPARSE.format(version), rng=4)
    assert found.claimed == 1
    assert found.exceeded, str(found)
    assert str(found).endswith("REFUTED")


@pytest.mark.parametrize("epsilon", [3, 4])
def test_released_numbers_are_exposed_with_several_answers(epsilon: int) -> None:
    """Of roth, whose loss for each query falls with the cutoff, and is small for small epsilon."""
    spec = f"above_threshold(epsilon={epsilon}, threshold=0, cutoff=3, version=roth)"
    found = audit(spec, rng=4)
    assert found.exceeded, str(found)


@pytest.mark.parametrize("cutoff", [3, 5])
def test_right_sparse_vectors_pass_the_streams_of_roth(cutoff: int) -> None:
    streams = AboveThreshold(epsilon=4.0, threshold=0, cutoff=cutoff, version="roth").pairs()
    versions: tuple[Version, ...] = ("lyu", "dwork-roth")
    for version in versions:
        right = AboveThreshold(epsilon=4.0, threshold=0, cutoff=cutoff, version=version)
        found = audit(right, streams[-1], samples=20_000, rng=4)
        assert not found.exceeded, str(found)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_sampler_is_exposed(name: str) -> None:
    draw, one, other = BROKEN[name]
    found = dp.audit_sampler(draw, one, other, EPSILON, samples=50_000, rng=1)
    assert found.exceeded, str(found)
    assert dp.audit_sampler(draw, other, one, EPSILON, samples=50_000, rng=2).exceeded


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_sampler_is_not_accused(name: str) -> None:
    draw, one, other = RIGHT[name]
    found = dp.audit_sampler(draw, one, other, EPSILON, samples=50_000, rng=3)
    assert not found.exceeded, str(found)
    assert found.lower > 0.2  # and something is seen


def test_a_claim_that_is_reached_exactly_is_nearly_shown() -> None:
    for spec in ("geometric(epsilon=1)", "laplace(epsilon=1)", "randomised_response(epsilon=1)"):
        assert 0.85 < audit(spec, rng=3).lower <= 1


class HalfGaussian(DiscreteGaussian):
    """Claims rho, and has half the standard deviation."""

    @property
    def sigma2(self) -> Any:  # noqa: ANN401 - a fraction
        return super().sigma2 / 4


class Hasty(Exponential):
    """Takes scores as monotone that are not."""

    @property
    def slope(self) -> Any:  # noqa: ANN401 - a fraction
        return super().slope * 2


class HastyMax(NoisyMax):
    """Adds noise of scale 1/epsilon to scores that are not monotone, as many notes do."""

    @property
    def slope(self) -> Any:  # noqa: ANN401 - a fraction
        return super().slope * 2

    def pairs(self) -> Sequence[tuple[object, object]]:
        return [([0, 6], [1, 5])]


class Impatient(AboveThreshold):
    """Claims the epsilon of one answer above, and goes on."""

    @property
    def ends(self) -> bool:
        return False


@pytest.mark.parametrize(
    "mechanism",
    [
        HalfGaussian(rho=0.5),
        Hasty(epsilon=1.0),
        HastyMax(epsilon=1.0),
        Impatient(epsilon=3.0, threshold=0),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_mechanism_that_lost_its_proof_is_exposed(mechanism: Any) -> None:  # noqa: ANN401
    found = audit(mechanism, rng=1)
    assert found.exceeded, str(found)


def test_delta_is_granted() -> None:
    """Tells the secret one time in twenty, which a delta of 0.05 allows, and no less."""

    def leaky(x: int, n: int, rng: Generator) -> Any:  # noqa: ANN401
        return np.where(rng.random(n) < 0.05, x, 5)

    assert dp.audit_sampler(leaky, 0, 1, 0.5, rng=1).exceeded
    assert dp.audit_sampler(leaky, 0, 1, 0.5, delta=0.04, rng=1).exceeded
    assert dp.audit_sampler(leaky, 0, 1, 0.5, delta=0.05, rng=1).lower == 0


def test_zcdp_is_converted_at_a_delta_that_is_told() -> None:
    claim = claim_of(dp.mechanism("discrete_gaussian(rho=0.5)"))
    assert (claim.epsilon, claim.delta) == (dp.zcdp_epsilon(0.5, DELTA), DELTA)
    assert "at delta 0.001" in str(audit("discrete_gaussian(rho=0.5)", samples=2_000, rng=1))


def test_the_chance_of_an_accusation_is_as_stated() -> None:
    """Of a claim that is reached exactly, with a chance of error that can be counted."""
    mechanism = Geometric(epsilon=1.0)
    found = [audit(mechanism, samples=2_000, error=0.3, rng=seed) for seed in range(60)]
    assert sum(each.exceeded for each in found) <= 18 + 3 * math.sqrt(60 * 0.3 * 0.7)
    assert sum(each.lower > 0.8 for each in found) > 20


def test_what_an_audit_tells() -> None:
    found = audit(Geometric(epsilon=1.0), pair=(3, 4), samples=5_001, error=1e-3, rng=2)
    assert (found.claimed, found.delta, found.samples, found.error) == (1.0, 0.0, 5_001, 1e-3)
    assert found.trials == 2_501
    assert {int(np.asarray(x)) for x in found.pair} == {3, 4}
    assert found.lower < found.claimed < found.reach
    again = audit("geometric(epsilon=1)", (3, 4), 5_001, 1e-3, 2)
    assert (again.lower, again.hits) == (found.lower, found.hits)
    assert audit("geometric(epsilon=30)", samples=2_000, rng=1).verdict == "out of reach"


class Silent(Geometric):
    """Claims nothing."""

    @property
    def published(self) -> float:
        return math.inf


def test_where_nothing_is_claimed_nothing_is_refuted() -> None:
    found = audit(Silent(epsilon=1.0), samples=2_000, rng=1)
    assert (found.verdict, found.exceeded) == ("nothing is claimed", False)
    assert str(found).endswith("nothing is claimed")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"samples": 999}, "'samples'"),
        ({"samples": True}, "'samples'"),
        ({"error": 0.0}, "'error'"),
        ({"error": 1}, "'error'"),
        ({"pair": (1, 1)}, "the same"),
        ({"pair": (1, 2, 3)}, "two inputs"),
        ({"pair": "ab"}, "two inputs"),
        ({"pair": (0.5, 1)}, "integers"),
        ({"pair": 5}, "two inputs"),
        ({"pair": {1, 2}}, "two inputs"),
        ({"samples": 5e3}, "'samples'"),
        ({"samples": None}, "'samples'"),
        ({"error": None}, "'error'"),
        ({"error": True}, "'error'"),
    ],
)
def test_bad_input_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises((ParameterError, InputError), match=message):
        audit("geometric(epsilon=1)", **given)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'geometric'"):
        audit("geometrc(epsilon=1)")


@pytest.mark.parametrize("m", [None, 5, "", object(), "geometric(epsilon=1"])
def test_what_is_no_mechanism_is_refused(m: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match=r"^A spec must look like [^\n]*\.$"):
        audit(m)


def test_numbers_of_numpy_are_numbers() -> None:
    samples: Any = np.int64(2_000)
    found = audit("geometric(epsilon=1)", samples=samples, error=np.float64(0.5), rng=1)
    assert found == audit("geometric(epsilon=1)", samples=2_000, error=0.5, rng=1)
    epsilon: Any = np.float32(0)
    assert dp.audit_sampler(RIGHT["a count"].draw, 0, 1, epsilon, samples=2_000).claimed == 0


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf, None, True, "1"])
def test_a_claim_that_is_none_is_refused(epsilon: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match="'epsilon' argument must be a finite number >= 0"):
        dp.audit_sampler(RIGHT["a count"].draw, 0, 1, epsilon)
    with pytest.raises(ParameterError, match="delta"):
        dp.audit_sampler(RIGHT["a count"].draw, 0, 1, 1.0, delta=1.0)
    with pytest.raises(ParameterError, match="'draw' argument must be a function"):
        dp.audit_sampler(None, 0, 1, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "draw",
    [
        lambda x, n, rng: [1, 2],
        lambda x, n, rng: np.zeros((n, 2, 2)),
        lambda x, n, rng: ["a"] * n,
        lambda x, n, rng: np.zeros((n, x)),
    ],
)
def test_a_sampler_must_give_numbers(draw: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match="A sampler must return"):
        dp.audit_sampler(draw, 1, 2, 1.0)
