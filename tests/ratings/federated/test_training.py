"""Federated training: its guarantees, its sums, its quality, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from tests.ratings.federated.golden import JESTER, needs_jester

from veil import ratings
from veil.core.errors import InputError, ParameterError
from veil.core.rng import generator
from veil.ratings.federated.primitives import whole, words_of
from veil.ratings.federated.secure import secure_sum
from veil.ratings.federated.training import (
    Clients,
    Rules,
    Training,
    profiles,
    share_of_noise,
    updates,
    vectors,
)
from veil.ratings.ratings import Ratings
from veil.ratings.recommenders.federated import Federated

SCALE = (1.0, 5.0)


def town(n: int = 40, m: int = 12, seed: int = 3) -> Ratings:
    """Return users who like one half of the items or the other."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((n, m)) < 0.5)
    liked = (item < m // 2) == (user % 2 == 0)
    value = np.clip(3 + np.where(liked, 1.5, -1.5) + 0.3 * rng.standard_normal(len(user)), 1, 5)
    return ratings.of_arrays(
        [str(entry) for entry in range(n)], [str(entry) for entry in range(m)], user, item, value,
        scale=SCALE,
    )  # fmt: skip


def rules(threshold: int | None = 3, most: int | None = None, sample: float = 1.0) -> Rules:
    return Rules(sample, 2.0, 1.0, 1.5, threshold, most)


def test_epsilons_are_those_of_the_reference() -> None:
    spec = "federated(noise=4, rounds=60, sample=0.25, delta=1e-5)"
    actual = ratings.recommender(spec)
    assert isinstance(actual, Federated)
    assert 0.999 * 2.042 <= actual.guarantee.epsilon <= 1.01 * 2.042
    assert actual.against_server.epsilon == pytest.approx(9.61, rel=0.002)
    capped = Federated(noise=4, rounds=60, sample=0.25, delta=1e-5, max_rounds=20)
    assert capped.against_server.epsilon == pytest.approx(4.98, rel=0.002)
    assert actual.guarantee.unit == actual.against_server.unit == "user"
    assert actual.guarantee.neighbours != actual.against_server.neighbours


def test_who_is_trusted_is_said() -> None:
    trusting = Federated(delta=1e-3, secure=False)
    assert trusting.against_server.kind == "none"
    assert "trusts the server" in trusting.guarantee.caveat
    assert "trusts the server" not in Federated(delta=1e-3).guarantee.caveat
    assert Federated().guarantee.kind == Federated().against_server.kind == "none"


def test_many_users_at_once_are_each_by_itself_to_the_bit() -> None:
    data = town()
    factors = 0.1 * np.random.default_rng(1).standard_normal((data.m, 4))
    everybody = np.flatnonzero(data.per_user > 0)
    together = profiles(data, everybody)
    rows = updates(together, factors, 1.5)
    for place, user in enumerate(everybody.tolist()):
        single = profiles(data, np.array([user]))
        own = together.owner == place
        assert (updates(single, factors, 1.5) == rows[own]).all()


def test_own_vector_is_the_ridge_solution() -> None:
    data = town()
    factors = np.random.default_rng(2).standard_normal((data.m, 3))
    own = profiles(data, np.array([5]))
    (actual,) = vectors(own, factors, 0.7)
    design = np.column_stack([np.ones(len(own.item)), factors[own.item, 1:]])
    target = own.value - factors[own.item, 0]
    slope = design.T @ (design @ actual - target) + 0.7 * actual
    assert np.abs(slope).max() < 1e-12
    rows = updates(own, factors, 0.7)
    residual = target - design @ actual
    assert np.allclose(rows[:, 0], residual)
    assert np.allclose(rows[:, 1:], residual[:, None] * actual[1:])


def test_a_real_round_gives_the_simulated_sum() -> None:
    data = town(n=9)
    factors = 0.1 * np.random.default_rng(1).standard_normal((data.m, 3))
    clients = Clients(data, rules(), generator(1))
    inputs, noises = [], []
    for user in range(9):
        noise = share_of_noise(2.0, 7, factors.size, generator(user)).reshape(factors.shape)
        own = profiles(data, np.array([user]))
        noises.append(noise.copy())
        noise[own.item] += whole(updates(own, factors, 1.5), own.starts, 1.0)
        inputs.append(words_of(noise.ravel(), 9))
    actual = secure_sum(inputs, drop={2: "shares"})
    survivors = np.array(actual.survivors)
    expected = clients.steps(survivors, factors) + sum(noises[entry] for entry in actual.survivors)
    assert actual.total.view(np.int64).tolist() == expected.ravel().tolist()


def test_clients_join_by_their_own_coin_and_as_often_as_they_may() -> None:
    data = town(n=400)
    clients = Clients(data, rules(sample=0.25, most=3), generator(4))
    counts = np.zeros(400, dtype=np.int64)
    first = clients.joining()
    assert 60 < len(first) < 140
    counts[first] += 1
    for _ in range(39):
        counts[clients.joining()] += 1
    assert counts.max() == 3


def test_void_rounds_change_nothing_and_are_told() -> None:
    data = town()
    few = Clients(data, rules(threshold=41), generator(1))
    training = Training(data.m, 2, 3, 0.1, 1.0, generator(1))
    before = training.factors.copy()
    training.advance(few.total(training.factors))
    assert training.void == 1
    assert (training.factors == before).all()
    spec = Federated(factors=2, rounds=2, sample=0.5, threshold=35, delta=0.01)
    model = spec.fit(data, rng=1)
    assert model.void == 2
    assert model.guarantee.epsilon == spec.guarantee.epsilon
    assert any("void" in note for note in model.notes)


def test_a_threshold_that_shows_who_joins_costs_delta() -> None:
    data = town()
    model = Federated(factors=2, rounds=2, sample=0.5, threshold=20, delta=0.01).fit(data, rng=1)
    assert model.guarantee.delta > 0.1
    usual = Federated(factors=2, rounds=2, sample=1, delta=0.01).fit(data, rng=1)
    assert usual.guarantee.delta == 0.01


def test_it_learns_what_users_like() -> None:
    data = town(n=400)
    train, test = ratings.split(data)
    model = Federated(factors=2, rounds=20, sample=1, noise=1, delta=1e-3).fit(train, rng=1)
    users, items = test.user.astype(np.int64), test.item.astype(np.int64)
    error = np.sqrt(np.mean((model.ratings(users, items) - test.value) ** 2))
    assert error < 0.75 * test.value.std()
    pairs = model.ratings(np.array([3, -1, 3]), np.array([2, 2, -1]))
    assert pairs[0] == pytest.approx(model.scores(np.array([3]))[0, 2])
    assert np.isfinite(pairs).all()
    swapped = model.scores(np.array([7, 3]))
    assert np.allclose(swapped[1], model.scores(np.array([3]))[0])
    assert set(model.public) == {"factors"}


def test_a_model_is_made_again_without_learning_again() -> None:
    data, spec = town(), Federated(factors=2, rounds=2, sample=1, delta=0.01)
    model = spec.fit(data)
    again = spec.restore(data, model.positive, model.state())
    everybody = np.arange(data.n)
    assert (again.scores(everybody) == model.scores(everybody)).all()
    assert (again.guarantee, again.void) == (model.guarantee, model.void)


def test_seeds_repeat_and_fresh_fits_differ() -> None:
    data, spec = town(), Federated(factors=2, rounds=2, sample=1, delta=0.01)
    first, second, fresh = spec.fit(data, rng=1), spec.fit(data, rng=1), spec.fit(data)
    assert (first.factors == second.factors).all()
    assert (first.factors != fresh.factors).all()
    assert first.seeded
    assert not fresh.seeded


def test_release_of_the_door_holds_the_model() -> None:
    release = ratings.protect(town(), "federated(factors=2, rounds=2, sample=1, delta=0.01)")
    assert release.model is not None
    assert release.data is None
    assert release.cost.kind == "dp"
    assert any("Against the server" in note for note in release.notes)


def test_what_nothing_can_be_proved_of_is_refused() -> None:
    data = town()
    spec = Federated(factors=2, rounds=2, sample=1)
    with pytest.raises(InputError, match="declared scale"):
        spec.fit(replace(data, declared=False))
    with pytest.raises(InputError, match="public catalogue"):
        spec.fit(replace(data, public=False))
    with pytest.raises(ParameterError, match="below 1/n"):
        Federated(sample=1, delta=0.2).fit(data)
    with pytest.raises(ParameterError, match="at most the 40 users"):
        Federated(sample=1, threshold=41).fit(data)
    with pytest.raises(ParameterError, match="Use fewer 'factors'"):
        Federated(factors=128).check_size(2**20)
    for wrong in ("noise=0", "sample=0", "clip=-1", "rounds=0", "epsilon=1"):
        with pytest.raises(ParameterError):
            ratings.recommender(f"federated({wrong})")


@needs_jester
@pytest.mark.slow
def test_jester_is_as_good_as_the_target() -> None:
    train, test = ratings.split(ratings.load(JESTER, scale=(-10, 10)))
    spec = "federated(factors=6, rounds=60, sample=0.25, noise=4, clip=2, delta=1e-5)"
    model = ratings.recommender(spec).fit(train, rng=1)
    actual = model.ratings(test.user.astype(np.int64), test.item.astype(np.int64))
    error = float(np.sqrt(np.mean((np.clip(actual, -10, 10) - test.value) ** 2)))
    assert error < 4.19
