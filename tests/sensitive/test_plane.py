"""Strategies on the risk-utility plane."""

import subprocess
import sys

import pytest
from tests.sensitive.attacks.rooms import MISSED, SENSITIVE, letters, told

from veil import sensitive
from veil.core.errors import ParameterError
from veil.measures.quipu import quipu

COLLECTION = letters()
P = told(COLLECTION)
SPECS = ["relevance()", "postfilter(threshold=0.5)", "demoted(beta=1)"]


def test_rows_are_what_attack_and_evaluate_say() -> None:
    actual = sensitive.plane(COLLECTION, SPECS, P, "known-item(terms=5)")
    assert [row.spec for row in actual] == [str(sensitive.MECHANISMS.parse(s)) for s in SPECS]
    topics = {query: COLLECTION.topic(query) for query in COLLECTION.queries}
    for row, spec in zip(actual, SPECS, strict=True):
        assert row.risk == sensitive.attack(COLLECTION, spec, P, "known-item(terms=5)").risk
        run = sensitive.rank(COLLECTION, spec, P).run(list(COLLECTION.queries))
        scores = sensitive.evaluate(
            run, COLLECTION.judgements, COLLECTION.labels, ["nDCG-visible@10"]
        )
        assert row.utility == scores.summary("nDCG-visible@10", topics).value
        assert row.utility.n <= len(set(topics.values()))  # over topics, not queries
    assert (actual[0].risk, actual[1].risk) == (1.0, MISSED / SENSITIVE)


def test_the_score_runs_from_the_lowest_risk_to_the_highest() -> None:
    actual = sensitive.plane(COLLECTION, SPECS, P)
    order = sorted(actual, key=lambda row: (row.risk, row.utility))
    score = quipu([row.risk for row in order], [row.utility for row in order])
    assert actual.quipu == pytest.approx(score)
    again = sensitive.plane(COLLECTION, SPECS[::-1], P)
    assert again.quipu == pytest.approx(actual.quipu)
    assert len(actual) == len(SPECS)


def test_a_plane_needs_strategies() -> None:
    with pytest.raises(ParameterError, match="list of mechanisms"):
        sensitive.plane(COLLECTION, [], P)
    with pytest.raises(ParameterError, match="list of mechanisms"):
        sensitive.plane(COLLECTION, "relevance()", P)


def test_tables_of_names_are_there_without_an_import() -> None:
    say = "from veil import sensitive as s; print(s.attackers.ATTACKERS.names()[0],"
    say += " s.classifiers.CLASSIFIERS.names()[0], s.strategies.STRATEGIES.names()[0])"
    told = subprocess.run([sys.executable, "-c", say], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["count", "boosting", "demoted"]
