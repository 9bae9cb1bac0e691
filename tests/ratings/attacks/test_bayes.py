"""Linkage by who knows the mechanism: its likelihood, and that it is never the weaker one."""

from itertools import product
from math import comb

import numpy as np
import pytest
from tests.ratings.taste import people

from veil import ratings
from veil.core.errors import InputError, LawError
from veil.ratings.attack import Scene
from veil.ratings.attacks.bayes import Bayes, law_of, level_frequencies, value_likelihood
from veil.ratings.attacks.linkage import released_ratings

SPECS = ("pseudonyms", "krr(epsilon=1)", "dlaplace(epsilon=2)", "bits(epsilon=4)")


@pytest.mark.parametrize("spec", SPECS)
def test_it_is_never_weaker_than_who_does_not_know_the_mechanism(spec: str) -> None:
    data = people(300, 80, 12)
    release = ratings.protect(data, spec, rng=2)
    for knowledge in ("(known=4)", "(known=6, wrong=2)"):
        weak, strong = (
            ratings.attack(release, data, by + knowledge, rng=7) for by in ("scoreboard", "bayes")
        )
        assert float(strong.success) >= float(weak.success) - 0.01
    if spec in SPECS[:3]:
        assert strong.success > weak.success + 0.05


def test_the_likelihood_is_that_of_enumeration() -> None:
    data = people(12, 9, 4)
    release = ratings.protect(data, "krr(epsilon=1)", rng=0)
    scene = Scene(release, data, np.random.default_rng(0), 4.0)
    observed = released_ratings(scene, "bayes")
    law = law_of(observed.mechanism, data)
    prior = level_frequencies(law.chances, np.asarray(observed.data.value - 1, dtype=np.int64))
    scores = Bayes(known=3, wrong=1).ready(observed, scene)
    items, values = np.array([0, 4, 5]), np.array([5.0, 3.0, 4.0])
    actual = scores(items, values, np.full(3, np.nan))
    for user in range(data.n):
        rows = observed.data.rows(user)
        own = dict(zip(observed.data.item[rows].tolist(), observed.data.value[rows], strict=True))
        shared = [i for i in range(3) if items[i] in own]
        if len(shared) != 2:
            assert actual[user] == -np.inf
            continue
        chance = 0.0
        for true in product(range(5), repeat=2):
            entry = 1.0
            for level, i in zip(true, shared, strict=True):
                got = int(own[int(items[i])]) - 1
                total = float(prior @ law.chances[:, got])
                entry *= prior[level] * law.chances[level, got] / total
                entry *= value_likelihood(values[i], law.levels)[level]
            chance += entry
        ways = comb(len(own), 2) * comb(data.m - len(own), 1)
        assert actual[user] == pytest.approx(np.log(chance / ways), rel=1e-9)


def test_what_is_said_is_off_by_one_and_clipped() -> None:
    levels = law_of("pseudonyms", people(4, 8, 3)).levels
    assert value_likelihood(3.0, levels).tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert value_likelihood(5.0, levels).tolist() == pytest.approx([0, 0, 0, 1 / 3, 2 / 3])


def test_frequencies_are_found_behind_noise() -> None:
    rng = np.random.default_rng(0)
    law = law_of("krr(epsilon=1.5)", people(4, 8, 3)).chances
    true = rng.choice(5, 40_000, p=[0.05, 0.1, 0.2, 0.3, 0.35])
    observed = (rng.random(40_000)[:, None] > law[true].cumsum(axis=1)).sum(axis=1)
    assert level_frequencies(law, observed) == pytest.approx([0.05, 0.1, 0.2, 0.3, 0.35], abs=0.03)


def test_a_mechanism_without_a_law_is_refused() -> None:
    data = people(40, 30, 6)
    with pytest.raises(LawError, match="kprofiles"):
        ratings.attack("kprofiles(k=4, factors=3)", data, "bayes(known=3)", rng=0)
    between = ratings.of_arrays(
        data.users, data.items, data.user, data.item, data.value * 0.99, scale=(0, 5)
    )
    with pytest.raises(InputError, match="levels of the scale"):
        ratings.attack(between, between, "bayes(known=3)", rng=0)
