"""Ratings from updates that no sum hides, and from one that does."""

from typing import Annotated, ClassVar

import numpy as np
import pytest
from pydantic import Field
from tests.ratings.taste import people

from veil import ratings
from veil.core.errors import InputError
from veil.core.rng import Randomness
from veil.ratings import Model, Ratings, Recommender
from veil.ratings.attacks.gradient import overlap, read, update

DATA = people(150, 60, 12)


class Masked(Recommender):
    """Clients whose updates are summed before anybody sees them."""

    name: ClassVar[str] = "masked"
    factors: Annotated[int, Field(ge=1)] = 6
    secure: bool = True

    def fit(self, train: Ratings, positive: float | None = None, rng: Randomness = None) -> Model:
        """Do nothing: the attack makes the updates itself."""
        raise NotImplementedError


def test_one_update_gives_all_items_and_values() -> None:
    actual = ratings.attack(Masked(secure=False), DATA, "gradient", rng=0)
    assert float(actual.success) == 1
    assert actual.details["exact item sets"] == 1
    assert actual.details["values right"] == 1
    assert actual.details["most frequent value"] < 0.6
    assert actual.baseline is not None
    assert 0 < actual.baseline < 0.6
    labels = ratings.attack("als(factors=6)", DATA, "gradient(clients=20)", rng=0)
    assert len(labels.per_record) == 20
    assert float(labels.success) == 1


def test_a_sum_tells_no_more_than_popularity() -> None:
    actual = ratings.attack(Masked(), DATA, "gradient", rng=0)
    assert actual.risk < 0.1
    real = ratings.attack("federated(factors=4)", DATA, "gradient", rng=0)
    assert real.risk < 0.1
    bare = ratings.attack("federated(factors=4, secure=False)", DATA, "gradient", rng=0)
    assert bare.details["exact item sets"] == 1
    assert actual.details["values right"] == 0


@pytest.mark.parametrize(("scale", "step"), [((1.0, 5.0), 1.0), ((-10.0, 10.0), 0.25)])
def test_the_length_is_found_on_any_scale(scale: tuple[float, float], step: float) -> None:
    rng = np.random.default_rng(4)
    factors = rng.normal(0, 0.1, (40, 5))
    items = np.sort(rng.choice(40, 9, replace=False))
    levels = round((scale[1] - scale[0]) / step) + 1
    values = np.asarray(scale[0] + step * rng.integers(0, levels, 9), dtype=np.float64)
    actual, guessed = read(update(items, values, factors), scale, step)
    assert np.array_equal(actual, items)
    assert np.array_equal(guessed, values)
    assert not len(read(update(items[:0], values[:0], factors), scale, step)[0])


def test_an_update_is_the_gradient_of_the_squared_error() -> None:
    rng = np.random.default_rng(2)
    factors, items, values = rng.normal(size=(6, 2)), np.array([1, 4]), np.array([2.0, 5.0])
    messages = update(items, values, factors)
    own = factors[items]
    p = np.linalg.solve(own.T @ own + 0.1 * np.eye(2), own.T @ values)

    def loss(q: np.ndarray) -> float:
        return float(0.5 * np.square(values - q[items] @ p).sum())

    for item in range(6):
        for axis in range(2):
            moved = factors.copy()
            moved[item, axis] += 1e-6
            slope = (loss(moved) - loss(factors)) / 1e-6
            assert messages.gradient[item, axis] == pytest.approx(slope, abs=1e-4)


def test_overlap_is_the_f1_of_sets() -> None:
    assert overlap(np.array([1, 2, 3]), np.array([3])) == pytest.approx(2 * 1 / 4)
    assert overlap(np.array([], dtype=int), np.array([3])) == 0


def test_what_sends_no_updates_is_refused() -> None:
    for spec in ("popularity", "pseudonyms", "dpals(epsilon=1, delta=0.0001)"):
        with pytest.raises(InputError, match="updates of factors"):
            ratings.attack(spec, DATA, "gradient", rng=0)
