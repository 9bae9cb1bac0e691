"""Auditors: nothing follows from answers, and of the simulatable ones nothing from denials."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dp.restricted.queries import (
    Decisions,
    Set,
    asked,
    hostile,
    members,
    rational_rows,
    unit_follows,
)

from veil.core.errors import RefusedError
from veil.core.rng import generator
from veil.dp.restricted import (
    MERSENNE,
    Mask,
    Rows,
    StatisticalDatabase,
    minus,
    modular_total,
    secret_prime,
    times,
)

N = 4
GRID = range(3)
SETS = st.lists(
    st.lists(st.booleans(), min_size=N, max_size=N).filter(any), min_size=1, max_size=6
)
VALUES = st.lists(st.sampled_from(GRID), min_size=N, max_size=N)


def consistent(values: list[int], seen: Decisions) -> bool:
    """Tell whether other values would have had the same maxima."""
    return all(
        answer is None or answer == max(itertools.compress(values, mask))
        for mask, _, answer in seen
    )


@pytest.mark.parametrize(("audit", "what"), [("sum", "sum"), ("max-simulatable", "max")])
@settings(max_examples=20)
@given(values=VALUES, sets=SETS)
def test_denials_are_the_same_for_all_values_that_fit_the_answers(
    audit: str, what: str, values: list[int], sets: list[list[bool]]
) -> None:
    """Who asks could decide as well: decisions depend on queries and earlier answers alone."""
    seen = asked(StatisticalDatabase(values, audit=audit), sets, what)
    for other in itertools.product(GRID, repeat=N):
        again = asked(StatisticalDatabase(other, audit=audit), sets, what)
        for (_, _, one), (_, _, two) in zip(seen, again, strict=True):
            assert (one is None) == (two is None)
            if one != two:  # from here on who asks knows which of the two it is
                break


def test_the_denials_of_max_are_not() -> None:
    """The maximum of all is 9; without the third it is refused for some, answered for others."""
    sets = [[True, True, True], [True, True, False]]
    leaking = [
        asked(StatisticalDatabase(values, audit="max"), sets, "max")
        for values in ([5, 2, 9], [5, 9, 9])
    ]
    assert [answer for _, _, answer in leaking[0]] == [9, None]  # hence the third is 9
    assert [answer for _, _, answer in leaking[1]] == [9, 9]
    silent = [
        asked(StatisticalDatabase(values, audit="max-simulatable"), sets, "max")
        for values in ([5, 2, 9], [5, 9, 9])
    ]
    assert silent[0] == silent[1]
    assert [answer for _, _, answer in silent[0]] == [9, None]


@settings(max_examples=60)
@given(values=VALUES, sets=SETS)
def test_no_value_follows_from_sums_that_were_answered(
    values: list[int], sets: list[list[bool]]
) -> None:
    """Against elimination with fractions; and what is refused would have told a value."""
    answered: list[Set] = []
    for mask, _, answer in asked(StatisticalDatabase(values, audit="sum"), sets, "sum"):
        assert (answer is None) == unit_follows([*answered, mask])
        answered += [] if answer is None else [mask]


@pytest.mark.parametrize("audit", ["max", "max-simulatable"])
@settings(max_examples=60)
@given(values=VALUES, sets=SETS)
def test_no_value_follows_from_maxima_that_were_answered(
    audit: str, values: list[int], sets: list[list[bool]]
) -> None:
    seen = asked(StatisticalDatabase(values, audit=audit), sets, "max")
    grid = range(-1, 4)  # a value may be lower than all
    fitting = [one for one in itertools.product(grid, repeat=N) if consistent(list(one), seen)]
    assert tuple(values) in fitting
    for place in range(N):
        assert len({one[place] for one in fitting}) > 1


def test_max_is_answered_where_nothing_can_follow() -> None:
    database = StatisticalDatabase([1, 5, 3, 8, 2, 7], audit="max-simulatable")
    assert database.ask(members(6, 0, 1, 2), "max") == 5
    assert database.ask(members(6, 3, 4, 5), "max") == 8
    assert database.ask(members(6, 0, 1, 2), "max") == 5  # again: nothing new
    with pytest.raises(RefusedError):
        database.ask(members(6, 0, 3), "max")  # 6 would fix the third, 8 the first


def test_183_queries_that_a_known_prime_lets_through() -> None:
    """Modulo 2^61 - 1 no value follows from them; over the rational numbers every one does."""
    queries, n = hostile()
    rows = Rows(n, MERSENNE)
    for mask in queries:
        rows = rows.added(mask)
        assert not rows.disclosing
    assert rows.rank == n - 1
    other = Rows(n, 2**31 - 1)
    for mask in queries:
        other = other.added(mask)
    assert other.rank == n  # and no less over the rational numbers: all values are solved for
    for _ in range(2):
        database = StatisticalDatabase(np.arange(n), audit="sum")
        refused = [answer is None for _, _, answer in asked(database, queries, "sum")]
        assert refused == [False] * (n - 1) + [True]


def test_sums_at_the_ends_of_a_known_range_still_disclose() -> None:
    """The caveat: for bits, a sum of 0 tells every one of its set, and the auditor answers."""
    database = StatisticalDatabase([0, 0, 1, 1, 0], audit="sum")
    assert database.ask(members(5, 0, 1)) == 0
    assert database.ask(members(5, 2, 3)) == 2
    assert "0 or 1" in database.caveat


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 16))
def test_elimination_is_that_of_fractions(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    masks: list[Mask] = list(rng.integers(0, 2, (m, n)).astype(np.bool_))
    for prime in (MERSENNE, secret_prime(rng)):
        rows = Rows(n, prime)
        for mask in masks:
            rows = rows.added(mask)
        assert rows.rank == len(rational_rows(masks))
        assert rows.disclosing == unit_follows(masks)


def test_products_modulo_the_prime() -> None:
    rng = np.random.default_rng(3)
    ends = [0, 1, 2**31 - 1, 2**31, 2**60, MERSENNE - 1]
    a = np.array(ends * len(ends) + rng.integers(0, MERSENNE, 500).tolist(), dtype=np.uint64)
    b = np.array(
        sorted(ends * len(ends)) + rng.integers(0, MERSENNE, 500).tolist(), dtype=np.uint64
    )
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert times(a, b, MERSENNE).tolist() == [x * y % MERSENNE for x, y in pairs]
    assert minus(a, b, MERSENNE).tolist() == [(x - y) % MERSENNE for x, y in pairs]
    both = np.stack([a, b, a])
    assert modular_total(both, MERSENNE).tolist() == [(2 * x + y) % MERSENNE for x, y in pairs]


def test_secret_primes_are_primes_and_differ() -> None:
    found = {secret_prime(generator()) for _ in range(20)}
    assert len(found) > 15
    for prime in found:
        assert 2**30 < prime < 2**31
        assert all(prime % d for d in range(2, int(prime**0.5) + 1))


def test_fractions_are_a_fair_judge() -> None:
    assert unit_follows([members(3, 0, 1), members(3, 1, 2), members(3, 0, 2)])
    assert not unit_follows([members(3, 0, 1), members(3, 1, 2)])
    assert rational_rows([members(2, 0, 1)]) == [[Fraction(1), Fraction(1)]]
