"""Traces: what a user spends, what is repeated, what is refused."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veil import places
from veil.core.errors import BudgetError, InputError, ParameterError
from veil.core.types import Floats


def walk(users: int, fixes: int, step: float = 0.0, seconds: float = 30.0) -> places.Points:
    """Return traces of users who walk east, rows shuffled as files have them."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(users), fixes)
    number = np.tile(np.arange(fixes), users)
    xy = np.column_stack([number * step, 1e5 * who])
    order = rng.permutation(len(xy))
    return places.Points(
        xy[order],
        times=(number * seconds)[order].astype(np.float64),
        users=np.array([f"u{user}" for user in who])[order],
    )


def test_the_worst_user_is_what_a_release_costs() -> None:
    points = places.Points(np.zeros((6, 2)), users=np.array(list("aababa")))
    release = places.protect(points, "laplace(epsilon=0.01)", size=2)
    assert release.cost.epsilon == pytest.approx(0.08, rel=1e-4)
    assert release.cost.unit == "user"
    assert "most fixes has 4" in release.cost.caveat
    assert places.protect(points, "predictive(epsilon=0.01, threshold=9)").cost.epsilon == (
        pytest.approx(0.04, rel=1e-4)
    )


def test_who_stays_costs_little_and_is_repeated() -> None:
    points = walk(5, 200)
    release = places.protect(points, "predictive(epsilon=0.05, threshold=4000)", rng=1)
    assert release.steps is not None
    assert release.steps.total == 1_000
    assert release.steps.hard == 5  # the first fix of each
    assert release.steps.worst == pytest.approx(0.05 * (0.9 + 0.1 * 199))
    assert len(np.unique(release.xy[0], axis=0)) == 5
    assert release.cost.epsilon == pytest.approx(0.05 * 200, rel=1e-4)  # promised before the run


def test_who_moves_far_costs_all() -> None:
    points = walk(3, 50, step=1e5)
    release = places.protect(points, "predictive(epsilon=0.05, threshold=400)", rng=1, size=2)
    assert release.steps is not None
    assert (release.steps.hard, release.steps.easy) == (300, 0)
    assert release.steps.worst == pytest.approx(2 * 0.05 * (0.9 + 49))


def test_hard_steps_have_the_noise_of_what_is_left_of_epsilon() -> None:
    points = walk(2, 3_000, step=3e3)
    moved = places.protect(points, "predictive(epsilon=0.02, threshold=400, test=0.25)", rng=3)
    radius = np.linalg.norm(moved.xy[0] - points.xy, axis=1)
    assert stats.kstest(radius, stats.gamma(2, scale=1 / 0.015).cdf).pvalue > 1e-3


def test_the_test_is_noisy_by_its_own_share() -> None:
    """At the threshold a fix is repeated half of the time; beyond it by the law of Laplace."""
    users, gap = 4_000, 2_300.0
    points = places.Points(
        np.concatenate([np.zeros((users, 2)), np.tile([gap, 0.0], (users, 1))]),
        times=np.repeat([0.0, 1.0], users),
        users=np.tile(np.arange(users), 2).astype(str),
    )
    method = "predictive(epsilon=0.01, threshold=2000, test=0.1, grid=0)"
    released = places.protect(points, method, rng=5).xy[0]
    first, second = released[:users], released[users:]
    easy = (first == second).all(axis=1)
    apart = np.linalg.norm(first - [gap, 0.0], axis=1)
    chance: Floats = stats.laplace(scale=1 / 0.001).cdf(2_000 - apart)
    z = (easy.sum() - chance.sum()) / np.sqrt((chance * (1 - chance)).sum())
    assert abs(z) < 3.3
    assert 0.2 < easy.mean() < 0.8


def test_a_prediction_is_the_last_released_point_in_time() -> None:
    points = walk(3, 40, step=300.0)
    release = places.protect(points, "predictive(epsilon=0.5, threshold=1000)", rng=2).xy[0]
    assert points.users is not None
    assert points.times is not None
    for user in np.unique(points.users):
        rows = np.flatnonzero(points.users == user)
        rows = rows[np.argsort(points.times[rows])]
        repeated = (np.diff(release[rows], axis=0) == 0).all(axis=1)
        assert repeated.any()
        assert not repeated.all()
        runs = len(np.unique(release[rows], axis=0))
        assert runs == 1 + (~repeated).sum()  # no point comes back after another


def test_a_trace_needs_users() -> None:
    with pytest.raises(InputError, match="for traces"):
        places.protect(places.Points(np.zeros((2, 2))), "predictive(epsilon=1, threshold=9)")


def test_thinning_keeps_fixes_that_are_apart() -> None:
    points = walk(3, 100, seconds=30)
    thinned = places.thin(points, 90)
    assert len(thinned) == 3 * 34
    assert thinned.times is not None
    assert thinned.users is not None
    for user in np.unique(thinned.users):
        times = np.sort(thinned.times[thinned.users == user])
        assert times[0] == 0
        assert (np.diff(times) == 90).all()
    assert (places.protect(thinned, "laplace(epsilon=0.01)").cost.epsilon) == pytest.approx(
        0.34, rel=1e-4
    )


def test_thinning_refuses_what_is_no_trace() -> None:
    with pytest.raises(InputError, match="users and times"):
        places.thin(places.Points(np.zeros((2, 2))), 60)
    with pytest.raises(ParameterError, match="'seconds' argument"):
        places.thin(walk(1, 2), 0)


def test_a_budget_refuses_the_fix_that_would_exceed_it() -> None:
    points = walk(2, 6)
    places.protect(points, "laplace(epsilon=0.01)", budget=places.Budget(epsilon_total=0.06))
    with pytest.raises(BudgetError, match="The fix of row .* would exceed") as caught:
        places.protect(points, "laplace(epsilon=0.01)", budget=places.Budget(epsilon_total=0.05))
    assert points.times is not None
    row = int(str(caught.value).split("row ")[1].split(" ")[0])
    assert points.times[row - 1] == 150  # the sixth of its user
    with pytest.raises(BudgetError, match="covers 2 fixes of 0.03"):
        places.protect(
            points, "laplace(epsilon=0.01)", 3, budget=places.Budget(epsilon_total=0.06)
        )


def test_a_window_forgets() -> None:
    points = walk(2, 60)
    for window, fits in ((90.0, True), (91.0, False)):
        budget = places.Budget(epsilon_total=0.03, window=window)
        if fits:
            places.protect(points, "laplace(epsilon=0.01)", budget=budget)
        else:
            with pytest.raises(BudgetError, match="covers 3 fixes"):
                places.protect(points, "laplace(epsilon=0.01)", budget=budget)
    untimed = places.Points(points.xy, users=points.users)
    with pytest.raises(InputError, match="times"):
        places.protect(
            untimed, "laplace(epsilon=0.01)", budget=places.Budget(epsilon_total=9, window=1)
        )


def test_a_budget_remembers_what_each_user_spent() -> None:
    budget = places.Budget(epsilon_total=0.06)
    method = "laplace(epsilon=0.01)"
    places.protect(walk(2, 4), method, budget=budget)
    with pytest.raises(BudgetError, match="would exceed"):
        places.protect(walk(2, 3), method, budget=budget)  # refused, and nothing is spent
    places.protect(walk(1, 2), method, budget=budget)  # u0 has spent all, u1 has not
    with pytest.raises(BudgetError, match="would exceed"):
        places.protect(walk(2, 1), method, budget=budget)
    alone = places.Points(np.zeros((2, 2)), users=np.array(["u1", "u1"]))
    places.protect(alone, method, budget=budget)
    with pytest.raises(BudgetError, match="row 1 "):
        places.protect(alone, method, budget=budget)
    places.protect(alone, method, budget=places.Budget(epsilon_total=0.06))
    with pytest.raises(InputError, match="needs the users"):
        places.protect(places.Points(alone.xy), method, budget=budget)


def test_a_window_is_kept_to_over_calls_in_any_order() -> None:
    budget = places.Budget(epsilon_total=0.03, window=100.0)

    def at(*times: float) -> places.Points:
        users = np.array(["u"] * len(times))
        return places.Points(np.zeros((len(times), 2)), times=np.array(times), users=users)

    places.protect(at(50, 90), "laplace(epsilon=0.01)", budget=budget)
    places.protect(at(0), "laplace(epsilon=0.01)", budget=budget)
    with pytest.raises(BudgetError, match="row 2 "):
        places.protect(at(200, 40), "laplace(epsilon=0.01)", budget=budget)
    places.protect(at(200, 100), "laplace(epsilon=0.01)", budget=budget)  # 0 is gone by then
    with pytest.raises(BudgetError, match="row 1 "):
        places.protect(at(120), "laplace(epsilon=0.01)", budget=budget)


def fixes(times: Sequence[float] | np.ndarray[tuple[int], np.dtype[Any]]) -> places.Points:
    users = np.array(["u"] * len(times))
    return places.Points(np.zeros((len(times), 2)), times=np.array(times), users=users)


@pytest.mark.parametrize("far", [2.0**53, -(2.0**53), 2**53 + 1, 1.7e18, 1e300])
def test_times_that_no_window_could_count_are_refused(far: float) -> None:
    budget = places.Budget(epsilon_total=0.03, window=1.0)
    with pytest.raises(InputError, match="Row 2 must have a time within 2\\^53 seconds") as caught:
        places.protect(fixes([0.0, far]), "laplace(epsilon=0.01)", budget=budget)
    assert str(int(far)) not in str(caught.value)
    unbounded = places.Budget(epsilon_total=0.03)  # here no time counts
    places.protect(fixes([0.0, far]), "laplace(epsilon=0.01)", budget=unbounded)


def test_a_missing_moment_is_no_time() -> None:
    with pytest.raises(InputError, match="Row 2 must have a time"):
        fixes(np.array(["2020-01-01", "NaT"], dtype="datetime64[s]"))


@given(
    st.lists(st.floats(-(2.0**53) + 1, 2.0**53 - 1), min_size=1, max_size=6),
    st.sampled_from([1e-9, 0.1, 1.0, 3.3, 1e5, 1e300]),
    st.integers(0, 3),
)
def test_no_fix_of_a_window_is_left_out(times: list[float], window: float, near: int) -> None:
    times += [float(np.nextafter(times[0], -math.inf))] * near
    budget = places.Budget(epsilon_total=1, window=window)
    order = np.sort(np.array(times))
    counted = budget._sums(order, np.ones(len(order)))
    for at, count in enumerate(counted.tolist()):
        here = Fraction(order[at])
        within = [Fraction(one) > here - Fraction(window) for one in order]
        assert round(count) >= sum(within[: at + 1])


def test_a_budget_is_spent_once_by_many_threads() -> None:
    budget = places.Budget(epsilon_total=0.5)
    points = walk(1, 1)

    def once(_: int) -> bool:
        try:
            places.protect(points, "laplace(epsilon=0.01)", budget=budget)
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(once, range(80))) == 50


def test_a_budget_is_for_what_is_proved() -> None:
    with pytest.raises(BudgetError, match="disk has none"):
        places.protect(walk(1, 2), "disk(radius=9)", budget=places.Budget(epsilon_total=1))
