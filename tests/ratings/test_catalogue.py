"""A list of items that is released: only what many rated, and at its cost."""

import numpy as np
import pytest
from tests.ratings.people import PERSON, town

from veil.core.errors import InputError, ParameterError
from veil.ratings import Ratings, of_arrays, protect
from veil.ratings.catalogue import threshold_catalogue


def with_rare(n: int = 400) -> Ratings:
    """Return ratings of three items by everybody, and of fifty by the first user alone."""
    user = np.concatenate([np.repeat(np.arange(n), 3), np.zeros(50, np.int64)])
    item = np.concatenate([np.tile([0, 1, 2], n), np.arange(3, 53)])
    people = [f"{PERSON}-{entry:04}" for entry in range(n)]
    things = [f"{entry:02}" for entry in range(53)]
    value = np.full(len(user), 4.0)
    return of_arrays(people, things, user, item, value, scale=(1, 5), public=False)


def test_an_item_of_one_user_is_hardly_ever_listed() -> None:
    data = with_rare()
    for seed in range(30):
        listed, cost = threshold_catalogue(data, 2.0, 1e-3, items=4, rng=seed)
        assert listed.items == ("00", "01", "02")
        assert listed.public
        assert len(listed) >= 3 * (data.n - 1)
    assert (cost.kind, cost.epsilon, cost.delta, cost.unit) == ("dp", 2.0, 1e-3, "user")
    assert protect(listed, "dppopularity(epsilon=1)").model is not None


def test_ratings_stay_with_their_items() -> None:
    data = town(400, 6, 0.7, public=False)
    rare = data.take((data.item != 2) | (data.user < 3))
    listed, _ = threshold_catalogue(rare, 5.0, 1e-3, items=6, rng=1)
    assert listed.items == tuple(entry for entry in data.items if entry != "item-002")
    retained = rare.take(rare.item != 2)
    assert [listed.items[entry] for entry in listed.item] == [
        data.items[entry] for entry in retained.item
    ]
    assert np.array_equal(listed.value, retained.value)


def test_where_nothing_can_be_listed_nothing_is() -> None:
    with pytest.raises(InputError, match="enough users"):
        threshold_catalogue(town(5, public=False), 0.01)
    with pytest.raises(ParameterError, match="below 1/n"):
        threshold_catalogue(town(), 1.0, 0.5)
    with pytest.raises(ParameterError, match="epsilon"):
        threshold_catalogue(town(), 0.0)
