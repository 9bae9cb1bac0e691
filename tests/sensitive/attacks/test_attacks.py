"""What each attacker finds in an engine that leaks, and what it does not find in ours."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.sensitive.attacks.rooms import MISSED, SENSITIVE, Leaky, letters, told

from veil import sensitive
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.sensitive.attack import Scene as AttackScene
from veil.sensitive.attack import decoys, score, strongest, targets
from veil.sensitive.attacks.frequency import withheld
from veil.sensitive.attacks.known_item import has_gap
from veil.sensitive.candidates import matcher
from veil.sensitive.mechanism import Answer, Mechanism, Scene

COLLECTION = letters()
P = told(COLLECTION)
MISS = MISSED / SENSITIVE
GUESSERS = ("gap", "count", "frequency")


def probe(strategy: str | Mechanism, k: int = 10) -> AttackScene:
    """Open a strategy for an attacker."""
    selection = sensitive.MECHANISMS.parse(strategy) if isinstance(strategy, str) else strategy
    return AttackScene(COLLECTION, selection.open(Scene(COLLECTION, P)), k)


def flags(*values: int) -> NDArray[np.bool_]:
    return np.array(values, dtype=np.bool_)


def test_risk_is_what_is_seen_and_what_is_rightly_concluded_beyond_chance() -> None:
    actual = score(flags(1, 0, 0, 0), flags(1, 1, 1, 0), flags(1, 0, 0, 0))
    assert (actual.details["exposed"], actual.details["false_alarms"]) == (0.25, 0.25)
    assert actual.details["inferred"] == pytest.approx(2 / 3)  # of those that are not seen
    assert actual.risk == pytest.approx(0.25 + 0.75 * (2 / 3 - 0.25))
    assert actual.risk.low <= actual.risk <= actual.risk.high
    assert actual.risk.n == 4


@pytest.mark.parametrize(
    ("seen", "claims", "alarms", "risk"),
    [
        ((1, 1), (0, 0), (1, 1), 1.0),  # all is seen: nothing is left to infer
        ((0, 0), (1, 1), (1, 1), 0.0),  # who always concludes knows nothing
        ((0, 0), (1, 1), (0, 0), 1.0),
        ((0, 0), (0, 0), (1, 1), 0.0),  # worse than chance is no merit of the engine
    ],
)
def test_risk_at_its_ends(
    seen: tuple[int, ...], claims: tuple[int, ...], alarms: tuple[int, ...], risk: float
) -> None:
    assert score(flags(*seen), flags(*claims), flags(*alarms)).risk == risk


def test_a_document_is_known_by_its_strongest_words() -> None:
    registered = strongest(COLLECTION)
    index = matcher(COLLECTION).index
    for place in range(len(COLLECTION.documents)):
        words = COLLECTION.documents.texts[place].split()
        weight = {
            word: (1 + np.log(words.count(word)))
            * np.log(1 + index.size / index.frequencies[index.ids(word)[0]])
            for word in words
        }
        assert registered.words(place, 5) == tuple(
            sorted(weight, key=lambda w: (-weight[w], w))[:5]
        )


def test_decoys_are_as_many_and_as_long_and_of_documents_that_may_be_seen() -> None:
    queries = probe("relevance()")
    real, fake = targets(queries, 5), decoys(queries, 5)
    assert [len(set(words)) for words in fake] == [len(words) for words in real]
    assert len(fake) == SENSITIVE
    visible = {
        word
        for place in np.flatnonzero(COLLECTION.sensitive == 0)
        for word in strongest(COLLECTION).words(int(place), 5)
    }
    assert {word for words in fake for word in words} <= visible
    assert fake == decoys(probe("postfilter(threshold=0.5)"), 5)  # comparable between strategies


def test_known_items_are_what_the_classifier_missed() -> None:
    for spec in ("prefilter(threshold=0.5)", "postfilter(threshold=0.5)"):
        actual = sensitive.attack(COLLECTION, spec, P, "known-item(terms=5)", k=10)
        assert (actual.details["exposed"], actual.risk) == (MISS, MISS)
    assert sensitive.attack(COLLECTION, "relevance()", None, "known-item").risk == 1.0


def test_queries_expose_what_their_lists_show() -> None:
    shown = sensitive.rank(COLLECTION, "relevance()", None, k=10)
    observed = {name for row in range(len(shown.index)) for name in shown.list(row)}
    hot = {name for name, label in COLLECTION.labels.items() if label}
    actual = sensitive.attack(COLLECTION, "relevance()", None, "queries", k=10)
    assert 0 < actual.details["exposed"] < 1
    assert actual.details["exposed"] == pytest.approx(len(observed & hot) / len(hot))


def test_gap_finds_lists_that_were_cut_before_withholding() -> None:
    cut = sensitive.attack(COLLECTION, "postfilter(threshold=0.5, refill=false)", P, "gap", k=3)
    assert cut.details["inferred"] > cut.details["false_alarms"] + 0.2
    assert cut.risk > MISS + 0.1
    refilled = sensitive.attack(COLLECTION, "postfilter(threshold=0.5)", P, "gap", k=3)
    assert (refilled.details["inferred"], refilled.risk) == (0.0, MISS)


def test_a_page_as_long_as_the_depth_has_gaps_even_if_refilled() -> None:
    deep = "postfilter(threshold=0.5, depth=10)"
    assert sensitive.attack(COLLECTION, deep, P, "gap", k=10).details["inferred"] > 0.5
    assert "ends before its total" in sensitive.MECHANISMS.parse(deep).guarantee.caveat


@pytest.mark.parametrize(
    ("ranks", "total", "gap"),
    [
        ((1, 2, 3), 3, False),
        ((1, 2), 2, False),
        ((1, 3), 2, True),
        ((1, 2), 3, True),
        ((), 1, True),
    ],
)
def test_a_gap_is_a_short_list_or_a_hole(ranks: tuple[int, ...], total: int, gap: bool) -> None:
    answer = Answer(np.arange(len(ranks)), 1 / np.array(ranks, dtype=float), total)
    assert has_gap(answer, 3) is gap


def test_scores_are_no_ranks_with_holes() -> None:
    assert not has_gap(Answer(np.arange(2), np.array([3.7, 1.2]), 2), 3)


def test_count_finds_totals_from_before_withholding() -> None:
    actual = sensitive.attack(COLLECTION, Leaky(scores=False), P, "count")
    assert actual.details["inferred"] == 1.0
    assert actual.risk > 0.8
    honest = sensitive.attack(COLLECTION, Leaky(scores=False, total=False), P, "count")
    assert (honest.details["inferred"], honest.risk) == (0.0, MISS)


def test_frequency_finds_scores_from_before_withholding() -> None:
    actual = sensitive.attack(COLLECTION, Leaky(total=False), P, "frequency")
    assert actual.details["inferred"] > 0.7
    assert actual.risk > 0.6
    hidden = sensitive.attack(COLLECTION, Leaky(total=False, scores=False), P, "frequency")
    assert (hidden.details["inferred"], hidden.risk) == (0.0, MISS)


def test_frequency_computes_how_many_documents_of_a_word_are_withheld() -> None:
    queries = probe(Leaky(total=False))
    index = matcher(COLLECTION).index
    words = {word for told in targets(queries, 5) + decoys(queries, 5) for word in told}
    told = withheld(queries, {word: queries.page(word) for word in words})
    assert len(told) > 40
    for word, count in told.items():
        term = index.ids(word)[0]
        places = index.docs[index.indptr[term] : index.indptr[term + 1]]
        assert count == (P[places] >= 0.5).sum()


@pytest.mark.parametrize("by", GUESSERS)
@pytest.mark.parametrize(
    "strategy",
    ["relevance()", "prefilter(threshold=0.5)", "postfilter(threshold=0.5)", "demoted(beta=1)"],
)
def test_nothing_can_be_concluded_from_what_our_strategies_show(strategy: str, by: str) -> None:
    actual = sensitive.attack(COLLECTION, strategy, P, by)
    assert (actual.details["inferred"], actual.details["false_alarms"]) == (0.0, 0.0)


def test_decoys_of_another_seed_are_others_and_figures_repeat() -> None:
    spec = "postfilter(threshold=0.5, refill=false)"
    first, again = (sensitive.attack(COLLECTION, spec, P, "gap", k=3) for _ in range(2))
    assert (first.risk, first.risk.low) == (again.risk, again.risk.low)
    assert first.details["false_alarms"] == again.details["false_alarms"]
    alarms = {
        float(sensitive.attack(COLLECTION, spec, P, "gap", 3, s).details["false_alarms"])
        for s in range(6)
    }
    assert len(alarms) > 1


def test_bad_input_is_told_in_a_sentence() -> None:
    with pytest.raises(UnknownNameError, match="known-item"):
        sensitive.attack(COLLECTION, "relevance()", None, "known-items")
    with pytest.raises(ParameterError, match="terms"):
        sensitive.attack(COLLECTION, "relevance()", None, "gap(terms=0)")
    with pytest.raises(ParameterError, match="'k'"):
        sensitive.attack(COLLECTION, "relevance()", None, "gap", k=0)
    with pytest.raises(ParameterError, match="probability"):
        sensitive.attack(COLLECTION, "postfilter(threshold=0.5)", None)
    with pytest.raises(InputError, match="one probability for each"):
        sensitive.attack(COLLECTION, "postfilter(threshold=0.5)", P[1:])
    with pytest.raises(InputError, match="from 0 to 1"):
        sensitive.attack(COLLECTION, "postfilter(threshold=0.5)", P + 1)


def test_an_attack_needs_documents_of_both_kinds_and_queries() -> None:
    harmless = replace(COLLECTION, sensitive=np.zeros_like(COLLECTION.sensitive))
    with pytest.raises(InputError, match="at least one sensitive document"):
        sensitive.attack(harmless, "relevance()", None)
    hot = replace(COLLECTION, sensitive=np.ones_like(COLLECTION.sensitive))
    with pytest.raises(InputError, match="decoys"):
        sensitive.attack(hot, "relevance()", None, "gap")
    with pytest.raises(InputError, match="needs queries"):
        sensitive.attack(replace(COLLECTION, queries={}), "relevance()", None, "queries")
