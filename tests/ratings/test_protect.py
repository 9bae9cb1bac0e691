"""The one door: what it refuses, what it never lets out, and what it says."""

import numpy as np
import pytest
from tests.ratings.people import PERSON, town

from veil.core.errors import InputError, ParameterError, UnknownNameError, VeilError
from veil.ratings import MECHANISMS, Ratings, protect
from veil.ratings.recommenders.baselines import Popularity
from veil.ratings.release import Release

ROWS = (
    "pseudonyms()",
    "kprofiles(k=3)",
    "krr(epsilon=1)",
    "dlaplace(epsilon=1)",
    "bits(epsilon=2)",
    "compressed(bits=2, top=4)",
)
MODELS = ("dppopularity(epsilon=1)", "dpcovariance(epsilon=1)", "dpals(epsilon=1)")


def released(release: Release) -> Ratings:
    assert release.data is not None
    return release.data


@pytest.mark.parametrize("spec", ROWS)
def test_released_users_have_fresh_ids_in_their_own_order(spec: str) -> None:
    data = town()
    first, second = protect(data, spec), protect(data, spec)
    ids = released(first).users
    assert len(set(ids)) == data.n
    assert all(len(entry) == 32 and set(entry) <= set("0123456789abcdef") for entry in ids)
    assert list(ids) == sorted(ids)
    assert not set(ids) & {*data.users, *released(second).users}
    assert first.rows is not None
    assert sorted(first.rows) == list(range(data.n))
    assert first.rows != second.rows, "users stand where they stood before"
    assert first.rows != tuple(range(data.n))
    assert PERSON not in repr((first, first.notes, first.mechanism, first.cost, vars(first)))
    assert not first.seeded


@pytest.mark.parametrize("spec", ROWS)
def test_a_seed_repeats_a_release_and_is_told(spec: str) -> None:
    data = town()
    first, second, other = (protect(data, spec, rng=seed) for seed in (3, 3, 4))
    assert released(first).users == released(second).users != released(other).users
    assert np.array_equal(released(first).value, released(second).value)
    assert first.seeded
    assert "used a seed" in first.notes[-1]


def test_rows_say_who_was_who() -> None:
    data = town()
    release = protect(data, "pseudonyms()")
    assert release.rows is not None
    for position, original in enumerate(release.rows):
        mine, yours = released(release).rows(position), data.rows(original)
        assert np.array_equal(released(release).item[mine], data.item[yours])
        assert np.array_equal(released(release).value[mine], data.value[yours])


@pytest.mark.parametrize("spec", MODELS)
def test_private_models_are_released_with_what_they_cost(spec: str) -> None:
    release = protect(town(), spec, rng=1)
    assert (release.data, release.rows) == (None, None)
    assert release.model is not None
    assert release.model.seeded
    assert release.seeded
    assert release.cost == release.model.guarantee
    assert (release.cost.kind, release.cost.unit, release.cost.epsilon) == ("dp", "user", 1.0)
    assert "assumed to be public" in release.cost.caveat


@pytest.mark.parametrize(
    "spec", [*MODELS, "krr(epsilon=1)", "dlaplace(epsilon=1)", "bits(epsilon=1)"]
)
def test_a_scale_that_was_read_off_the_data_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match="declared scale"):
        protect(town(declared=False), spec)


@pytest.mark.parametrize("spec", [*MODELS, "bits(epsilon=1)"])
def test_a_catalogue_of_items_that_somebody_rated_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match="public catalogue"):
        protect(town(public=False), spec)
    assert any(
        "not declared whether" in note for note in protect(town(public=None), spec, rng=0).notes
    )
    assert not any("not declared whether" in note for note in protect(town(), spec, rng=0).notes)


def test_what_protects_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="no privacy guarantee"):
        protect(town(), Popularity())
    with pytest.raises(UnknownNameError):
        protect(town(), "popularity")
    with pytest.raises(ParameterError, match="at most the 40 users"):
        protect(town(), "kprofiles(k=41)")
    with pytest.raises(InputError, match=r"ratings\.load"):
        protect("ratings.csv", "krr(epsilon=1)")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="one of MECHANISMS"):
        protect(town(), 3)  # type: ignore[arg-type]


class Broken(np.random.Generator):
    """A generator that must not be used."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def __getattribute__(self, name: str) -> object:
        if name in ("integers", "random", "permutation", "standard_normal"):
            raise AssertionError("something was drawn before it was refused")
        return super().__getattribute__(name)


@pytest.mark.parametrize("spec", [*MODELS, "krr(epsilon=1)", "bits(epsilon=1)"])
def test_refusals_come_before_draws(spec: str) -> None:
    with pytest.raises(InputError):
        protect(town(declared=False), spec, rng=Broken())
    with pytest.raises(AssertionError, match="drawn"):
        protect(town(), spec, rng=Broken())


@pytest.mark.parametrize("name", [name for name in MECHANISMS.names() if name != "federated"])
def test_no_message_has_an_id(name: str) -> None:
    data = town(declared=False, public=False)
    try:
        text = str(protect(data, {"kprofiles": "kprofiles(k=2)"}.get(name, f"{name}(epsilon=1)")))
    except VeilError as error:
        text = str(error)
    assert PERSON not in text
