"""What is reported, what it costs, and what is refused."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from tests.dp.local.zipf import words, zipf

from veil.core.component import example
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.core.types import Release
from veil.dp.local.estimate import aggregate, estimate
from veil.dp.local.oracle import Oracle, Value
from veil.dp.local.oracles import ORACLES, oracle
from veil.dp.local.reports import Reports, report, report_blocks

KEY = bytes(range(32))


def some(chosen: Oracle, n: int) -> list[Value]:
    """Return n values that an oracle takes."""
    if chosen.takes == "texts":
        return [f"t{i % 7}" for i in range(n)]
    if chosen.takes == "codes":
        return [i % 2 for i in range(n)]
    return [float(i % 2) for i in range(n)]


@pytest.mark.parametrize("name", ORACLES.names())
def test_every_oracle_keeps_the_contract(name: str) -> None:
    chosen = example(ORACLES.get(name))
    values = some(chosen, 50)
    kept = list(values)
    state = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
    one, same, other = (report(values, chosen, rng=seed) for seed in (1, 1, 2))
    assert values == kept
    assert (np.random.get_state()[1] == state).all()  # type: ignore[index] # noqa: NPY002
    assert isinstance(one, Release)
    assert one.n == len(one) == len(one.data) == 50
    assert one.seeded
    assert one.mechanism == str(chosen)
    assert oracle(str(chosen)) == chosen == oracle(chosen.brief) == one.oracle
    assert (one.data == same.data).all()
    assert one.data.tobytes() != other.data.tobytes() or one.index is not None
    fresh = [report(values, chosen) for _ in range(2)]
    assert not fresh[0].seeded
    assert chosen.guarantee.kind == "local-dp"
    assert chosen.guarantee.unit == "report"
    assert one.cost.epsilon == chosen.guarantee.epsilon
    assert "new release" in one.cost.caveat
    assert "50" in repr(one)
    assert chosen.codes(one).shape == (50,)
    assert chosen.codes(one).dtype == np.int64


@pytest.mark.parametrize("name", ORACLES.names())
def test_reports_in_blocks_are_those_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = example(ORACLES.get(name))
    monkeypatch.setattr(type(chosen), "rows", 16)
    values = some(chosen, 50)
    whole = report(values, chosen, rng=3)
    blocks = list(report_blocks(iter(values), chosen, rng=3))
    assert [block.n for block in blocks] == [16, 16, 16, 2]
    assert (np.concatenate([block.data for block in blocks]) == whole.data).all()
    if whole.index is not None:
        assert (np.concatenate([np.asarray(block.index) for block in blocks]) == whole.index).all()


@pytest.mark.parametrize(
    "spec",
    ["grr(epsilon=2, size=9)", "oue(epsilon=2, size=9)", "dbitflip(epsilon=2, size=9, d=3)"],
)
def test_sums_of_blocks_are_those_at_once(spec: str) -> None:
    _same_sums(spec, list(np.arange(900) % 9), list(range(9)))


@pytest.mark.parametrize(
    "spec",
    ["olh(epsilon=2)", "cms(epsilon=2, hashes=5)", "hcms(epsilon=2, hashes=5)",
     "rappor(cohorts=3, p=0, q=1)", "sfp(epsilon=2)"],
)  # fmt: skip
def test_sketches_of_blocks_are_those_at_once(spec: str) -> None:
    _same_sums(spec, [f"w{i % 5}" for i in range(900)], [f"w{i}" for i in range(5)])


def _same_sums(spec: str, values: list[Value], candidates: list[str] | list[int]) -> None:
    reports = report(values, spec, rng=1)
    parts = []
    for rows in np.array_split(np.arange(900), 7):
        index = None if reports.index is None else reports.index[rows]
        parts.append(Reports(reports.oracle, reports.data[rows], index, seeded=True))
    total = aggregate(spec, candidates)
    for part in reversed(parts):
        total.add(part)
    whole, blocks = estimate(reports, candidates), estimate(parts, candidates)
    np.testing.assert_array_equal(whole.counts, blocks.counts)
    np.testing.assert_array_equal(whole.stderr, blocks.stderr)
    np.testing.assert_array_equal(whole.counts, total.estimate(candidates).counts)


def test_a_stream_takes_memory_for_a_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = oracle("cms(epsilon=4, hashes=4, width=4096)")
    monkeypatch.setattr(type(chosen), "rows", 1_024)
    codes, _ = zipf(40_000, 500)
    texts = (f"word {code}" for code in codes)
    tracemalloc.start()
    found = estimate(report_blocks(texts, chosen, rng=1), words(np.arange(5)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 5
    assert peak < 10e6  # all reports together are 20 MB


def test_the_cost_counts_the_person_with_most_reports() -> None:
    spec = "grr(epsilon=0.5, size=4)"
    reports = report([1, 2, 3, 0], spec, users=["a", "b", "a", "a"])
    assert reports.most == 3
    assert reports.cost.epsilon == 1.5
    assert reports.cost.unit == "person"
    assert "has 3" in reports.cost.caveat
    assert report([1, 2], spec, users=[1, 2]).cost.epsilon == 0.5
    assert report([1, 2], spec).cost.unit == "report"


def test_memoised_reports_cost_once() -> None:
    for spec, value in (
        ("rappor(f=0.5)", "a"), ("dbitflip(epsilon=2, size=4, d=2)", 1),
        ("one_bit(epsilon=2, high=4)", 1.5),
    ):  # fmt: skip
        kept = report([value] * 5, spec, users=["p"] * 5, key=KEY)
        anew = report([value] * 5, spec, users=["p"] * 5)
        once = oracle(spec).guarantee.epsilon
        assert kept.memoised
        assert kept.overlap == 5
        assert kept.cost.epsilon == once
        assert "while the value stays the same" in kept.cost.caveat
        assert "change at the same reports" in kept.cost.neighbours
        assert anew.cost.epsilon == 5 * once
        assert anew.overlap == 1


@pytest.mark.parametrize(
    ("spec", "values", "times"),
    [
        ("rappor(f=0.5)", ["a", "b", "c", "a", "d"], 4),
        ("dbitflip(epsilon=2, size=9, d=2)", [1, 1, 4, 1, 4], 2),
        ("dbitflip(epsilon=2, size=9, d=2)", [1, 2, 3, 4, 5], 3),  # d buckets, or none of them
        ("dbitflip(epsilon=2, size=9, d=9)", [1, 2, 3, 4, 5], 5),
        ("one_bit(epsilon=2, high=4)", [1, 2, 3, 4, 0], 2),  # below the point, or above
        ("one_bit(epsilon=2, high=4)", [1, 1, 1, 1, 1], 1),
    ],
)
def test_different_values_of_a_person_cost_more(
    spec: str, values: list[Value], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = oracle(spec)
    monkeypatch.setattr(type(chosen), "rows", 2)  # the values of a person come in many blocks
    others = ["q", "r", "s"] * 2
    made = report([*values, *values[:1] * 6], spec, users=["p"] * 5 + others, key=KEY)
    assert made.values == len(set(values))
    assert made.cost.epsilon == times * chosen.guarantee.epsilon
    assert made.cost.unit == "person"
    assert type(chosen).changes in made.cost.caveat
    if times > 1:
        assert f"has {made.values}" in made.cost.caveat
    costs = [block.cost.epsilon for block in report_blocks(values, spec, ["p"] * 5, KEY)]
    assert sum(costs) >= made.cost.epsilon


def test_values_of_different_persons_do_not_add_up() -> None:
    made = report(["a", "b", "c"], "rappor()", users=[1, 2, 3], key=KEY)
    assert made.values == 1
    assert made.cost.epsilon == oracle("rappor()").guarantee.epsilon
    assert report(["a", "b"], "rappor()", users=[1, 1]).values is None


def test_two_kept_answers_cost_twice_and_not_less() -> None:
    """Of the histories 0, 1 and 1, 0 the reports 0, 1 have a ratio of e^(2 epsilon)."""
    spec, n = "one_bit(epsilon=0.5, high=1)", 40_000
    low, high = (report(np.full(n, x), spec, range(n), KEY).data == 1 for x in (0.0, 1.0))
    there, back = np.count_nonzero(~low & high), np.count_nonzero(~high & low)
    assert abs(np.log(there / back) - 2 * 0.5) < 0.06


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("grr(epsilon=0, size=4)", "'epsilon' parameter of grr must be a number > 0"),
        ("hcms(epsilon=-1)", "must be a number > 0"),
        ("cms(epsilon=nan)", "must be"),
        ("oue(epsilon=inf, size=4)", "must be"),
        ("olh(epsilon=50)", "<= 40"),
        ("grr(epsilon=1, size=1)", "whole number >= 2"),
        ("hcms(epsilon=1, width=1000)", "must be a power of two"),
        ("sfp(epsilon=1, width=24)", "must be a power of two"),
        ("sfp(epsilon=1, length=5)", "must be even"),
        ("sfp(epsilon=1, alphabet=aa)", "must not repeat letters"),
        ("rappor(f=0)", "'f' parameter of rappor must be a number > 0"),
        ("rappor(f=1.5)", "must be a number <= 1"),
        ("rappor(p=0.5, q=0.5)", "must differ from 'p'"),
        ("rappor(q=0.5)", "must differ from 'p'"),
        ("one_bit(epsilon=1, high=0)", "'high' parameter"),
        ("one_bit(epsilon=1, high=-3)", "'high' parameter"),
        ("dbitflip(epsilon=1, size=4, d=5)", "at most 'size', which is 4"),
    ],
)
def test_bad_parameters(spec: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        oracle(spec)
    assert str(caught.value).endswith("instead.")


def test_unknown_oracles_are_named() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'hcms'"):
        oracle("hmcs(epsilon=1)")


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("grr(epsilon=1, size=4)", [4]),
        ("grr(epsilon=1, size=4)", [-1]),
        ("grr(epsilon=1, size=4)", [1.0]),
        ("grr(epsilon=1, size=4)", [True]),
        ("grr(epsilon=1, size=4)", ["xanthippe"]),
        ("grr(epsilon=1, size=4)", [2**70]),
        ("grr(epsilon=1, size=4)", [[1], [2]]),
        ("oue(epsilon=1, size=4)", [None]),
        ("one_bit(epsilon=1, high=10)", [10.1]),
        ("one_bit(epsilon=1, high=10)", [-0.1]),
        ("one_bit(epsilon=1, high=10)", [float("nan")]),
        ("one_bit(epsilon=1, high=10)", [float("inf")]),
        ("one_bit(epsilon=1, high=10)", ["xanthippe"]),
        ("one_bit(epsilon=1, high=10)", [True]),
        ("hcms(epsilon=1)", [3]),
        ("hcms(epsilon=1)", [b"xanthippe"]),
        ("hcms(epsilon=1)", [None]),
        ("hcms(epsilon=1)", [["xanthippe"]]),
        ("hcms(epsilon=1)", ["xanthippe\ud800"]),
        ("hcms(epsilon=1)", "xanthippe"),
        ("sfp(epsilon=1)", [3]),
        ("sfp(epsilon=1)", ["xanthippe\ud800"]),
        ("sfp(epsilon=1)", [["xanthippe"]]),
        ("cms(epsilon=1)", []),
        ("grr(epsilon=1, size=4)", []),
        ("grr(epsilon=1, size=4)", 3),
    ],
)
def test_bad_values_are_refused_and_not_quoted(
    spec: str, values: list[Value], silent: Callable[[BaseException], None]
) -> None:
    with pytest.raises(InputError) as caught:
        report(values, spec)
    silent(caught.value)


@pytest.mark.parametrize("rng", [-1, 1.5, "seed"])
def test_bad_seeds(rng: int) -> None:
    with pytest.raises(ParameterError, match="rng"):
        report([1], "grr(epsilon=1, size=4)", rng=rng)


def test_reports_of_one_value_and_of_extreme_parameters() -> None:
    assert (report([2] * 500, "grr(epsilon=1000, size=4)").data == 2).all()
    found = estimate(report(["a"] * 500, "hcms(epsilon=1000)"), ["a", "b"])
    assert abs(found.counts[0] - 500) < 150
    assert (report([5e-324, 1.0], "one_bit(epsilon=900, high=1)").data == [0, 1]).all()
    assert report(["a"], "rappor(bits=9, hashes=3)").data.shape == (1, 2)


def test_reports_that_are_none() -> None:
    chosen = oracle("grr(epsilon=1, size=4)")
    with pytest.raises(InputError, match="At least one report"):
        Reports(chosen, np.zeros(0, dtype=np.int32), None, seeded=False)
    with pytest.raises(InputError, match="out of its range"):
        Reports(chosen, np.array([4], dtype=np.int32), None, seeded=False)
    with pytest.raises(InputError, match="type or shape"):
        Reports(chosen, np.array([1.0]), None, seeded=False)
    with pytest.raises(InputError, match="memoised"):
        Reports(chosen, np.array([1], dtype=np.int32), None, seeded=False, memoised=True, most=1)
    kept = report([1, 2], "dbitflip(epsilon=1, size=4, d=1)", users=[1, 1], key=KEY)
    for values in (None, 0, 3):
        with pytest.raises(InputError, match="memoised"):
            Reports(kept.oracle, kept.data, kept.index, False, True, most=2, values=values)
