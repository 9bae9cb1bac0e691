"""Attackers of a mechanism that sends groups, against counting by hand."""

import numpy as np
import pytest

from veil.core.errors import ParameterError
from veil.measures.risk import successes
from veil.testing.text import Grouped, GroupTable
from veil.text.attack import Outcome, Scene, attack
from veil.text.attacks.bayes import Bayes
from veil.text.log import LogGroups, QueryLog

TEXTS = [f"query number {i}" for i in range(400)]
LOG = QueryLog.of(TEXTS)
TABLE = GroupTable()
ADDRESSES = TABLE.address(TEXTS)


def released(texts: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return what is sent, in another order for each text."""
    rng = np.random.default_rng(4)
    rows = [list(TABLE.group(int(address))) for address in TABLE.address(texts)]
    return tuple(tuple(rng.permutation(row).tolist()) for row in rows)


def attacked(attacker: Bayes, texts: list[str], log: QueryLog = LOG) -> Outcome:
    return attacker.run(Scene(released(texts), tuple(texts), log, Grouped()))


def test_queries_of_the_group_share_the_first_place() -> None:
    outcome = attacked(Bayes(), TEXTS[:30])
    equals = np.bincount(ADDRESSES)[ADDRESSES[:30]]
    assert outcome.ranks.tolist() == [1] * 30
    assert outcome.ties is not None
    assert outcome.ties.tolist() == equals.tolist()
    assert (outcome.candidates == len(TEXTS)).all()
    lazy, active = (
        successes(outcome.ranks, who, candidates=outcome.candidates, ties=outcome.ties)
        for who in ("lazy", "active")
    )
    np.testing.assert_allclose(lazy, 1 / equals)
    np.testing.assert_allclose(active, np.minimum(10, equals) / equals)


def test_the_posterior_is_even_within_the_group_and_nothing_outside() -> None:
    weighed = LogGroups.of(LOG, TABLE)
    for i, row in enumerate(released(TEXTS[:5])):
        posterior = np.exp(weighed.scores(row))
        assert set(posterior.tolist()) == {0.0, 1.0}
        assert (posterior > 0).tolist() == (ADDRESSES[i] == ADDRESSES).tolist()


def test_what_is_asked_more_often_comes_first_within_the_group() -> None:
    same = [text for text, a in zip(TEXTS, ADDRESSES, strict=True) if a == ADDRESSES[0]][:3]
    often = TEXTS[1]
    assert ADDRESSES[1] != ADDRESSES[0]
    log = QueryLog.of([*same, same[2], same[1], same[2], *[often] * 9])
    outcome = attacked(Bayes(prior="frequency"), same, log)
    assert outcome.ranks.tolist() == [3, 2, 1]
    assert outcome.prior is not None
    assert outcome.prior.tolist() == [4, 3, 2]


def test_a_part_of_a_group_tells_as_much_and_a_strange_release_nothing() -> None:
    part = tuple(text.upper() for text in TABLE.group(int(ADDRESSES[0]))[:2])
    scene = Scene((part, ("strange", *part), ()), (TEXTS[0],) * 3, LOG, Grouped())
    outcome = Bayes().run(scene)
    assert outcome.ties is not None
    assert outcome.ties.tolist() == [np.count_nonzero(ADDRESSES[0] == ADDRESSES), 400, 400]


def test_no_word_vectors_are_asked_for() -> None:
    texts = TEXTS[:3]
    result = attack(released(texts), texts, TEXTS, "bayes", mechanism=Grouped())
    assert result.ranks.tolist() == [1, 1, 1]
    with pytest.raises(ParameterError, match="needs the mechanism"):
        attack(released(texts), texts, TEXTS, "bayes")
    with pytest.raises(ParameterError, match="needs the word vectors"):
        attack(released(texts), texts, TEXTS, "bayes", mechanism="cmp(epsilon=5)")
