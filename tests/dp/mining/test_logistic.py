"""Logistic regression: what one row moves, what is spent, and how often it is right."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil import dp
from veil.core.errors import InputError, ParameterError, VeilError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.accounting.cost import Sampled
from veil.dp.exact.coins import coins
from veil.dp.exact.samplers import discrete_gaussian
from veil.dp.mechanisms.gaussian import Gaussian
from veil.dp.mining import logistic
from veil.dp.mining import logistic as room
from veil.dp.mining.logistic import GRADIENT, minimum, multiplier, rows, scale_features

HOSTILE = st.sampled_from([0.0, 1.0, -1.0, 1e-12, 1e300, -1e300, 15.9998, 16.0, 0.5, 1 / 2**12])
FULL = {"steps": 30, "batch": 10**6}  # every row in every batch: no losses to follow


def problem(n: int, seed: int = 1) -> tuple[Floats, Ids]:
    """Draw rows of three features, whose first two tell the label."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    return x, (x[:, 0] - x[:, 1] + rng.normal(0, 0.1, n) > 0).astype(np.int64)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(*[st.floats(-20, 20) | HOSTILE] * 3), min_size=1, max_size=10),
    st.tuples(*[st.floats(-300, 300)] * 4),
    st.sampled_from([0.01, 0.1, 1.0, 3.3, 16.0]),
    st.data(),
)
def test_one_row_moves_the_sum_of_gradients_by_at_most_the_clip(
    table: list[tuple[float, ...]],
    weights: tuple[float, ...],
    clip: float,
    data: st.DataObject,
) -> None:
    gone = data.draw(st.integers(0, len(table) - 1))
    second = np.array(data.draw(st.lists(st.integers(0, 1), min_size=10, max_size=10)))
    whole = rows(np.array(table), second[: len(table)], clip)
    places = np.arange(len(table))
    moved = whole.gradient(places, np.array(weights)) - whole.gradient(
        np.delete(places, gone), np.array(weights)
    )
    length2 = sum(int(one) ** 2 for one in moved)
    assert length2 <= whole.most**2
    assert whole.most * GRADIENT <= Fraction(clip)


def test_a_gradient_is_that_of_the_loss() -> None:
    x, y = problem(500)
    weights = np.array([1.5, -0.25, 0.5, 0.125])
    data = rows(x, y, 16.0)  # nothing is cut
    found = data.gradient(np.arange(500), weights) * float(GRADIENT)
    one = np.c_[x, np.ones(500)]
    exact = one.T @ (1 / (1 + np.exp(-one @ weights)) - y)
    np.testing.assert_allclose(found, exact, atol=0.5)
    cut = rows(x, y, 0.25)
    each = one * (1 / (1 + np.exp(-one @ weights)) - y)[:, None]
    each *= np.minimum(1, 0.25 / np.linalg.norm(each, axis=1))[:, None]
    found = cut.gradient(np.arange(500), weights) * float(GRADIENT)
    np.testing.assert_allclose(found, each.sum(axis=0), atol=0.5)


def test_what_a_row_adds_does_not_depend_on_others() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(301, 40)), rng.integers(2, size=301)
    data = rows(x, y, 1.0)
    weights = rng.normal(size=41)
    alone = sum(data.gradient(np.array([i]), weights) for i in range(301))
    assert (data.gradient(np.arange(301), weights) == alone).all()


def test_every_step_has_its_coins_and_its_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    noise: list[tuple[Fraction, int]] = []
    tosses: list[tuple[Fraction, int]] = []

    def normal(sigma2: Fraction, n: int, rng: np.random.Generator) -> Ids:
        noise.append((sigma2, n))
        return discrete_gaussian(sigma2, n, rng)

    def toss(p: Fraction, n: int, rng: np.random.Generator) -> logistic.Shorts:
        tosses.append((p, n))
        return coins(p, n, rng)  # type: ignore[return-value]

    monkeypatch.setattr(logistic, "discrete_gaussian", normal)
    monkeypatch.setattr(logistic, "coins", toss)
    x, y = problem(1000)
    model = dp.logistic(x, y, 1.0, 1e-5, batch=100, steps=20, clip=2.0, rng=1)
    assert model.plan is not None
    assert tosses == [(Fraction(model.plan.q), 1000)] * 20
    assert model.plan.q == 0.1
    most = int(2 / GRADIENT)
    assert noise == [((Fraction(model.plan.sigma) * most) ** 2, 20 * 4)]
    step = dp.sampled(f"gaussian(sigma={model.plan.sigma})", model.plan.q)
    spent = dp.compose([(step, 20)], 1e-5, "pld")
    assert 0.99 < spent.epsilon <= 1.0 == model.cost.epsilon
    assert model.cost.delta == 1e-5
    for caveat in ("idealised", "number of rows", "Choosing parameters"):
        assert caveat in model.cost.caveat


def test_without_batches_zcdp_proves_the_noise_as_it_is() -> None:
    x, y = problem(400)
    model = dp.logistic(x, y, 1.0, 1e-5, classes=[0, 1], n=400, rng=1, **FULL)  # type: ignore[arg-type]
    assert model.plan is not None
    assert model.plan.q == 1
    rho = 30 / (2 * model.plan.sigma**2)
    assert 0.999 < dp.zcdp_epsilon(rho, 1e-5) <= 1.0
    for caveat in ("idealised", "number of rows", "labels"):
        assert caveat not in model.cost.caveat


def test_more_budget_means_less_noise() -> None:
    sigmas = [multiplier(epsilon, 1e-6, 0.05, 50)[0] for epsilon in (0.1, 1.0)]
    assert sigmas[0] > 3 * sigmas[1]


def test_the_search_ends_at_either_end(monkeypatch: pytest.MonkeyPatch) -> None:
    trials: list[float] = []

    def counted(price: float) -> None:
        def compose(items: list[tuple[Sampled, int]], delta: float, accountant: str) -> Guarantee:
            (item, _), *_ = items
            assert isinstance(item.of, Gaussian)
            assert item.of.sigma is not None
            assert accountant == "pld"
            trials.append(item.of.sigma)
            return Guarantee("dp", price / item.of.sigma**2, delta=delta)

        monkeypatch.setattr(room, "compose", compose)

    counted(1e-9)  # hardly anything is spent: there is noise all the same
    sigma, cost = multiplier.__wrapped__(1.0, 1e-5, 0.5, 10)
    assert 0.3 <= sigma < 0.301
    assert cost.epsilon == 1.0
    counted(40.0)
    sigma, _ = multiplier.__wrapped__(1.0, 1e-5, 0.5, 10)
    assert np.sqrt(40) <= sigma < 1.003 * np.sqrt(40)
    assert len(trials) < 20
    counted(float("inf"))
    with pytest.raises(ParameterError, match="No sigma"):
        multiplier.__wrapped__(1.0, 1e-5, 0.5, 10)


def test_the_noise_of_the_weights_is_as_large_as_it_must_be() -> None:
    """One step from 0 with balanced labels: the weights are noise alone."""
    x, y = np.zeros((100, 3)), np.arange(100) % 2
    drawn = [
        dp.logistic(x, y, 1.0, 1e-5, steps=1, batch=100, rate=1.0, rng=seed).weights
        for seed in range(300)
    ]
    sigma = multiplier(1.0, 1e-5, 1.0, 1)[0]
    assert 0.93 < float(np.std(drawn)) * 100 / sigma < 1.07


def test_it_is_right_where_features_tell_the_label() -> None:
    x, y = problem(4000)
    other, truth = problem(2000, seed=2)
    for epsilon, least in ((1.0, 0.93), (0.2, 0.9)):
        model = dp.logistic(x, y, epsilon, 1e-5, rng=1)
        assert float((model.predict(other) == truth).mean()) > least
    wide = dp.logistic(5e3 * x + 1e4, y, 1.0, 1e-5, bounds=(5e3, 1.5e4), rng=1)
    assert float((wide.predict(5e3 * other + 1e4) == truth).mean()) > 0.93
    assert wide.predict(other[:3]).shape == (3,)


def test_the_perturbed_objective_is_not_called_proved() -> None:
    x, y = problem(4000)
    model = dp.logistic(x, y, 1.0, 0.0, method="objective", rng=1)
    assert model.cost.kind == "none"
    assert "exact minimum" in model.cost.caveat
    assert float((model.predict(x) == y).mean()) > 0.9
    assert dp.logistic(x[:50], y[:50], 0.1, 0.0, method="objective", rng=1).plan is None
    again = dp.logistic(x, y, 1.0, 0.0, method="objective", rng=1)
    assert (again.weights == model.weights).all()


def test_newton_finds_the_minimum() -> None:
    x, y = problem(300)
    slope = np.array([0.01, 0.02, -0.01])
    weights = minimum(x, y, 1e-2, slope)
    gradient = x.T @ (1 / (1 + np.exp(-x @ weights)) - y) / 300 + 1e-2 * weights + slope
    assert float(np.abs(gradient).max()) < 1e-10


def test_noise_is_drawn_anew_and_repeats_under_a_seed() -> None:
    x, y = problem(200)
    found = [
        dp.logistic(x, np.where(y, "b", "a"), 1.0, 1e-5, rng=seed, **FULL)  # type: ignore[arg-type]
        for seed in (1, 1, None, None)
    ]
    assert (found[0].weights == found[1].weights).all()
    assert (found[2].weights != found[3].weights).any()
    assert [model.seeded for model in found] == [True, True, False, False]
    assert set(found[0].predict(x)) <= {"a", "b"}


def test_scaling_stays_within_one() -> None:
    box = np.array([[0.1, 0.3], [-1e308, 1e307]])
    found = scale_features(np.array([[0.3, 1e308], [0.1, -1e308], [0.2, -4.5e307]]), box)
    assert (np.abs(found) <= 1).all()
    np.testing.assert_allclose(found, [[1, 1], [-1, -1], [0, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"epsilon": 0.0}, ParameterError, "'epsilon'"),
        ({"delta": 0.0}, ParameterError, "'delta'"),
        ({"delta": 1.0}, ParameterError, "'delta'"),
        ({"delta": None}, ParameterError, "'delta'"),
        ({"delta": True}, ParameterError, "'delta'"),
        ({"epsilon": True}, ParameterError, "'epsilon'"),
        ({"rate": "1"}, ParameterError, "'rate'"),
        ({"delta": float("nan")}, ParameterError, "'delta'"),
        ({"steps": 0}, ParameterError, "'steps'"),
        ({"batch": 1.5}, ParameterError, "'batch'"),
        ({"clip": 0.0}, ParameterError, "'clip'"),
        ({"clip": 17.0}, ParameterError, "at most 16"),
        ({"rate": -1.0}, ParameterError, "'rate'"),
        ({"n": 0}, ParameterError, "'n'"),
        ({"method": "newton"}, ParameterError, "'method'"),
        ({"bounds": [(0, 1)]}, ParameterError, r"per column \(3\)"),
        ({"X": [[float("nan")] * 3] * 30}, InputError, "finite"),
        ({"X": [["a"] * 3] * 30}, InputError, "numbers"),
        ({"X": np.empty((0, 3)), "y": []}, InputError, "at least one row"),
        ({"y": [0, 1, 2] * 10}, InputError, "two labels"),
        ({"y": [0, 1]}, InputError, "one label per row"),
        ({"X": np.zeros((30, 9000))}, InputError, "8191 features"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    change: dict[str, object], error: type[VeilError], says: str
) -> None:
    x, y = problem(30)
    arguments = {"X": x, "y": y, "epsilon": 1.0, "delta": 1e-5, **FULL, **change}
    with pytest.raises(error, match=says):
        dp.logistic(**arguments)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    x, y = problem(50)
    plain: dict[str, Any] = FULL
    given: dict[str, Any] = {"delta": np.float32(0.25), "rate": np.float32(0.5)}
    sizes: dict[str, Any] = {name: np.int64(value) for name, value in FULL.items()}
    model = dp.logistic(x, y, np.int64(2), **given, **sizes, rng=1)  # type: ignore[arg-type]
    expected = dp.logistic(x, y, 2.0, 0.25, **plain, rate=0.5, rng=1)
    assert (model.weights == expected.weights).all()
    assert model.cost == expected.cost
    centres = dp.kmeans(x, sizes["steps"], np.float32(0.5), (-1, 1), rng=1).centres  # type: ignore[arg-type]
    assert (centres == dp.kmeans(x, 30, 0.5, (-1, 1), rng=1).centres).all()


def test_a_caveat_speaks_no_python() -> None:
    x, y = problem(50)
    plain: dict[str, Any] = FULL
    caveat = dp.logistic(x, y, 2.0, 0.25, **plain, rng=1).cost.caveat
    assert "in advance" in caveat
    assert "'" not in caveat
