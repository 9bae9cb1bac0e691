"""Closed-form laws: exact against the papers' loops, and the guarantee for every pair."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats
from tests.conftest import make_space
from tests.reference import laws

import veil
from veil.core.types import ClosedForm
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words import custext as _groups
from veil.text.vectors.distances import distances
from veil.text.vectors.embeddings import Embeddings

Reference = Callable[[Embeddings, int], laws.Floats]


def _vectors(space: Embeddings) -> laws.Floats:
    return space.vectors.astype(np.float64)


CASES: dict[str, Reference] = {
    "santext(epsilon=0.5)": lambda s, w: laws.santext(_vectors(s), w, 0.5),
    "santext(epsilon=7)": lambda s, w: laws.santext(_vectors(s), w, 7),
    "santext(epsilon=40)": lambda s, w: laws.santext(_vectors(s), w, 40),
    "santext(epsilon=3, sensitive_share=0.5, p=0.2)": lambda s, w: laws.santext_plus(
        _vectors(s), w, 3, set(range(s.size - math.ceil(s.size / 2), s.size)), 0.2
    ),
    "santext(epsilon=3, sensitive_share=0.25, p=1)": lambda s, w: laws.santext_plus(
        _vectors(s), w, 3, set(range(s.size - math.ceil(s.size / 4), s.size)), 1.0
    ),
    "tem(epsilon=4, beta=0.9)": lambda s, w: laws.tem(_vectors(s), w, 4, 0.9, "euclidean"),
    "tem(epsilon=9, beta=0.2)": lambda s, w: laws.tem(_vectors(s), w, 9, 0.2, "euclidean"),
    "tem(epsilon=9, metric=angular)": lambda s, w: laws.tem(_vectors(s), w, 9, 0.001, "angular"),
    "custext(epsilon=5, k=7)": lambda s, w: laws.custext(
        _vectors(s),
        w,
        5,
        next(g for g in laws.custext_groups(_vectors(s), 7) if w in g),
        "euclidean",
    ),
    "custext(epsilon=5, k=9, mapping=neighbours)": lambda s, w: laws.custext(
        _vectors(s), w, 5, laws.neighbours(_vectors(s), w, 9, "euclidean"), "euclidean"
    ),
    "custext(epsilon=5, k=9, mapping=neighbours, metric=cosine)": lambda s, w: laws.custext(
        _vectors(s), w, 5, laws.neighbours(_vectors(s), w, 9, "cosine"), "cosine"
    ),
}
for _metric in ("angle", "distance", "product"):
    for _weights in ("exponential", "linear"):
        CASES[f"wbb(epsilon=6, k=3, n=8, metric={_metric}, weights={_weights})"] = (
            lambda s, w, m=_metric, u=_weights: laws.wbb(  # type: ignore[misc]
                _vectors(s), w, 6, 3, 8, m, u
            )
        )


@pytest.mark.parametrize("spec", CASES)
def test_law_equals_the_papers_definition(spec: str, space: Embeddings) -> None:
    words = list(space.words)
    result = veil.law(veil.MECHANISMS.parse(spec), space, words)
    expected = np.stack([CASES[spec](space, w) for w in range(space.size)])
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-12)
    kernel = veil.MECHANISMS.parse(spec).bind(space)
    assert isinstance(kernel, ClosedForm)
    np.testing.assert_allclose(
        np.exp(kernel.log_probs(np.arange(space.size))), expected, rtol=1e-9
    )


@pytest.mark.parametrize("spec", CASES)
def test_draws_follow_the_law(spec: str, space: Embeddings, rng: Generator) -> None:
    """Chi-square of 40,000 draws for four words, rare outputs pooled."""
    mechanism = veil.MECHANISMS.parse(spec)
    ids = np.array([0, 5, 31, 59, 5])
    draws = mechanism.bind(space).sample(ids, 40_000, rng)
    law = veil.law(mechanism, space, [space.words[i] for i in ids])
    for column in range(len(ids)):
        counts = np.bincount(draws[:, column], minlength=space.size).astype(np.int64)
        assert counts[law[column] == 0].sum() == 0
        assert _chi_square(counts, law[column]) > 1e-3


def _chi_square(counts: NDArray[np.int64], probabilities: laws.Floats) -> float:
    expected = probabilities * counts.sum()
    common = expected >= 5
    if common.all() or expected[~common].sum() < 1e-9:
        seen, wanted = counts[common], expected[common]
    else:
        seen = np.append(counts[common], counts[~common].sum())
        wanted = np.append(expected[common], expected[~common].sum())
    if len(seen) == 1:
        return 1.0
    return float(stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue)


METRIC_DP = ["santext(epsilon=2)", "tem(epsilon=2, beta=0.3)", "tem(epsilon=2, metric=angular)"]


@pytest.mark.parametrize("spec", METRIC_DP)
def test_metric_dp_holds_for_every_pair(spec: str, space: Embeddings) -> None:
    mechanism = veil.MECHANISMS.parse(spec)
    guarantee = mechanism.guarantee
    loss = _worst_log_ratios(mechanism, space)
    gaps = distances(space, np.arange(space.size), guarantee.metric)
    assert guarantee.kind == "metric-dp"
    assert (loss <= guarantee.epsilon * gaps + 1e-9).all()
    assert (loss > 0.5 * guarantee.epsilon * gaps).any()  # the bound is not idle either


def test_santext_plus_keeps_its_bound_for_sensitive_outputs(space: Embeddings) -> None:
    mechanism = veil.SanText(epsilon=2, sensitive_share=0.5, p=0.2)
    kernel = mechanism.bind(space)
    logs = kernel.log_probs(np.arange(space.size))[:, space.size // 2 :]
    loss = (logs[:, None, :] - logs[None, :, :]).max(axis=-1)
    gaps = distances(space, np.arange(space.size), "euclidean")
    guarantee = mechanism.guarantee
    assert guarantee.kind == "umldp"
    assert (loss <= guarantee.epsilon * gaps + guarantee.additive + 1e-9).all()
    assert guarantee.additive == pytest.approx(math.log(5))


def test_custext_partition_is_dp_within_a_group_and_nothing_across(space: Embeddings) -> None:
    mechanism = veil.CusText(epsilon=3, k=7)
    groups = laws.custext_groups(_vectors(space), 7)
    loss = _worst_log_ratios(mechanism, space)
    for group in groups:
        assert (loss[np.ix_(group, group)] <= 3 + 1e-9).all()
    assert np.isinf(loss[groups[0][0], groups[1][0]])
    assert mechanism.guarantee.kind == "group-dp"


@pytest.mark.parametrize("spec", ["wbb(epsilon=3)", "custext(epsilon=3, k=7, mapping=neighbours)"])
def test_what_is_not_dp_says_so(spec: str, space: Embeddings) -> None:
    mechanism = veil.MECHANISMS.parse(spec)
    assert np.isinf(_worst_log_ratios(mechanism, space)).any()
    assert mechanism.guarantee.kind == "none"
    assert math.isinf(mechanism.guarantee.epsilon)
    assert "rule out a word" in mechanism.guarantee.caveat


def _worst_log_ratios(mechanism: WordMechanism, space: Embeddings) -> laws.Floats:
    kernel = mechanism.bind(space)
    assert isinstance(kernel, ClosedForm)
    logs = kernel.log_probs(np.arange(space.size))
    with np.errstate(invalid="ignore"):
        loss = logs[:, None, :] - logs[None, :, :]
    loss[np.isnan(loss)] = -np.inf  # possible for neither word
    worst: laws.Floats = loss.max(axis=-1)
    return worst


def test_tem_equals_its_gumbel_form(space: Embeddings, rng: Generator) -> None:
    epsilon, beta, w = 1.0, 0.9, 17
    gamma = laws.tem_gamma(space.size, epsilon, beta)
    gaps = np.array(laws.distances(_vectors(space), w))
    assert 0 < (gaps > gamma).sum() < space.size - 1  # both branches matter
    draws = laws.tem_gumbel(_vectors(space), w, epsilon, beta, 40_000, rng)
    law = veil.law(veil.TEM(epsilon=epsilon, beta=beta), space, [space.words[w]])[0]
    assert _chi_square(np.bincount(draws, minlength=space.size).astype(np.int64), law) > 1e-3


def test_wbb_never_draws_from_the_safe_box(space: Embeddings, rng: Generator) -> None:
    mechanism = veil.WBB(epsilon=50, k=5, n=10)
    ids = np.arange(space.size)
    draws = mechanism.bind(space).sample(ids, 500, rng)
    for w in range(space.size):
        safe = laws.neighbours(_vectors(space), w, 5, "cosine")
        assert not np.isin(draws[:, w], safe).any()


def test_linear_weights_do_not_depend_on_epsilon(space: Embeddings) -> None:
    few, many = (
        veil.law(veil.WBB(epsilon=e, k=3, n=8, weights="linear"), space, [space.words[4]])
        for e in (1, 50)
    )
    np.testing.assert_allclose(few, many)


def test_wbb_safe_box_holds_the_word_even_among_duplicates() -> None:
    vectors = np.ones((8, 2), dtype=np.float32)
    vectors[5:] = [[1, 2], [2, 1], [3, 1]]
    twins = Embeddings(tuple("abcdefgh"), vectors)
    for word in "abcde":
        law = veil.law(veil.WBB(epsilon=1, k=1, n=3, metric="distance"), twins, [word])[0]
        assert law["abcdefgh".index(word)] == 0
        assert law.sum() == pytest.approx(1)


@pytest.mark.parametrize(("words", "k"), [(60, 7), (61, 6), (40, 20), (9, 9), (10, 9), (300, 5)])
def test_groups_equal_the_plain_loop(words: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    space = make_space(words, 3, seed=words)
    expected = laws.custext_groups(_vectors(space), k)
    assert _groups.partition(space.vectors, k) == expected
    monkeypatch.setattr(_groups, "_BATCH", 7)
    assert _groups.partition(space.vectors, k) == expected
    assert all(len(group) > 1 for group in expected)


def test_noise_mechanisms_have_no_closed_form(space: Embeddings) -> None:
    with pytest.raises(veil.LawError, match="cmp has no closed-form distribution"):
        veil.law(veil.CMP(epsilon=1), space, [space.words[0]])


def test_law_refuses_unknown_words_without_naming_them(space: Embeddings) -> None:
    with pytest.raises(veil.InputError, match="Word 2 of 2") as caught:
        veil.law(veil.SanText(epsilon=1), space, [space.words[0], "chlamydia"])
    assert "chlamydia" not in str(caught.value)


def test_extreme_weights_stay_finite(rng: Generator) -> None:
    """Distances and budgets so large that every other word has weight zero."""
    far = Embeddings(("a", "b", "c"), np.array([[0], [5e3], [1e4]], dtype=np.float32))
    mechanism = veil.SanText(epsilon=100)
    np.testing.assert_array_equal(veil.law(mechanism, far, ["b"])[0], [0, 1, 0])
    assert (mechanism.bind(far).sample(np.array([1]), 1000, rng) == 1).all()
    plus = veil.SanText(epsilon=100, sensitive_share=0.6, p=0.5)  # words b and c are sensitive
    np.testing.assert_allclose(veil.law(plus, far, ["a"])[0], [0.5, 0.5, 0])


def test_glove_law_matches_the_reference(glove: Embeddings) -> None:
    """Real vectors, whole vocabulary: batched float64 against a direct difference."""
    word = glove.id("cancer")
    gaps = np.linalg.norm(
        glove.vectors.astype(np.float64) - glove.points(np.array([word])), axis=1
    )
    expected = np.exp(-3 * gaps)
    result = veil.law(veil.SanText(epsilon=6), glove, ["cancer"])[0]
    np.testing.assert_allclose(result, expected / expected.sum(), rtol=1e-9)


def test_a_law_that_vanishes_is_refused(space: Embeddings, rng: Generator) -> None:
    far = Embeddings(space.words, (space.vectors * 100).astype(np.float32), "far")
    plus = veil.SanText(epsilon=1e308, sensitive_share=0.5)
    with pytest.raises(veil.ParameterError, match="weights vanish"):
        plus.bind(far).sample(np.array([0]), 10, rng)
    with pytest.raises(veil.ParameterError, match="weights vanish"):
        veil.law(plus, far, [far.words[0]])


def test_coinciding_vectors_are_handled_in_bulk(rng: Generator) -> None:
    same = Embeddings(tuple(map(str, range(20_000))), np.ones((20_000, 3), dtype=np.float32))
    law = veil.law(veil.SanText(epsilon=5), same, [str(i) for i in range(64)])
    np.testing.assert_allclose(law, 1 / 20_000)
