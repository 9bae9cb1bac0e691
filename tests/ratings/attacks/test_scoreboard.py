"""Linkage by a few items: the published score, ties, claims, and what the attacker is not told."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from tests.ratings.people import golden, needs_golden, real
from tests.ratings.taste import people

from veil import ratings
from veil.core.errors import InputError, ParameterError
from veil.ratings import Ratings, of_arrays
from veil.ratings.attack import Scene, unprotected_release
from veil.ratings.attacks.linkage import (
    Scoreboard,
    draw_knowledge,
    eccentricity,
    hashed_knowledge,
    released_ratings,
)


def scene_of(data: Ratings, rng: Generator) -> Scene:
    return Scene(unprotected_release(data), data, rng, 4.0)


def test_scores_are_the_published_ones() -> None:
    data = people(30, 12, 6)
    rng = np.random.default_rng(1)
    when = rng.uniform(0, 9e6, len(data))
    scene = scene_of(replace(data, time=when), rng)
    observed = released_ratings(scene, "scoreboard")
    board = Scoreboard(rho=1.2).ready(observed, scene)
    items, values = np.array([3, 7, -1]), np.array([4.0, 2.0, 5.0])
    times = np.array([1e6, np.nan, 0.0])
    actual = board(items, values, times)
    for user in range(data.n):
        total = 0.0
        for row in range(*data.rows(user).indices(len(data))):
            for item, value, time in zip(items, values, times, strict=True):
                if data.item[row] == item:
                    near = np.exp(-abs(value - data.value[row]) / 1.2)
                    if np.isfinite(time):
                        near += np.exp(-abs(time - when[row]) / (30 * 86400))
                    total += near / np.log(max(data.per_item[item], 2))
        assert actual[user] == pytest.approx(total, rel=1e-12)


def test_equal_profiles_share_the_success() -> None:
    rng = np.random.default_rng(0)
    entry = np.sort(rng.choice(20, 5, replace=False))
    other = np.sort(rng.choice(20, 5, replace=False))
    item = np.concatenate([entry, entry, entry, other])
    value = np.concatenate([np.full(15, 4.0), np.full(5, 1.0)])
    names = [str(n) for n in range(20)]
    data = of_arrays(list("abcd"), names, np.repeat(np.arange(4), 5), item, value, scale=(1, 5))
    actual = ratings.attack(data, data, "scoreboard(known=5)", rng=0)
    assert actual.per_record.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert actual.ties is not None
    assert actual.ties.tolist() == [3, 3, 3, 1]
    assert actual.baseline == 1 / 4
    assert float(actual.risk) == pytest.approx((0.5 - 0.25) / 0.75)


def test_nothing_of_the_truth_but_what_is_known_is_used() -> None:
    data = people()
    whole = ratings.attack(data, data, "scoreboard(known=3, knowledge='hash')")
    text = hashed_knowledge(data, 3, 300)
    keys = set(zip(np.repeat(text.users, 3).tolist(), text.items.ravel().tolist(), strict=True))
    rows = [pair in keys for pair in zip(data.user.tolist(), data.item.tolist(), strict=True)]
    less = ratings.attack(data, data.take(np.array(rows)), "scoreboard(known=3, knowledge='hash')")
    assert whole.ranks is not None
    assert less.ranks is not None
    assert np.array_equal(whole.ranks, less.ranks)
    assert whole.baseline is not None
    assert whole.success > 5 * whole.baseline


def test_knowledge_is_drawn_as_declared() -> None:
    data = people(200, 60, 12)
    text = draw_knowledge(data, 6, 2, 150, 14.0, np.random.default_rng(3))
    assert len(text.users) == len(set(text.users.tolist())) == 150
    off = []
    for user, items, values in zip(text.users, text.items, text.values, strict=True):
        own = dict(zip(data.item[data.rows(user)], data.value[data.rows(user)], strict=True))
        assert [item in own for item in items] == [True] * 4 + [False] * 2
        assert len(set(items.tolist())) == 6
        off += [value - own[item] for item, value in zip(items[:4], values[:4], strict=True)]
        assert ((values >= 1) & (values <= 5)).all()
    inner = np.unique(off, return_counts=True)
    assert inner[0].tolist() == [-1, 0, 1]
    assert inner[1].min() > 0.2 * len(off)


def test_an_attacker_who_knows_more_finds_more_and_wrong_items_hurt() -> None:
    data = people(300, 80, 12)
    actual = {
        spec: float(ratings.attack(data, data, spec, rng=5).success)
        for spec in ("scoreboard(known=1)", "scoreboard(known=6)", "scoreboard(known=6, wrong=4)")
    }
    assert actual["scoreboard(known=6)"] > 0.8
    assert actual["scoreboard(known=1)"] < 0.5
    assert actual["scoreboard(known=6, wrong=4)"] < actual["scoreboard(known=6)"]


def test_who_is_not_in_the_release_is_not_found() -> None:
    data = people()
    release = replace(
        unprotected_release(data.of_users(np.arange(0, 120, 2))), rows=tuple(range(0, 120, 2))
    )
    actual = ratings.attack(release, data, "scoreboard(known=8)", rng=1)
    assert actual.ranks is not None
    assert actual.subjects is not None
    out = actual.subjects % 2 == 1
    assert (actual.ranks[out] == 61).all()
    assert (actual.per_record[out] == 0).all()
    assert actual.per_record[~out].mean() > 0.7


def test_claims_are_made_where_one_stands_out() -> None:
    assert eccentricity(np.array([1.0, 1.0, 0.0])) == 0
    assert eccentricity(np.full(4, 2.0)) == 0
    assert eccentricity(np.array([0.0, 1.0, 3.0])) == pytest.approx(2 / np.std([0, 1, 3]))
    assert eccentricity(np.array([-np.inf, 1.0])) == np.inf
    data = people()
    actual = ratings.attack(data, data, "scoreboard(known=8)", rng=1)
    shy = ratings.attack(data, data, "scoreboard(known=8, phi=50)", rng=1)
    assert 0 < actual.details["claims right"] <= actual.details["claims"] <= 120
    assert shy.details["claims"] == 0


def test_bad_knowledge_is_refused() -> None:
    data = people(20, 30, 5)
    with pytest.raises(ParameterError, match="At least one known item must be right"):
        ratings.attack(data, data, "scoreboard(known=2, wrong=2)")
    with pytest.raises(ParameterError, match="no wrong item"):
        ratings.attack(data, data, "scoreboard(known=2, wrong=1, knowledge='hash')")
    for how in ("random", "hash"):
        with pytest.raises(InputError, match="No user has 9 ratings"):
            ratings.attack(data, data, f"scoreboard(known=9, knowledge='{how}')")


@needs_golden
def test_golden_values() -> None:
    want = golden("sets")["goodbooks/salt=0"]["scoreboard"]
    train, _ = real("goodbooks", 1, 5)
    actual = ratings.attack(train, train, "scoreboard(known=4, knowledge='hash')")
    assert actual.ranks is not None
    assert len(actual.ranks) == want["targets"]
    assert float(actual.success) == pytest.approx(want["first"], abs=1e-6)
    assert float(np.mean(1 / actual.ranks)) == pytest.approx(want["mrr"], abs=1e-6)
    assert float(np.mean(actual.ranks <= 10)) == want["rank_le_10"]
    assert actual.details["claims"] == want["claimed"]
    assert actual.details["claims right"] == want["claimed_right"]


@needs_golden
def test_likes_with_noise_are_found_as_often_as_by_the_prototype() -> None:
    want = golden("plane_goodbooks")["scoreboard_known8_wrong2"]["bits"]["6"]
    train, _ = real("goodbooks", 1, 5)
    actual = ratings.attack(
        ratings.protect(train, "bits(epsilon=6)", rng=4),
        train,
        "scoreboard(known=8, wrong=2, targets=1000)",
        rng=4,
    )
    assert float(actual.success) == pytest.approx(want, abs=0.04)
