"""Every released profile occurs at least k times, and is the mean of its group."""

from collections import Counter

import numpy as np
import pytest
from tests.ratings.people import town

from veil.core.errors import ParameterError
from veil.core.rng import generator
from veil.ratings import Ratings, of_arrays, protect
from veil.ratings.mechanisms.profiles import KProfiles
from veil.ratings.mechanisms.values import Compressed, round_randomly


def profiles(data: Ratings) -> list[tuple[tuple[int, float], ...]]:
    """Return the rows of each user."""
    rows = [data.rows(user) for user in range(data.n)]
    return [
        tuple(zip(data.item[entry].tolist(), data.value[entry].tolist(), strict=True))
        for entry in rows
    ]


@pytest.mark.parametrize(("n", "m", "k"), [(40, 12, 2), (41, 12, 5), (150, 90, 7), (9, 3, 9)])
def test_every_profile_occurs_k_times(n: int, m: int, k: int) -> None:
    release = protect(town(n, m, 0.4), f"kprofiles(k={k})")
    assert release.data is not None
    counts = Counter(profiles(release.data))
    assert min(counts.values()) >= k
    assert (release.cost.kind, release.cost.k, release.cost.unit) == ("k-anonymity", k, "user")
    assert "not differentially private" in release.cost.caveat


def test_a_profile_is_the_mean_over_members_who_rated() -> None:
    data = town(60, 10, 0.5)
    output = KProfiles(k=4, factors=3).apply(data, generator(0)).data
    actual = profiles(output)
    for profile in set(actual):
        members = [user for user in range(data.n) if actual[user] == profile]
        values: dict[int, list[float]] = {}
        for user in members:
            for item, value in profiles(data)[user]:
                values.setdefault(item, []).append(value)
        assert dict(profile) == pytest.approx(
            {item: np.mean(entry) for item, entry in values.items()}
        )


def test_people_of_one_taste_stay_together() -> None:
    n, m = 40, 10
    side = np.arange(n) % 2
    value = np.where((np.arange(m) < 5) == side[:, None], 5.0, 1.0)
    user, item = np.divmod(np.arange(n * m), m)
    people = [f"{entry:02}" for entry in range(n)]
    data = of_arrays(people, list("abcdefghij"), user, item, value.ravel(), scale=(1, 5))
    output = KProfiles(k=10).apply(data, generator(0)).data
    assert np.array_equal(output.value, data.value), "no group has both tastes"


def test_fewer_users_than_k_are_refused() -> None:
    with pytest.raises(ParameterError, match="'k' parameter of kprofiles"):
        protect(town(5), "kprofiles(k=6)")
    with pytest.raises(ParameterError, match="'k' parameter of kprofiles"):
        KProfiles(k=1)


def test_sparse_and_dense_decompositions_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = town(150, 90, 0.3)
    sparse = KProfiles(k=5, factors=8).apply(data, generator(0)).data
    monkeypatch.setattr("veil.ratings.mechanisms.profiles.SMALL", 1000)
    dense = KProfiles(k=5, factors=8).apply(data, generator(0)).data
    assert np.array_equal(sparse.item, dense.item)
    assert sparse.value == pytest.approx(dense.value)


def test_compressed_keeps_the_top_and_the_mean() -> None:
    data = town(200, 12, 0.8)
    output = Compressed(bits=1, top=3).apply(data, generator(1)).data
    assert output.per_user.max() == 3
    assert set(output.value.tolist()) <= {1.0, 5.0}
    samples = round_randomly(np.full(20_000, 0.3), 1.0, 2, generator(3))
    assert set(np.round(samples * 3).tolist()) == {0.0, 1.0}
    assert samples.mean() == pytest.approx(0.3, abs=0.01)
    assert Compressed().guarantee.kind == "none"
    assert "do not hide information" in Compressed().guarantee.caveat


def test_compressed_vectors_keep_the_largest() -> None:
    vector = np.array([0.0, -3.0, 0.1, 2.0])
    retained = Compressed(bits=16, top=2).compress(vector, generator(1))
    assert retained == pytest.approx(np.array([0.0, -3.0, 0.0, 2.0]), abs=1e-3)
    assert not Compressed().compress(np.zeros(3), generator(1)).any()
