"""The door of attacks: targets of all kinds, whose a profile is, and what is never shown."""

from dataclasses import replace

import numpy as np
import pytest
from tests.ratings.taste import people

from veil import ratings
from veil.core.errors import InputError, UnknownNameError
from veil.measures.risk import risk
from veil.ratings.attack import format_attack, unprotected_release
from veil.ratings.release import link_profiles

DATA = people()


def test_a_release_and_its_spec_are_attacked_alike() -> None:
    release = ratings.protect(DATA, "pseudonyms", rng=1)
    whole = ratings.attack(release, DATA, "scoreboard(known=4)", rng=2)
    unprotected = ratings.attack(DATA, DATA, "scoreboard(known=4)", rng=2)
    spec = ratings.attack("pseudonyms", DATA, "scoreboard(known=4)", rng=2)
    assert whole.per_record.tolist() == unprotected.per_record.tolist()
    assert abs(float(spec.success) - float(unprotected.success)) < 0.2
    by_id = ratings.attack(
        replace(unprotected_release(DATA), rows=None), DATA, "scoreboard(known=4)", rng=2
    )
    assert by_id.per_record.tolist() == unprotected.per_record.tolist()


def test_success_baseline_risk_and_ranks_belong_together() -> None:
    actual = ratings.attack(DATA, DATA, "scoreboard(known=3)", rng=2)
    assert float(actual.success) == pytest.approx(actual.per_record.mean())
    assert actual.success.low <= float(actual.success) <= actual.success.high
    assert actual.baseline is not None
    above = (float(actual.success) - actual.baseline) / (1 - actual.baseline)
    assert float(actual.risk) == pytest.approx(above)
    assert risk(actual.ranks, "lazy", ties=actual.ties) == actual.success
    assert risk(actual, "lazy") == actual.success
    assert actual.unit == "user"
    again = ratings.attack(DATA, DATA, "scoreboard(known=3)", rng=2)
    assert np.array_equal(actual.ranks, again.ranks)


def test_a_profile_is_linked_by_the_whole_of_it() -> None:
    release = ratings.protect(DATA, "krr(epsilon=2)", rng=1)
    assert release.data is not None
    assert release.rows is not None
    actual = link_profiles(release.data, DATA)
    assert np.mean(np.array(actual) == np.array(release.rows)) > 0.95
    assert sorted(actual) == list(range(DATA.n))
    few = link_profiles(release.data, DATA.of_users(np.arange(10)))
    assert sorted(few)[-11:] == [-1, *range(10)]
    groups = ratings.protect(DATA, "kprofiles(k=5, factors=4)", rng=1)
    assert groups.data is not None
    guessed = replace(groups, rows=link_profiles(groups.data, DATA))
    by_file, by_rows = (
        ratings.attack(entry, DATA, "scoreboard(known=6)", rng=3) for entry in (guessed, groups)
    )
    assert abs(float(by_file.success) - float(by_rows.success)) < 0.1


def test_nobody_is_named() -> None:
    actual = ratings.attack(DATA, DATA, "scoreboard(known=3)", rng=2)
    text = (
        "\n".join(format_attack(actual, "scoreboard"))
        + repr(unprotected_release(DATA))
        + repr(DATA)
    )
    assert "user-" not in text
    assert "baseline" in text
    assert f"{float(actual.success):.4f}" in text


def test_bad_targets_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="mechanism"):
        ratings.attack("nosuch(k=3)", DATA, "scoreboard", rng=0)
    with pytest.raises(UnknownNameError, match="attack"):
        ratings.attack(DATA, DATA, "nosuch", rng=0)
    with pytest.raises(InputError, match="only a model"):
        ratings.attack("popularity", DATA, "scoreboard(known=3)", rng=0)
    release = ratings.protect(DATA, "pseudonyms", rng=1)
    with pytest.raises(InputError, match="behind the released profiles are unknown"):
        ratings.attack(replace(release, rows=None), DATA, "scoreboard(known=3)", rng=0)
    with pytest.raises(InputError, match="at least one"):
        ratings.attack(DATA, DATA.take(np.zeros(len(DATA), dtype=bool)), "scoreboard", rng=0)
