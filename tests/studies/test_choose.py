"""The best configuration under a bound on the risk."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import InputError, UnknownNameError
from veil.core.estimate import bootstrap
from veil.measures.bounds import upper_bound
from veil.measures.risk import ATTACKERS
from veil.studies.choose import Choice, UncertifiedError, cautions, choose, pareto
from veil.studies.results import Row, Score

NAN = math.nan
MANY = 1000  # queries: the bounds are near what was measured


def risk(value: float, score: float, attacker: str = "inference", n: int = MANY) -> Row:
    return Row(
        "icd", "", "cmp", f"cmp(epsilon={value})", "epsilon", value, 50,
        "risk", "active", attacker, score, score, score, n, 0.001,
    )  # fmt: skip


def recovery(value: float, score: float, size: int = 50, n: int = MANY) -> Row:
    row = risk(value, score, "reconstruct", n)
    return replace(row, kind="recovery", measure="queries", size=size)


def utility(value: float, score: float, margin: float = 0.01) -> Row:
    return Row(
        "icd", "bm25", "cmp", f"cmp(epsilon={value})", "epsilon", value, 50,
        "utility", "nDCG@10", "", score, score - margin, score + margin, 43,
    )  # fmt: skip


ROWS = [
    risk(1.0, 0.0), utility(1.0, 0.20),
    risk(5.0, 0.02), utility(5.0, 0.50),  # at most 0.031
    risk(10.0, 0.045), utility(10.0, 0.60),  # at most 0.060
    risk(50.0, 0.90), utility(50.0, 0.65),
]  # fmt: skip


def best(choice: Choice) -> str:
    return choice.best.spec


def by(measure: str, rows: list[Row]) -> list[Row]:
    return [replace(row, measure=measure) if row.kind == "risk" else row for row in rows]


def test_the_bound_decides_and_not_the_mean() -> None:
    cautious = choose(ROWS, max_risk=0.05, attacker="active")
    assert best(cautious) == "cmp(epsilon=5.0)"
    assert cautious.refused == 2
    assert cautious.certified
    assert not cautious.ties
    assert not cautious.overlapping
    assert "risk 0.020 by inference, at most 0.031 with 97.5 % confidence (n = 1000)." in str(
        cautious
    )
    daring = choose(ROWS, max_risk=0.05, attacker="active", cautious=False)
    assert best(daring) == "cmp(epsilon=10.0)"
    assert not daring.certified
    assert str(daring).startswith("Not certified: cmp(epsilon=10.0)")


def test_a_few_queries_certify_nothing() -> None:
    assert bootstrap([0.0, 0.0, 0.0]).high == 0
    rows = [utility(1.0, 0.2), risk(1.0, 0.0, n=3)]
    for bound in (0.0, 0.05, 0.7):
        with pytest.raises(UncertifiedError) as caught:
            choose(rows, max_risk=bound, attacker="active")
        assert not caught.value.choice.certified
        assert best(caught.value.choice) == "cmp(epsilon=1.0)"
    assert choose(rows, max_risk=0.71, attacker="active").certified


@pytest.mark.parametrize("n", [10, 20, 40, 72, 100, 150, 200])
@pytest.mark.parametrize("attacker", ["active", "motivated"])
def test_a_risk_above_the_bound_is_hardly_ever_certified(
    n: int, attacker: str, rng: Generator
) -> None:
    hits, wrong = rng.binomial(n, 0.10, size=2000), 0
    for count, times in zip(*np.unique(hits, return_counts=True), strict=True):
        rows = by(attacker, [utility(1.0, 0.2), risk(1.0, count / n, n=n)])
        try:
            wrong += int(times) * choose(rows, max_risk=0.05, attacker=attacker).certified
        except InputError:
            continue
    assert wrong <= 0.025 * 2000


def test_too_small_a_study_says_how_many_queries_it_takes() -> None:
    rows = [replace(row, n=43) for row in ROWS]
    with pytest.raises(UncertifiedError, match=r"too small: it has 43 .* at least 72") as caught:
        choose(rows, max_risk=0.05, attacker="active")
    choice = caught.value.choice
    assert best(choice) == "cmp(epsilon=10.0)"
    assert choice.refused == 1
    with pytest.raises(UncertifiedError, match=r"has 43 .* at least 72"):
        choose(by("persistent", rows[:2]), max_risk=0.01, attacker="persistent")
    with pytest.raises(InputError, match="No configuration keeps.*would need at least 72 queries"):
        choose(rows[-2:], max_risk=0.05, attacker="active")


def test_a_large_study_says_how_many_queries_its_risk_takes() -> None:
    rows = [risk(10.0, 0.04), utility(10.0, 0.6)]
    with pytest.raises(
        UncertifiedError, match=r"about 3,\d\d\d queries are needed, and there are 1,000"
    ):
        choose(rows, max_risk=0.05, attacker="active")
    for bound, score in ((0.0, 0.0), (0.05, 0.05)):
        with pytest.raises(UncertifiedError, match="no number of queries"):
            choose([risk(1.0, score), rows[1], utility(1.0, 0.1)], max_risk=bound,
                   attacker="active")  # fmt: skip


@pytest.mark.parametrize("cautious", [True, False])
def test_the_worst_of_all_attacks_counts(cautious: bool) -> None:
    bayes = [risk(5.0, 0.3, "bayes"), risk(10.0, 0.5, "bayes")]
    for rows in (ROWS + bayes, bayes + ROWS):
        choice = choose(rows, max_risk=0.05, attacker="active", cautious=cautious)
        assert best(choice) == "cmp(epsilon=1.0)"
    at_most = choose(ROWS + bayes, max_risk=0.4, attacker="active").best
    assert at_most.risk.attacker == "bayes"
    assert set(at_most.attacks) == {"inference", "bayes"}


def test_an_attack_on_few_queries_leaves_the_risk_open() -> None:
    few = risk(5.0, 0.0, "bayes", n=10)
    assert best(choose([*ROWS, few], max_risk=0.05, attacker="active")) == "cmp(epsilon=1.0)"
    open_to = choose([*ROWS[:4], few], max_risk=0.4, attacker="active").best
    assert (open_to.risk.score, open_to.n) == (0.02, 10)
    assert open_to.upper == pytest.approx(0.308, abs=0.001)


def test_numbers_that_are_no_counts_have_the_wider_bound() -> None:
    wide = {
        attacker: choose(by(attacker, ROWS[2:4]), max_risk=0.1, attacker=attacker).best.upper
        for attacker in ATTACKERS
    }
    assert wide["lazy"] == wide["active"] < wide["motivated"]
    assert wide["persistent"] == pytest.approx(0.2 * upper_bound(0.1, MANY))
    restored = by("motivated", [*ROWS[:2], recovery(1.0, 0.02)])
    assert choose(restored, max_risk=0.1, attacker="motivated").best.upper == wide["lazy"]


@pytest.mark.parametrize("attacker", ["lazy", "active", "motivated"])
def test_a_restored_query_counts_as_guessed_at_once(attacker: str) -> None:
    rows = by(attacker, [*ROWS[:4], recovery(5.0, 1.0)])
    choice = choose(rows, max_risk=0.05, attacker=attacker)
    assert best(choice) == "cmp(epsilon=1.0)"
    open_to = choose(rows, max_risk=1.0, attacker=attacker).best
    assert (open_to.risk.attacker, open_to.risk.score, open_to.upper) == ("reconstruct", 1.0, 1.0)


def test_a_restored_query_counts_what_a_first_guess_counts() -> None:
    rows = by("persistent", [*ROWS[:4], recovery(5.0, 0.5)])
    assert best(choose(rows, max_risk=0.05, attacker="persistent")) == "cmp(epsilon=1.0)"
    open_to = choose(rows, max_risk=0.15, attacker="persistent").best
    assert open_to.risk.score == pytest.approx(0.1)
    assert 0.1 < open_to.upper < 0.11


def test_other_numbers_of_variants_and_words_do_not_count_as_restored() -> None:
    more = [recovery(5.0, 1.0, size=20), replace(recovery(5.0, 1.0), measure="words")]
    choice = choose([*ROWS, *more], max_risk=0.05, attacker="active")
    assert best(choice) == "cmp(epsilon=5.0)"


def test_restored_queries_alone_are_a_lazy_attack_and_no_other() -> None:
    rows = [recovery(5.0, 0.0), utility(5.0, 0.5)]
    assert best(choose(rows, max_risk=0.05, attacker="lazy")) == "cmp(epsilon=5.0)"
    with pytest.raises(InputError, match="measure 'active'"):
        choose(rows, max_risk=0.05, attacker="active")


@pytest.mark.parametrize(
    "spec", ["linkage", "linkage(encoder=minilm)", "session", "shortlist(n=5)"]
)
def test_linkage_is_another_question(spec: str) -> None:
    asked = [risk(5.0, 1.0, spec), replace(recovery(5.0, 1.0), attacker=spec)]
    choice = choose([*ROWS, *asked], max_risk=0.05, attacker="active")
    assert best(choice) == "cmp(epsilon=5.0)"
    assert choice.best.attacks == ("inference",)
    assert not choose([*ROWS, risk(1.0, 1.0, spec)], max_risk=0.05, attacker="active").best.warning


def test_attackers_that_others_faced_are_named() -> None:
    rows = [*ROWS, risk(1.0, 0.0, "bayes"), recovery(1.0, 0.0)]
    spared = choose(rows, max_risk=0.05, attacker="active").best
    assert spared.unfaced == ("bayes", "reconstruct")
    assert (
        "Attacks that were tried on others were not tried on cmp(epsilon=5.0): bayes, reconstruct"
        in spared.warning
    )
    faced = choose(rows[:2] + rows[-2:], max_risk=0.05, attacker="active").best
    assert (faced.unfaced, faced.warning) == ((), "")


def test_the_bound_itself_is_allowed() -> None:
    exact = choose(ROWS, max_risk=0.05, attacker="active").best.upper
    assert best(choose(ROWS, max_risk=exact, attacker="active")) == "cmp(epsilon=5.0)"
    below = math.nextafter(exact, 0)
    assert best(choose(ROWS, max_risk=below, attacker="active")) == "cmp(epsilon=1.0)"
    daring = choose(ROWS, max_risk=0.02, attacker="active", cautious=False)
    assert best(daring) == "cmp(epsilon=5.0)"


def test_only_the_named_measure_counts() -> None:
    lazy = [replace(row, measure="lazy", score=0.0) for row in ROWS if row.attacker]
    assert best(choose(ROWS + lazy, max_risk=0.05, attacker="lazy")) == "cmp(epsilon=50.0)"
    assert best(choose(ROWS + lazy, max_risk=0.05, attacker="active")) == "cmp(epsilon=5.0)"
    with pytest.raises(InputError, match="measure 'persistent'"):
        choose(ROWS, max_risk=0.05, attacker="persistent")
    with pytest.raises(UnknownNameError, match="Known"):
        choose(ROWS, max_risk=0.05, attacker="busy")


def test_ties_and_overlaps_are_told() -> None:
    rows = [
        risk(1.0, 0.02), utility(1.0, 0.5, 0.05),
        risk(2.0, 0.01), utility(2.0, 0.5, 0.05),
        risk(3.0, 0.01), utility(3.0, 0.42, 0.04),
        risk(4.0, 0.01), utility(4.0, 0.30, 0.04),
    ]  # fmt: skip
    choice = choose(rows, max_risk=0.05, attacker="active")
    assert best(choice) == "cmp(epsilon=2.0)"  # the lower risk of two equal utilities
    assert [one.spec for one in choice.ties] == ["cmp(epsilon=1.0)"]
    assert [one.spec for one in choice.overlapping] == ["cmp(epsilon=3.0)"]
    assert str(choice).endswith(
        " The same utility: cmp(epsilon=1.0)."
        " Lower, with intervals that overlap: cmp(epsilon=3.0)."
    )
    for value in range(10, 17):
        rows += [risk(value, 0.01), utility(value, 0.45, 0.04)]
    assert str(choose(rows, max_risk=0.05, attacker="active")).endswith("and 3 more.")


def test_nothing_fits_names_the_nearest() -> None:
    with pytest.raises(
        InputError, match=r"No configuration keeps.* 0\.01: the nearest is cmp\(epsilon=5"
    ):
        choose(ROWS[2:], max_risk=0.01, attacker="active")


@pytest.mark.parametrize("bound", [-0.1, 1.1, NAN])
def test_a_bound_is_a_share(bound: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        choose(ROWS, max_risk=bound, attacker="active")


@pytest.mark.parametrize("bound", [0.2, 0.5, 1.0])
def test_a_bound_that_accepts_everything_is_refused(bound: float) -> None:
    with pytest.raises(InputError, match=r"never above 0\.2.*Use a bound below 0\.2"):
        choose(by("persistent", ROWS), max_risk=bound, attacker="persistent")
    assert choose(ROWS, max_risk=1.0, attacker="active").refused == 0


@pytest.mark.parametrize("score", [NAN, math.inf, -0.1, 1.2])
@pytest.mark.parametrize("cautious", [True, False])
def test_an_unknown_risk_keeps_no_bound(score: float, cautious: bool) -> None:
    rows = [*ROWS[:2], risk(9.0, score), utility(9.0, 0.9), risk(8.0, 0.0, n=0), utility(8.0, 0.9)]
    choice = choose(rows, max_risk=0.05, attacker="active", cautious=cautious)
    assert (best(choice), choice.refused) == ("cmp(epsilon=1.0)", 2)
    beside = [*ROWS[:4], risk(5.0, score, "bayes")]
    choice = choose(beside, max_risk=0.05, attacker="active", cautious=cautious)
    assert best(choice) == "cmp(epsilon=1.0)"
    with pytest.raises(InputError, match="no risk is known"):
        choose(rows[2:], max_risk=0.05, attacker="active", cautious=cautious)


def test_an_unknown_utility_is_never_advised() -> None:
    assert best(choose([*ROWS, risk(9.0, 0.0), utility(9.0, NAN)], max_risk=0.05,
                       attacker="active")) == "cmp(epsilon=5.0)"  # fmt: skip


def test_an_empty_table_is_told() -> None:
    with pytest.raises(InputError, match="is empty"):
        choose([], max_risk=0.05, attacker="active")


def test_plain_search_is_never_advised() -> None:
    plain = [replace(row, mechanism="plain", spec="plain") for row in ROWS[:2]]
    with pytest.raises(InputError, match="No configuration"):
        choose(plain, max_risk=1.0, attacker="active")


def test_collections_do_not_mix() -> None:
    other = [replace(row, data="robust", score=0.3) for row in ROWS]
    with pytest.raises(InputError, match="several values of collection. Choose one: icd, robust"):
        choose(ROWS + other, max_risk=0.5, attacker="active")
    choice = choose(ROWS + other, max_risk=0.05, attacker="active", data="icd")
    assert best(choice) == "cmp(epsilon=5.0)"


def test_engines_do_not_mix() -> None:
    other = [replace(row, task="dense") for row in ROWS if row.kind == "utility"]
    with pytest.raises(InputError, match="several values of engine. Choose one: bm25, dense"):
        choose(ROWS + other, max_risk=0.5, attacker="active")
    choice = choose(ROWS + other, max_risk=0.05, attacker="active", task="dense")
    assert choice.best.utility.task == "dense"


def test_unknown_collections_and_engines_are_told() -> None:
    with pytest.raises(InputError, match="no such collection. Available: icd"):
        choose(ROWS, max_risk=0.05, attacker="active", data="robust")
    with pytest.raises(InputError, match="no such engine. Available: bm25"):
        choose(ROWS, max_risk=0.05, attacker="active", task="dense")
    nowhere = [replace(row, task="") for row in ROWS]
    assert choose(nowhere, max_risk=0.05, attacker="active", task="").certified


def test_the_frontier_is_what_nothing_beats(rng: Generator) -> None:
    for _ in range(50):
        points = [(float(x), float(y)) for x, y in rng.integers(0, 6, size=(12, 2)) / 5]
        wanted = {
            i
            for i, (r, u) in enumerate(points)
            if not any(r2 <= r and u2 >= u and (r2, u2) != (r, u) for r2, u2 in points)
        }
        found = pareto(points)
        assert set(found) == wanted
        assert len(found) == len(wanted)
        assert (np.diff([points[i][0] for i in found]) >= 0).all()


def test_the_frontier_leaves_out_what_is_not_known() -> None:
    assert pareto([(NAN, 1.0), (0.5, 0.5), (0.2, NAN)]) == (1,)
    assert pareto([]) == ()


def test_what_draws_nothing_must_have_faced_who_runs_it_again() -> None:
    rows = [replace(row, mechanism="fea", spec="fea(window=8)") for row in ROWS[:2]]
    alone = choose(rows, max_risk=0.05, attacker="active").best
    assert alone.foes == ("rerun",)
    assert "Attacks that know how fea(window=8) works were not tried on it: rerun" in alone.warning
    rerun = replace(rows[0], attacker="rerun(best=80)")
    faced = choose([*rows, rerun], max_risk=0.05, attacker="active").best
    assert (faced.foes, faced.warning) == ((), "")
    other = choose([*rows, replace(rerun, score=0.6)], max_risk=0.7, attacker="active").best
    assert other.risk.attacker == "rerun(best=80)"


def test_a_bound_that_the_attack_gives_counts_instead_of_that_of_a_mean() -> None:
    wide = [replace(row, upper=0.08) if row.spec == "cmp(epsilon=5.0)" and row.kind == "risk"
            else row for row in ROWS]  # fmt: skip
    assert best(choose(wide, max_risk=0.05, attacker="active")) == "cmp(epsilon=1.0)"
    assert best(choose(wide, max_risk=0.08, attacker="active")) == "cmp(epsilon=10.0)"
    only = [row for row in wide if row.spec == "cmp(epsilon=5.0)"]
    with pytest.raises(UncertifiedError, match=r"with 1,000 queries its risk may be up to 0\.080"):
        choose(only, max_risk=0.05, attacker="active")


@pytest.mark.parametrize("upper", [NAN, math.inf])
def test_a_bound_that_is_no_number_keeps_nothing(upper: float) -> None:
    rows = [replace(row, upper=upper) if row.kind == "risk" else row for row in ROWS]
    with pytest.raises(InputError, match="no risk is known"):
        choose(rows, max_risk=0.9, attacker="active")


def cover(value: float, score: float) -> list[Row]:
    spec = f"cover(cell={value})"
    return [replace(row, mechanism="cover", spec=spec, parameter="cell")
            for row in (risk(value, 0.0), utility(value, score))]  # fmt: skip


def test_a_study_warns_of_what_its_figures_lack() -> None:
    (none,) = cautions([utility(1.0, 0.2)], ())
    assert none.startswith("No attack was tried")
    assert not list(cautions(ROWS, ()))
    rows = [*ROWS, *cover(5.0, 0.66), *cover(25.0, 0.69)]
    (spared,) = cautions(rows, ())
    assert "were not tried on cover: bayes" in spared
    faced = [replace(row, attacker="bayes") if row.attacker else row for row in rows]
    assert not list(cautions(faced, ()))
    score = Score("icd", "bm25", "bayes", "active", "cover", "cover", "cover", "cell", 50, 0.007,
                  0, 0.1, 43, 2)  # fmt: skip
    (flat,) = cautions(faced, (score,))
    assert "QuIPU score of cover" in flat
    assert "close together" in flat
    assert not list(cautions(faced, (replace(score, mechanism="cmp", curve="cmp"),)))
