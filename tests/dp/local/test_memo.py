"""What is memoised is a function of key, oracle, question, person and value, forever."""

import os
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.dp.local.fixed import FIXED, KEY, PERMANENT, digest, fixed
from tests.dp.local.fixed import __file__ as fixed_file

from veil.core.errors import InputError, ParameterError
from veil.dp.exact.coins import rational
from veil.dp.local.memoise import Fresh, Memo, key_for, person_bytes
from veil.dp.local.oracles import oracle
from veil.dp.local.reports import report

# Of the reports of ten persons: must never change, or persons would be asked anew.
FOREVER = {
    "rappor": "77cfec4fce7d5fd7",
    "dbitflip": "0d88e72c854a218b",
    "one_bit": "eb9eed6dec9bee95",
}


@pytest.mark.parametrize("name", FOREVER)
def test_bits_never_change(name: str) -> None:
    assert digest(fixed(name)) == FOREVER[name]


def test_another_process_has_the_same_bits() -> None:
    told = subprocess.run(
        [sys.executable, fixed_file],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "5"},
    )
    assert told.stdout.split() == list(FOREVER.values())


@pytest.mark.parametrize("name", FOREVER)
def test_persons_and_keys_differ(name: str) -> None:
    spec, values = FIXED[name]
    value = values[3:4] * 40
    users = list(range(40))
    first = report(value, spec, users=users, key=KEY)
    assert len(np.unique(first.data, axis=0)) > 1
    again = report(value, spec, users=users, key=KEY)
    other = report(value, spec, users=users, key=KEY[::-1])
    assert (first.data == again.data).all()
    assert (first.data != other.data).any()


SPECS = {
    "rappor": ("rappor(f=0.5, p=0, q=1, bits=24)", "rappor(f=0.25, p=0, q=1, bits=24)"),
    "dbitflip": ("dbitflip(epsilon=1, size=2, d=2)", "dbitflip(epsilon=2, size=2, d=2)"),
    "one_bit": ("one_bit(epsilon=1, high=10)", "one_bit(epsilon=2, high=10)"),
}
TWO: dict[str, list[Any]] = {"rappor": ["a", "b"], "dbitflip": [0, 1], "one_bit": [0.0, 10.0]}


def flips_of(name: str, spec: str, values: list[Any], question: str = "") -> NDArray[np.bool_]:
    """Return which memoised bits of 3,000 persons differ from the truth."""
    n = len(values)
    made = report(values, spec, users=range(n), key=KEY, rng=1, question=question)
    if name == "rappor":
        chosen = oracle(spec)
        truth = np.zeros((n, 24), dtype=np.bool_)
        index = np.asarray(made.index)
        for places in chosen.bloom(chosen.check(values), index):  # type: ignore[attr-defined]
            truth[np.arange(n), places] = True
        return np.asarray(np.unpackbits(made.data, axis=1) != truth)
    if name == "dbitflip":
        return np.asarray(made.data != (made.index == np.array(values)[:, None]))
    return np.asarray(made.data != (np.array(values) > 0))


def assert_independent(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> None:
    """Bits that differ from the truth here must say nothing of those there."""
    pairs = np.bincount(2 * one.reshape(-1) + other.reshape(-1), minlength=4).reshape(2, 2)
    assert pairs.min() > 0  # with the same uniform numbers, one flip would imply the other
    assert stats.chi2_contingency(pairs).pvalue > 1e-3


@pytest.mark.parametrize("name", SPECS)
def test_two_specs_share_no_bits(name: str) -> None:
    """Where reports under two epsilons of the same numbers differ, one is the truth for sure."""
    values = TWO[name] * 1_500
    one, other = (flips_of(name, spec, values) for spec in SPECS[name])
    assert_independent(one, other)


@pytest.mark.parametrize("name", SPECS)
def test_two_questions_share_no_bits(name: str) -> None:
    values = TWO[name] * 1_500
    spec = SPECS[name][0]
    one, other = (flips_of(name, spec, values, question) for question in ("age", "income"))
    assert_independent(one, other)
    assert (one == flips_of(name, spec, values, "age")).all()


@pytest.mark.parametrize(
    "spec",
    ["rappor(f=0.5, p=0, q=1, bits=24, cohorts=8)", "rappor(f=0.5, p=0, q=1, bits=24, hashes=3)",
     "rappor(f=0.5, p=0.01, q=1, bits=24)", "rappor(f=0.5, p=0, q=0.99, bits=24)"],
)  # fmt: skip
def test_every_parameter_tells_bits_apart(spec: str) -> None:
    """Of a person in the same cohort, all permanent bits are others, not a part of them."""
    values = ["a"] * 2_000
    assert_independent(flips_of("rappor", SPECS["rappor"][0], values), flips_of("rappor", spec,
                       values))  # fmt: skip


def test_a_spec_and_a_question_do_not_run_together() -> None:
    keys = {key_for(KEY, *told) for told in [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]}
    assert len(keys) == 4
    assert KEY not in keys


@pytest.mark.parametrize("question", [5, None, b"age", "\ud800"])
def test_bad_questions(question: str) -> None:
    with pytest.raises(ParameterError, match="'question' argument must be a string"):
        report([1], "dbitflip(epsilon=1, size=4, d=1)", users=[1], key=KEY, question=question)


def test_a_question_needs_a_key() -> None:
    with pytest.raises(ParameterError, match="needs a key"):
        report([1], "dbitflip(epsilon=1, size=4, d=1)", users=[1], question="age")


def test_names_are_told_apart_and_numbers_are_their_digits() -> None:
    value = ["w"] * 30
    one = report(value, PERMANENT, users=range(30), key=KEY)
    same = report(value, PERMANENT, users=np.arange(30, dtype=np.int16), key=KEY)
    text = report(value, PERMANENT, users=[str(i) for i in range(30)], key=KEY)
    assert (one.data == same.data).all()
    assert (one.data == text.data).all()


def test_only_the_instantaneous_step_of_rappor_is_fresh() -> None:
    value, users = ["w"] * 50, range(50)
    spec = "rappor(f=0.5, p=0.25, q=0.75, bits=64)"
    many = [report(value, spec, users=users, key=KEY) for _ in range(40)]
    cohorts = [np.asarray(one.index) for one in many]
    assert all((one == cohorts[0]).all() for one in cohorts)
    bits = np.stack([np.unpackbits(one.data, axis=1) for one in many]).sum(axis=0)
    assert (many[0].data != many[1].data).any()
    # each bit is Binomial(40, 1/4) or Binomial(40, 3/4) over the reports, and never in between
    assert np.count_nonzero((bits > 16) & (bits < 24)) < 0.1 * bits.size


def test_a_change_of_value_shows_only_where_a_hit_changes() -> None:
    spec, n = "dbitflip(epsilon=1, size=30, d=5)", 300
    one, other = (report([v] * n, spec, users=range(n), key=KEY) for v in (3, 9))
    index = np.asarray(one.index)
    assert (index == other.index).all()
    changed = one.data != other.data
    assert changed.any()
    assert not changed[(index != 3) & (index != 9)].any()


def test_a_change_of_a_number_shows_only_when_it_passes_a_point() -> None:
    spec, n = "one_bit(epsilon=3, high=100)", 2_000
    low, high, end = (report([v] * n, spec, users=range(n), key=KEY).data for v in (30, 31, 90))
    assert 0 < np.count_nonzero(low != high) < 0.03 * n  # about 1 % have their point between
    assert np.count_nonzero(low != end) > 0.3 * n


def test_another_value_has_other_permanent_bits() -> None:
    one, other = (report([v] * 200, PERMANENT, users=range(200), key=KEY) for v in ("a", "b"))
    assert (one.index == other.index).all()  # type: ignore[union-attr]
    share = np.unpackbits(np.asarray(one.data ^ other.data, dtype=np.uint8), axis=1).mean()
    assert 0.3 < share < 0.5  # of independent bits, 3/8 and those that are hit


@pytest.mark.parametrize("limit", [1, 2, 7, 2**53, 3 * 2**61])
def test_numbers_of_a_key_are_uniform(limit: int) -> None:
    memo = Memo(KEY, person_bytes(range(2_000)))
    drawn = memo.below("test", [limit, 3])
    assert drawn.min() >= 0
    assert drawn[:, 0].max() < limit
    if limit > 7:
        assert stats.kstest(drawn[:, 0] / limit, "uniform").pvalue > 1e-3
    else:
        assert (
            stats.chisquare(np.bincount(drawn[:, 0], minlength=limit)).pvalue > 1e-3 or limit == 1
        )
    assert stats.chisquare(np.bincount(drawn[:, 1])).pvalue > 1e-3


def test_uses_of_a_key_are_independent() -> None:
    memo = Memo(KEY, person_bytes(range(3_000)))
    half = rational(Fraction(1, 2))
    one, other = (memo.bits(what, half, 1)[:, 0] for what in ("a", "b"))
    assert stats.chisquare(np.bincount(2 * one + other, minlength=4)).pvalue > 1e-3


def test_a_generator_draws_anew(rng: np.random.Generator) -> None:
    fresh = Fresh(100, rng)
    assert (fresh.below("a", [1000]) != fresh.below("a", [1000])).any()


@pytest.mark.parametrize("key", [b"short", "x" * 32, bytes(33), 7])
def test_bad_keys(key: bytes) -> None:
    with pytest.raises(ParameterError, match="32 secret bytes"):
        report([1], "dbitflip(epsilon=1, size=4, d=1)", users=[1], key=key)


def test_a_key_needs_users_and_an_oracle_that_memoises() -> None:
    with pytest.raises(ParameterError, match="needs users"):
        report([1], "dbitflip(epsilon=1, size=4, d=1)", key=KEY)
    for spec in ("grr(epsilon=1, size=4)", "oue(epsilon=1, size=4)"):
        with pytest.raises(ParameterError, match="cannot memoise"):
            report([1], spec, users=[1], key=KEY)
    for spec in ("olh(epsilon=1)", "cms(epsilon=1)", "hcms(epsilon=1)", "sfp(epsilon=1)"):
        with pytest.raises(ParameterError, match="cannot memoise"):
            report(["a"], spec, users=[1], key=KEY)


@pytest.mark.parametrize("users", [[1, 2], [], [1.5], [True], [None], ["\ud800"]])
def test_bad_users(users: list[object]) -> None:
    with pytest.raises(InputError, match=r"[Uu]ser"):
        report([1], "dbitflip(epsilon=1, size=4, d=1)", users=users, key=KEY)


@pytest.mark.parametrize("users", [["ann", ""], np.array(["", "bob"])])
def test_users_without_a_name_are_refused(users: Any) -> None:  # noqa: ANN401
    """With a key they would have the same bits, and one would tell of the others."""
    with pytest.raises(InputError, match="must not be empty"):
        report([1.0, 2.0], "one_bit(epsilon=1, high=9)", users=users, key=KEY)
    with pytest.raises(InputError, match="must not be empty"):
        report([1.0, 2.0], "one_bit(epsilon=1, high=9)", users=users)
