"""Sparse vectors: exact laws of all versions, what is proved of the right ones, and what not."""

from fractions import Fraction
from itertools import product
from typing import get_args

import numpy as np
import pytest
from scipy import stats
from tests.dp.golden import golden, needs_golden

from veil import dp
from veil.core.errors import InputError, LawError, ParameterError
from veil.core.types import Ids
from veil.dp.mechanisms.above_threshold import BELOW, ENDED, AboveThreshold, Version
from veil.dp.release import outcomes

VERSIONS: tuple[Version, ...] = get_args(Version)
PLAIN = tuple(version for version in VERSIONS if version != "roth")
RIGHT: tuple[Version, ...] = ("lyu", "dwork-roth")


def made(version: Version, **given: float) -> AboveThreshold:
    return AboveThreshold.load({"epsilon": 1.0, "threshold": 0, "version": version, **given})


def patterns(mechanism: AboveThreshold, n: int) -> Ids:
    return outcomes(mechanism, np.zeros(n, dtype=np.int64))


@needs_golden
def test_laws_are_the_golden_ones() -> None:
    keys = ("epsilon", "sensitivity", "threshold", "cutoff", "version")
    for case in golden("above_threshold"):
        mechanism = AboveThreshold(**{key: case[key] for key in keys})
        for side in ("one", "other"):
            found = dp.law(mechanism, case[side], case["pattern"])
            np.testing.assert_allclose(found, [case[f"p_{side}"]], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("version", PLAIN)
@pytest.mark.parametrize("cutoff", [1, 2, 5])
def test_draws_follow_the_law(version: Version, cutoff: int) -> None:
    mechanism = made(version, cutoff=cutoff, threshold=3, sensitivity=2)
    queries, told = [4, 1, 5, 3], patterns(mechanism, 4)
    law = dp.law(mechanism, queries, told)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    drawn = dp.release(queries, mechanism, size=20_000, rng=cutoff).value
    assert drawn.dtype == np.int8
    codes = {tuple(each): number for number, each in enumerate(told.tolist())}
    observed = np.bincount([codes[tuple(row)] for row in drawn.tolist()], minlength=len(told))
    there = law > 0
    assert not observed[~there].any()
    assert stats.chisquare(observed[there], law[there] * len(drawn)).pvalue > 1e-3


def test_draws_of_roth_follow_the_law() -> None:
    mechanism = made("roth", cutoff=2, epsilon=2.0)
    queries, far = [0, 1], 40
    values = [BELOW, *range(-far, far + 1)]
    told = np.array(list(product(values, repeat=2)))
    law = dp.law(mechanism, queries, told)
    assert law.sum() == pytest.approx(1, abs=1e-6)
    drawn = dp.release(queries, mechanism, size=20_000, rng=1).value
    assert drawn.dtype == np.int64
    frequent = law > 2e-3
    observed = [int((drawn == row).all(axis=1).sum()) for row in told[frequent]]
    rest = len(drawn) - sum(observed)
    expected = law[frequent] * len(drawn)
    assert (
        stats.chisquare([*observed, rest], [*expected, len(drawn) - expected.sum()]).pvalue > 1e-3
    )
    once = dp.release([50] * 3, made("roth"), rng=1).value
    assert once[0] > ENDED
    assert once[1:].tolist() == [ENDED, ENDED]
    assert dp.release([-50], made("roth"), rng=1).value.tolist() == [BELOW]
    assert dp.law(made("roth"), [0, 0], [[3, 4], [BELOW, ENDED], [ENDED, 3]]).tolist() == [0, 0, 0]


@pytest.mark.parametrize("version", RIGHT)
@pytest.mark.parametrize(("cutoff", "monotone"), [(1, False), (2, False), (1, True), (3, True)])
def test_no_neighbour_exceeds_what_is_proved(
    version: Version, cutoff: int, monotone: bool
) -> None:
    mechanism = made(version, cutoff=cutoff, monotone=monotone)
    told, worst = patterns(mechanism, 4), 0.0
    steps = (0, 1) if monotone else (-1, 0, 1)
    for queries in ([0, 0, 0, 0], [-3, 2, 0, 5]):
        law = np.log(dp.law(mechanism, queries, told))
        for moved in product(steps, repeat=4):
            other = np.log(dp.law(mechanism, np.add(queries, moved), told))
            worst = max(worst, float(np.abs(law - other).max()))
    assert 0.15 < worst <= 1 + 1e-9


@pytest.mark.parametrize("cutoff", [1, 2, 3])
def test_the_true_epsilon_of_lee_and_clifton(cutoff: int) -> None:
    mechanism = made("lee-clifton", cutoff=cutoff)
    said = mechanism.guarantee
    assert said.epsilon == (1 + 6 * cutoff) / 4
    told = [[0] * 9 + [1] * cutoff]
    one, other = [0] * (9 + cutoff), [1] * 9 + [-1] * cutoff
    loss = float(np.log(dp.law(mechanism, one, told) / dp.law(mechanism, other, told))[0])
    assert mechanism.published < 0.98 * said.epsilon < loss <= said.epsilon


@pytest.mark.parametrize(("m", "loss"), [(5, 4.61), (20, 19.5)])
def test_the_loss_of_chen_grows_without_bound(m: int, loss: float) -> None:
    told = [0] * m + [1] * m
    one, other = (dp.law(made("chen"), q, told) for q in ([0] * 2 * m, [1] * m + [-1] * m))
    assert float(np.log(one / other)[0]) == pytest.approx(loss, abs=0.05)


def test_what_is_said_of_each_version() -> None:
    kinds = {version: made(version).guarantee.kind for version in VERSIONS}
    assert {version for version, kind in kinds.items() if kind == "none"} == {
        "roth", "stoddard", "chen",
    }  # fmt: skip
    for version in VERSIONS:
        assert made(version, epsilon=0.5).published == 0.5
        assert ("wrong" in made(version).guarantee.caveat) == (version not in RIGHT)
    assert made("lyu").guarantee.epsilon == 1
    assert "monotone" in made("lyu", monotone=True).guarantee.caveat
    assert made("lyu", monotone=True, cutoff=3).scales == (Fraction(2), Fraction(6))
    assert made("dwork-roth", cutoff=3).scales == (Fraction(6), Fraction(12))


def test_it_ends_after_the_cutoff_or_never() -> None:
    queries = [1000] * 6
    assert dp.release(queries, made("lyu", cutoff=2), rng=1).value.tolist() == [
        1,
        1,
        -1,
        -1,
        -1,
        -1,
    ]
    assert dp.release(queries, made("dwork-roth", cutoff=9), rng=1).value.tolist() == [1] * 6
    for version in ("chen", "stoddard"):
        assert dp.release(queries, f"above_threshold(epsilon=1, threshold=0, version={version})",
                          rng=1).value.tolist() == [1] * 6  # fmt: skip


def test_answers_below_cost_nothing_more() -> None:
    drawn = dp.release([-(10**6)] * 100_000, made("lyu"), rng=1)
    assert not drawn.value.any()
    assert drawn.cost.epsilon == 1


def test_large_queries_are_exact() -> None:
    top = 2**61
    mechanism = made("lyu", threshold=top - 1)
    drawn = dp.release([top, -top], mechanism, size=20_000, rng=1).value
    law = dp.law(made("lyu", threshold=-1), [0], [[1]])[0]
    assert float(np.mean(drawn[:, 0] == 1)) == pytest.approx(float(law), abs=0.02)
    with pytest.raises(LawError, match="too many terms to sum"):
        dp.law(mechanism, [top, -top], [0, 0])


@pytest.mark.parametrize("x", [[], 3, [[1, 2]], [0.5], [True], [float("nan")], [2**62]])
def test_queries_that_are_none_are_refused(x: object) -> None:
    with pytest.raises(InputError, match="above_threshold takes"):
        dp.release(x, made("lyu"))


@pytest.mark.parametrize("outputs", [[0], [[0, 0, 0]], [0.0, 1.0], [["a", "b"]]])
def test_patterns_of_another_shape_are_refused(outputs: object) -> None:
    with pytest.raises(InputError, match="one integer per query"):
        dp.law(made("lyu"), [1, 2], outputs)


def test_patterns_that_cannot_be_have_no_chance() -> None:
    impossible = [[1, 0], [-1, -1], [0, -1], [1, 1], [7, 0], [0, 2]]
    assert dp.law(made("lyu"), [1, 2], impossible).tolist() == [0] * 6
    assert dp.law(made("chen"), [1, 2], [[1, -1], [7, 0]]).tolist() == [0, 0]


@pytest.mark.parametrize(
    "given",
    ["epsilon=0, threshold=0", "epsilon=1, threshold=0.5", "epsilon=1, threshold=0, cutoff=0",
     "epsilon=1, threshold=0, sensitivity=0", "epsilon=1, threshold=0, version=best",
     "epsilon=1, threshold=99999999999999999999"],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(given: str) -> None:
    with pytest.raises(ParameterError, match="parameter of above_threshold must"):
        dp.mechanism(f"above_threshold({given})")
