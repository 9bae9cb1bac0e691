"""Attackers that know cover, with a table that was built, against counting."""

from pathlib import Path

import numpy as np
import pytest
from tests.cover.conftest import Bag
from tests.cover.conftest import bag as bag
from tests.cover.conftest import texts as texts

import veil
from veil.cover import Table, build, exact_risk
from veil.measures.risk import successes
from veil.text.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks import ATTACKS
from veil.text.log import LogGroups, QueryLog
from veil.text.mechanisms.queries.cover import Cover


@pytest.fixture
def half(texts: list[str]) -> Table:
    """A universe of every second text, so that the others are looked up at their nearest."""
    return build(texts[::2], tracks=4, cell=2)


@pytest.fixture
def scene(half: Table, texts: list[str], tmp_path: Path) -> Scene:
    half.save(tmp_path / "half")
    cover = Cover(table=str(tmp_path / "half"))
    originals = tuple(texts[1::5])
    return Scene(veil.protect(originals, cover).rows, originals, QueryLog.of(texts), cover)


def attacked(spec: str, scene: Scene) -> Outcome:
    attacker = ATTACKS.parse(spec)
    if isinstance(attacker, EncoderAttack):
        return attacker.rank(scene, Bag())
    return attacker.run(scene)


def test_a_log_is_looked_up_as_the_table_does(half: Table, texts: list[str]) -> None:
    groups = LogGroups.of(QueryLog.of(texts), half)
    result = half.locate(texts)
    assert groups.addresses.tolist() == [one.address for one in result]
    assert groups.tracks is not None
    assert groups.tracks.tolist() == [one.track for one in result]


def test_the_risk_of_all_queries_is_the_exact_one(
    half: Table, texts: list[str], scene: Scene
) -> None:
    every = tuple(texts)
    assert scene.mechanism is not None
    rows = veil.protect(every, scene.mechanism, None).rows
    outcome = attacked("bayes", Scene(rows, every, scene.log, scene.mechanism))
    addresses = half.address(texts)
    for guesses in (1, 3, 10):
        won = successes(outcome.ranks, "active", k=guesses, ties=outcome.ties)
        assert won.mean() == pytest.approx(exact_risk(addresses, guesses))


def test_tracks_are_guessed_no_better_than_they_stand_in_the_group(
    half: Table, texts: list[str], scene: Scene
) -> None:
    outcome = attacked("topic(labels=tracks)", scene)
    result = half.locate(texts)
    at = np.array([(one.address, one.track) for one in result])
    for i, text in enumerate(scene.originals):
        address, track = at[texts.index(text)]
        shares = np.bincount(at[at[:, 0] == address, 1], minlength=4)
        assert outcome.ranks[i] == 1 + np.count_nonzero(shares > shares[track])
    assert set(outcome.candidates.tolist()) == {4}


@pytest.mark.parametrize("spec", ["session(length=3)", "shortlist", "rerun"])
def test_the_truth_is_never_ruled_out(spec: str, scene: Scene) -> None:
    outcome = attacked(spec, scene)
    assert outcome.ties is not None
    assert (outcome.ranks + outcome.ties - 1 < len(scene.originals)).all()
    assert outcome.ranks.mean() < attacked("inference", scene).ranks.mean()
