"""What ratings tell of who rated: naive Bayes with everybody left out once, and its baseline."""

from pathlib import Path

import numpy as np
import pytest
from tests.ratings.taste import TASTES, people

from veil import ratings
from veil.core.errors import InputError, ParameterError
from veil.ratings.attacks.attribute import area, posteriors

DATA = people(60, 30, 8)
TASTE = [str(user % TASTES) for user in range(DATA.n)]


def test_posteriors_are_those_of_leaving_each_out() -> None:
    labels = np.array([user % 3 - (user % 7 == 0) for user in range(DATA.n)])
    hidden = int(DATA.per_item.argmax())
    actual = posteriors(DATA, labels, hidden)
    rated = np.zeros((DATA.n, DATA.m))
    rated[DATA.user, DATA.item] = 1
    rated = np.delete(rated, hidden, axis=1)
    for user in (0, 1, 5, 14, 59):
        for label in range(3):
            others = (labels == label) & (np.arange(DATA.n) != user)
            theta = (rated[others].sum(axis=0) + 1) / (others.sum() + 2)
            x = rated[user]
            want = np.log(others.sum()) + np.log(theta**x * (1 - theta) ** (1 - x)).sum()
            assert actual[user, label] == pytest.approx(want)


def test_taste_is_guessed_from_items_and_not_from_chance() -> None:
    columns = {"taste": TASTE}
    actual = ratings.attack(DATA, DATA, "attribute(column='taste')", people=columns)
    assert actual.success > 0.8
    assert actual.baseline == pytest.approx(1 / TASTES)
    assert actual.risk > 0.7
    rng = np.random.default_rng(0)
    coins = [{"coin": rng.choice(["a", "b"], DATA.n).tolist()} for _ in range(40)]
    output = [
        ratings.attack(DATA, DATA, "attribute(column=coin)", people=entry) for entry in coins
    ]
    assert abs(np.mean([float(entry.success) for entry in output]) - 0.5) < 0.06
    assert output[0].details["values"] == 2


def test_an_item_is_guessed_without_being_seen() -> None:
    actual = ratings.attack(DATA, DATA, "attribute(item=0)")
    rated = np.bincount(DATA.user[DATA.item == 0], minlength=DATA.n)
    assert actual.baseline == pytest.approx(max(rated.mean(), 1 - rated.mean()))
    assert 0.5 < actual.details["auc"] < 1  # 1 if the item itself were looked at
    assert area(np.array([1.0, 1.0]), np.array([1.0, 0.0])) == 0.75


def test_released_profiles_are_looked_at_and_missing_values_left_out() -> None:
    columns = {"taste": [None if n < 20 else t for n, t in enumerate(TASTE)]}
    release = ratings.protect(DATA, "pseudonyms", rng=1)
    actual = ratings.attack(release, DATA, "attribute(column=taste)", people=columns)
    unprotected = ratings.attack(DATA, DATA, "attribute(column=taste)", people=columns)
    assert len(actual.per_record) == 40
    assert float(actual.success) == float(unprotected.success)
    assert actual.subjects is not None
    assert actual.subjects.min() == 20


def test_a_table_of_users_is_read(tmp_path: Path) -> None:
    rows = [f"{user};{taste}" for user, taste in zip(DATA.users, TASTE, strict=True)]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(["userID;taste", *rows[:50], f"{DATA.users[50]};?", "stranger;1"]))
    actual = ratings.attack(DATA, DATA, "attribute(column=taste)", people=table)
    assert len(actual.per_record) == 50
    table.write_text("name,taste\na,1\n")
    with pytest.raises(InputError, match="column of users"):
        ratings.attack(DATA, DATA, "attribute(column=taste)", people=table)
    table.write_text("user,taste\nstranger,1\n")
    with pytest.raises(InputError, match="none of the users"):
        ratings.attack(DATA, DATA, "attribute(column=taste)", people=table)


def test_bad_questions_are_refused() -> None:
    for spec in ("attribute", "attribute(column=a, item=3)"):
        with pytest.raises(ParameterError, match="either 'column'"):
            ratings.attack(DATA, DATA, spec)
    with pytest.raises(InputError, match="no column 'a'"):
        ratings.attack(DATA, DATA, "attribute(column=a)")
    with pytest.raises(InputError, match="must be a rated item"):
        ratings.attack(DATA, DATA, "attribute(item=stranger)")
    with pytest.raises(InputError, match="two values"):
        ratings.attack(DATA, DATA, "attribute(column=a)", people={"a": ["x"] * DATA.n})
    with pytest.raises(InputError, match="only a model"):
        ratings.attack("popularity", DATA, "attribute(item=0)", rng=0)
