"""Counts and means are right, and their standard errors honest."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.dp.local.zipf import words, zipf

from veil import dp
from veil.core.errors import InputError
from veil.core.types import Floats
from veil.dp.local.aggregate import Counts
from veil.dp.local.estimate import aggregate, discover, estimate, estimate_mean
from veil.dp.local.files import save_reports
from veil.dp.local.hashing import text_hashes, walsh_hadamard
from veil.dp.local.oracles import oracle
from veil.dp.local.oracles.rappor import Filters
from veil.dp.local.reports import Reports, report

CODES = [
    "grr(epsilon=2, size=60)",
    "grr(epsilon=9, size=60)",
    "oue(epsilon=1, size=60)",
    "dbitflip(epsilon=2, size=60, d=7)",
    "dbitflip(epsilon=12, size=60, d=1)",
]
TEXTS = [
    "olh(epsilon=2)",
    "olh(epsilon=6)",
    "cms(epsilon=4)",
    "cms(epsilon=8, hashes=16, width=100)",
    "hcms(epsilon=4)",
    "hcms(epsilon=8, hashes=16, width=128)",
    "sfp(epsilon=8, length=10)",
    "rappor(f=0.5, p=0.5, q=0.75)",
    "rappor(f=0.25, p=0.2, q=0.8, bits=64, cohorts=8)",
    "rappor(f=0.1, p=1, q=0, bits=64, hashes=1, cohorts=4)",
]


def scores(found: Counts, truth: NDArray[Any]) -> Floats:
    return np.asarray((found.counts - truth) / found.stderr)


def rms(values: Floats) -> float:
    return float(np.sqrt((values**2).mean()))


@pytest.mark.parametrize("spec", CODES)
def test_errors_of_codes_are_as_large_as_told(spec: str) -> None:
    codes, truth = zipf(40_000, 60)
    found = estimate(report(codes, spec, rng=2), range(60))
    assert 0.75 < rms(scores(found, truth)) < 1.3
    assert found.candidates == tuple(range(60))


@pytest.mark.parametrize("spec", TEXTS)
def test_errors_of_texts_are_as_large_as_told(spec: str) -> None:
    """Of frequent words, and of words that nobody said, while most words are no candidates."""
    codes, truth = zipf(40_000, 1_000)
    names = [*words(np.arange(40)), *(f"none {i}" for i in range(60))]
    found = estimate(report(words(codes), spec, rng=3), names)
    errors = scores(found, np.concatenate([truth[:40], np.zeros(60)]))
    assert 0.6 < rms(errors) < 1.4
    assert 0.6 < rms(errors[:40]) < 1.4
    assert abs(errors.mean()) < 0.5
    assert found.significant[40:].sum() <= 1  # collisions have a longer tail than the normal law


@pytest.mark.parametrize("spec", ["cms(epsilon=9, hashes=8, width=64)",
                                  "hcms(epsilon=9, hashes=8, width=64)"])  # fmt: skip
def test_collisions_are_in_the_error(spec: str) -> None:
    """One word of 30,000 makes others that share its cells wrong, far beyond the noise."""
    found = []
    for seed in range(6):
        texts = [f"common {seed}"] * 30_000 + [f"rare {i}" for i in range(200)]
        names = [f"other {seed} {i}" for i in range(60)]
        found.append(estimate(report(texts, spec, rng=seed), names))
    errors = np.concatenate([scores(one, np.zeros(60)) for one in found])
    assert 0.6 < rms(errors) < 1.4
    noise = np.sqrt(30_200) * (1.1 if spec.startswith("h") else 0.3)
    assert min(one.stderr.min() for one in found) > 4 * noise


@pytest.mark.parametrize("spec", ["cms(epsilon=6)", "hcms(epsilon=6)"])
def test_errors_of_one_word_that_nearly_all_say(spec: str) -> None:
    errors = []
    for seed in range(40):
        texts = [f"all {seed}"] * 1_900 + [f"w{i}" for i in range(100)]
        found = estimate(report(texts, spec, rng=seed), [f"all {seed}"])
        errors.append((found.counts[0] - 1_900) / found.stderr[0])
    assert 0.6 < rms(np.array(errors)) < 1.4


@pytest.mark.parametrize("n", [1, 3, 10, 100])
@pytest.mark.parametrize(
    "spec", ["hcms(epsilon=4)", "hcms(epsilon=8)", "hcms(epsilon=30)", "cms(epsilon=4)"]
)
def test_errors_of_few_reports_are_as_large_as_told(spec: str, n: int) -> None:
    """Of words that nobody said; by chance some are estimated as all that was said."""
    names = [f"none {i}" for i in range(400)]
    errors = []
    for seed in range(5):
        found = estimate(report(words(np.arange(n) % 5), spec, rng=seed), names)
        errors.append(scores(found, np.zeros(400)))
        assert found.significant.sum() <= 1 or spec.startswith("cms")  # of few rare bits
    assert 0.8 < rms(np.array(errors)) < 1.25
    if spec.startswith("h"):
        assert np.max(errors) < 1.01 * np.sqrt(n) + 0.01  # all bits agree


@pytest.mark.parametrize("n", [1, 10, 100])
def test_codes_whose_buckets_nobody_took_have_an_error(n: int) -> None:
    """With hardly a flip, a code of 20 persons may be seen by none of them."""
    codes = np.arange(n) % 5
    errors = []
    for seed in range(10):
        found = estimate(report(codes, "dbitflip(epsilon=30, size=60, d=1)", rng=seed), range(5))
        errors.append(scores(found, np.bincount(codes, minlength=5)))
    assert 0.05 < rms(np.array(errors)) < 1.4


def test_many_candidates_of_rappor_are_selected_first() -> None:
    codes, truth = zipf(40_000, 1_000)
    spec = "rappor(f=0.1, p=0.1, q=0.9, bits=64, cohorts=8)"  # 512 cells, 2,000 candidates
    names = [*words(np.arange(1_000)), *(f"none {i}" for i in range(1_000))]
    found = estimate(report(words(codes), spec, rng=4), names)
    errors = scores(found, np.concatenate([truth, np.zeros(1_000)]))
    assert 0.7 < rms(errors) < 1.3
    assert 0.6 < rms(errors[:20]) < 1.6
    assert found.significant[:8].all()
    assert not found.significant[1_000:].any()


@pytest.mark.parametrize(("bits", "hashes", "cohorts"), [(32, 2, 12), (8, 3, 30), (200, 1, 3)])
def test_a_fit_is_that_of_least_squares(bits: int, hashes: int, cohorts: int) -> None:
    filters = Filters(text_hashes([f"t{i}" for i in range(40)]), cohorts, bits, hashes)
    rng = np.random.default_rng(7)
    weights, values = rng.uniform(0, 2, cohorts * bits), rng.normal(size=cohorts * bits)
    weights[:5] = 0
    cells, _ = filters.cells(slice(None))
    columns = np.full((cohorts * bits, 40), -filters.share)
    columns[cells.reshape(40, -1).T, np.arange(40)] = 1 - filters.share
    normal = columns.T @ (weights[:, None] * columns)
    fit = filters.fit(weights, values)
    np.testing.assert_allclose(fit.variances, np.diag(np.linalg.inv(normal)), rtol=1e-8)
    wanted = np.linalg.solve(normal, columns.T @ (weights * values))
    np.testing.assert_allclose(fit.counts, wanted, atol=1e-8)
    np.testing.assert_allclose(filters.predict(fit.counts), columns @ fit.counts, atol=1e-8)


def test_candidates_that_look_alike_have_no_count() -> None:
    """Two words that set the same bits cannot be told apart: their errors are infinite."""
    chosen = oracle("rappor(bits=2, hashes=1, cohorts=4, p=0, q=1, f=0.1)")
    texts = [f"t{i}" for i in range(40)]
    patterns: dict[tuple[int, ...], list[str]] = {}
    for text in texts:
        cells = chosen.bloom(chosen.check([text] * 4), np.arange(4))  # type: ignore[attr-defined]
        patterns.setdefault(tuple(np.concatenate(list(cells))), []).append(text)
    alike = next(found for found in patterns.values() if len(found) > 1)[:2]
    found = estimate(report(texts * 50, chosen, rng=1), alike)
    assert np.isinf(found.stderr).all()
    assert not found.significant.any()


def test_a_mean_is_right_and_its_error_honest() -> None:
    rng = np.random.default_rng(5)
    errors = []
    for seed in range(60):
        values = rng.uniform(0, 80, 2_000)
        found = estimate_mean(report(values, "one_bit(epsilon=1, high=100)", rng=seed))
        errors.append((found.value - values.mean()) / found.stderr)
    assert 0.7 < rms(np.array(errors)) < 1.3


def test_memoised_bits_of_few_persons_widen_the_error() -> None:
    """A hundred reports of one person are as good as one."""
    spec = "dbitflip(epsilon=2, size=4, d=4)"
    errors = []
    for key in range(12):
        values, users = np.arange(40).repeat(50) % 4, np.arange(40).repeat(50)
        reports = report(values, spec, users=users, key=bytes([key] * 32), rng=1)
        found = estimate(reports, range(4))
        errors.append(scores(found, np.full(4, 500.0)))
        assert reports.overlap == 50
    assert 0.6 < rms(np.array(errors)) < 1.4


def test_the_transform_is_the_matrix() -> None:
    at = np.arange(16)
    matrix = 1.0 - 2 * (np.bitwise_count(at[:, None] & at) & 1)
    rows = np.random.default_rng(6).normal(size=(3, 16))
    np.testing.assert_allclose(walsh_hadamard(rows), rows @ matrix, atol=1e-12)


def test_significance_counts_the_candidates() -> None:
    found = Counts(("a", "b"), np.array([1.9, 2.1]), np.ones(2))
    assert found.significant.tolist() == [False, True]  # 1.96 for two, 1.64 for one
    assert found.take([0]).significant.tolist() == [True]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "At least one candidate"),
        (["a", "a"], "distinct"),
        ("abc", "not a single one"),
        ([3], "must be strings"),
        ([["a"]], "texts or codes"),
    ],
)
def test_bad_candidates(candidates: list[str], message: str) -> None:
    reports = report(["a", "b"], "hcms(epsilon=1)", rng=1)
    with pytest.raises(InputError, match=message):
        estimate(reports, candidates)


def test_what_cannot_be_estimated() -> None:
    mean = report([1.0], "one_bit(epsilon=1, high=2)", rng=1)
    with pytest.raises(InputError, match="estimate_mean"):
        estimate(mean, [1])
    with pytest.raises(InputError, match="Call estimate"):
        estimate_mean(report([1], "grr(epsilon=1, size=2)", rng=1))
    with pytest.raises(InputError, match="f = 1"):
        estimate(report(["a"], "rappor(f=1)", rng=1), ["a"])
    with pytest.raises(InputError, match="At least one report"):
        estimate([], ["a"])
    with pytest.raises(InputError, match="need Reports"):
        estimate(["a"], ["a"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="outside this range"):
        estimate(report([1], "grr(epsilon=1, size=2)", rng=1), [2])


@pytest.mark.parametrize("wrong", [5, None, "abc", b"abc", [1], {"a": 1}, object(), np.array(3)])
def test_what_are_no_reports(wrong: Reports) -> None:
    good = report([1], "grr(epsilon=1, size=2)", rng=1)
    for call in (
        lambda: estimate(wrong, [1]),
        lambda: estimate_mean(wrong),
        lambda: discover(wrong),
        lambda: aggregate(good.oracle).add(wrong),
        lambda: save_reports(wrong, "never.npz"),
    ):
        with pytest.raises(InputError, match="[Rr]eports"):
            call()


@pytest.mark.parametrize("wrong", [5, None, 1.5, object(), np.array(3), [None], [1.5], [2**70],
                                   [(1,)], np.array([[1]])])  # fmt: skip
def test_what_are_no_candidates(wrong: Any) -> None:  # noqa: ANN401 - that is the point
    for spec, value in (("grr(epsilon=1, size=2)", 1), ("olh(epsilon=1)", "a"),
                        ("rappor()", "a"), ("sfp(epsilon=1)", "a")):  # fmt: skip
        if wrong is None and spec.startswith("grr"):
            continue  # of codes all are known
        with pytest.raises(InputError) as caught:
            estimate(report([value], spec, rng=1), wrong)
        assert str(caught.value).count(". ") < 3
        if wrong is not None:  # no candidates are named
            with pytest.raises(InputError):
                aggregate(spec, wrong)


@pytest.mark.parametrize("wrong", [5, None, np.array(3), object()])
def test_what_are_no_values_or_users(wrong: list[int]) -> None:
    for spec in ("grr(epsilon=1, size=2)", "hcms(epsilon=1)", "one_bit(epsilon=1, high=9)"):
        with pytest.raises(InputError, match="must be lists"):
            report(wrong, spec)
    if wrong is not None:
        with pytest.raises(InputError, match="must be lists"):
            report([1], "grr(epsilon=1, size=2)", users=wrong)


def test_an_aggregate_is_of_one_oracle() -> None:
    total = aggregate("hcms(epsilon=1)")
    with pytest.raises(InputError, match="At least one report"):
        total.estimate(["a"])
    with pytest.raises(InputError, match="same mechanism"):
        total.add(report(["a"], "hcms(epsilon=2)", rng=1))
    with pytest.raises(InputError, match="needs the candidates"):
        aggregate("olh(epsilon=1)")
    known = aggregate("olh(epsilon=1)", ["a", "b"])
    known.add(report(["a"], "olh(epsilon=1)", rng=1))
    assert len(known.estimate(["b"])) == 1
    with pytest.raises(InputError, match="passed to aggregate"):
        known.estimate(["c"])


@pytest.mark.parametrize(
    "spec",
    ["grr(epsilon=3, size=6)", "oue(epsilon=3, size=6)", "dbitflip(epsilon=3, size=6, d=2)"],
)
def test_of_codes_all_are_counted_unless_some_are_named(spec: str) -> None:
    reports = dp.report([0, 0, 3, 5] * 500, spec, rng=1)
    counts, named = dp.estimate(reports), dp.estimate(reports, range(6))
    assert counts.candidates == tuple(range(6))
    assert counts.counts.tolist() == named.counts.tolist()
    assert dp.estimate([reports, reports]).counts.tolist() == (2 * named.counts).tolist()
    assert abs(counts.counts - [1000, 0, 0, 500, 0, 500]).max() < 6 * counts.stderr.max()


@pytest.mark.parametrize(
    ("values", "spec"),
    [
        (["a", "b"], "hcms(epsilon=4)"),
        (["a"], "olh(epsilon=2)"),
        ([0], "grr(epsilon=4, size=2000000)"),
    ],
)
def test_candidates_that_nobody_knows_must_be_named(values: list[object], spec: str) -> None:
    with pytest.raises(InputError, match=r"andidates"):
        dp.estimate(dp.report(values, spec, rng=1))
