"""Noise mechanisms: the published noise, the nearest word, and the coincidences at the limits."""

import math
import pickle

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats
from tests.conftest import make_space
from tests.text.rows import BUDGETED, NAMES, built

import veil
from veil.core.types import Floats, Ids
from veil.text.mechanisms.words.kernels import NoiseKernel
from veil.text.mechanisms.words.mahalanobis import elliptical
from veil.text.vectors.embeddings import Embeddings


def _noise(mechanism: veil.Mahalanobis | veil.CMP, space: Embeddings, rng: Generator) -> Floats:
    return mechanism.bind(space).noise(20_000, rng)


def _covariance(space: Embeddings) -> Floats:
    sigma = np.cov(space.vectors.astype(np.float64), rowvar=False, bias=True)
    scaled: Floats = sigma * space.dim / np.trace(sigma)
    return scaled


def test_cmp_noise_reaches_the_vector_unscaled(rng: Generator) -> None:
    """A line of words one apart: the draw is the rounded one-dimensional Laplace noise."""
    line = Embeddings(
        tuple(f"w{i}" for i in range(201)), np.arange(201, dtype=np.float32)[:, None]
    )
    draws = veil.CMP(epsilon=0.3).bind(line).sample(np.array([100]), 20_000, rng)[:, 0] - 100
    edges = np.arange(-8, 9)
    cdf = stats.laplace(scale=1 / 0.3).cdf
    inner = [cdf(e + 0.5) - cdf(e - 0.5) for e in edges]
    seen = [int((draws == e).sum()) for e in edges]
    rest = len(draws) - sum(seen)
    expected = np.array([*inner, 1 - sum(inner)]) * len(draws)
    assert stats.chisquare([*seen, rest], expected).pvalue > 1e-3


@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0])
def test_mahalanobis_noise_is_the_published_ellipse(lam: float, rng: Generator) -> None:
    space = make_space(400, 5, seed=3)
    z = _noise(veil.Mahalanobis(epsilon=2, lam=lam), space, rng)
    shape = lam * _covariance(space) + (1 - lam) * np.eye(5)
    lengths = np.sqrt(np.einsum("ni,ij,nj->n", z, np.linalg.inv(shape), z))
    assert stats.kstest(lengths, stats.gamma(5, scale=0.5).cdf).pvalue > 1e-3
    # E[zz'] = E[r^2]/d * shape, with E[r^2] = d(d+1)/eps^2
    np.testing.assert_allclose(z.T @ z / len(z), shape * 6 / 4, atol=0.15)


def test_unit_direction_keeps_the_radius_of_cmp(rng: Generator) -> None:
    vectors = make_space(400, 5, seed=3).vectors * np.array([5, 1, 1, 0.5, 0.2])
    space = Embeddings(tuple(map(str, range(400))), vectors.astype(np.float32))
    mechanism = veil.Mahalanobis(epsilon=2, lam=1, unit_direction=True)
    radius = np.linalg.norm(_noise(mechanism, space, rng), axis=1)
    assert stats.kstest(radius, stats.gamma(5, scale=0.5).cdf).pvalue > 1e-3
    assert mechanism.guarantee.kind == "none"
    proper = np.linalg.norm(_noise(veil.Mahalanobis(epsilon=2, lam=1), space, rng), axis=1)
    assert stats.kstest(proper, stats.gamma(5, scale=0.5).cdf).pvalue < 1e-3


def test_mahalanobis_with_lam_zero_is_cmp(space: Embeddings) -> None:
    ids = np.arange(space.size)
    draws = [
        m.bind(space).sample(ids, 50, np.random.default_rng(5))
        for m in (veil.Mahalanobis(epsilon=2, lam=0), veil.CMP(epsilon=2))
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert veil.Mahalanobis(epsilon=2, lam=0, unit_direction=True).guarantee.kind == "metric-dp"


@pytest.mark.parametrize(
    ("noise", "parent"), [("cmp", "cmp(epsilon=2)"), ("mahalanobis", "mahalanobis(epsilon=2)")]
)
def test_vickrey_with_t_zero_is_its_parent(noise: str, parent: str, space: Embeddings) -> None:
    ids = np.arange(space.size)
    draws = []
    for spec in (f"vickrey(epsilon=2, t=0, noise={noise})", parent):
        kernel = veil.MECHANISMS.parse(spec).bind(space)
        assert isinstance(kernel, NoiseKernel)
        points = space.points(ids) + kernel.noise(len(ids), np.random.default_rng(5))
        nearest, distances = space.searcher.nearest(points, kernel.k)
        draws.append(kernel.pick(nearest, distances, np.random.default_rng(6)))
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (
        veil.MECHANISMS.parse(f"vickrey(epsilon=2, noise={noise})").guarantee
        == veil.MECHANISMS.parse(parent).guarantee
    )


def _pick_share(mechanism: veil.Vickrey, distances: list[float], rng: Generator) -> Floats:
    count = 40_000
    ids: Ids = np.tile(np.arange(len(distances)), (count, 1))
    chosen = mechanism._pick(ids, np.tile(distances, (count, 1)).astype(float), rng)
    share: Floats = np.bincount(chosen, minlength=len(distances)) / count
    return share


@pytest.mark.parametrize("t", [0.0, 0.25, 0.75, 1.0])
@pytest.mark.parametrize(("d1", "d2"), [(1.0, 1.0), (1.0, 3.0), (0.2, 0.9)])
def test_vickrey_chooses_with_the_published_probability(
    t: float, d1: float, d2: float, rng: Generator
) -> None:
    expected = (1 - t) * d2 / (t * d1 + (1 - t) * d2)
    share = _pick_share(veil.Vickrey(epsilon=1, t=t), [d1, d2], rng)[0]
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / 40_000) + 1e-12


@pytest.mark.parametrize(
    ("t", "distances", "first"),
    [(0.5, [0, 1], 1.0), (1.0, [0, 1], 0.0), (0.25, [0, 0], 0.75), (1.0, [0, 0], 0.0)],
)
def test_vickrey_at_distance_zero(
    t: float, distances: list[float], first: float, rng: Generator
) -> None:
    share = _pick_share(veil.Vickrey(epsilon=1, t=t), distances, rng)[0]
    assert abs(share - first) < 0.01


def test_vickrey_with_more_neighbours_uses_them_all(rng: Generator) -> None:
    share = _pick_share(veil.Vickrey(epsilon=1, t=0.6, k=4), [1.0, 2.0, 4.0, 4.0], rng)
    weights = np.array([0.4, 0.1, 0.05, 0.05])
    np.testing.assert_allclose(share, weights / weights.sum(), atol=0.01)


def test_larger_epsilon_changes_fewer_words(space: Embeddings, rng: Generator) -> None:
    ids = np.arange(space.size)
    same = [
        (veil.CMP(epsilon=e).bind(space).sample(ids, 100, rng) == ids).mean() for e in (0.1, 3, 60)
    ]
    assert same[0] < 0.1 < same[1] < 0.95 < same[2]


def test_covariance_that_cannot_be_used_is_refused() -> None:
    flat = Embeddings(("a", "b", "c"), np.array([[0, 1], [0, 2], [0, 3]], dtype=np.float32))
    with pytest.raises(veil.ParameterError, match="singular"):
        elliptical(flat, 1.0, 1.0, unit_direction=False)
    same = Embeddings(("a", "b"), np.ones((2, 2), dtype=np.float32))
    with pytest.raises(veil.ParameterError, match="do not vary"):
        elliptical(same, 1.0, 0.5, unit_direction=False)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("vickrey(epsilon=1, k=61)", "'k' parameter of vickrey must be <= 60"),
        ("custext(epsilon=1, k=61)", "'k' parameter of custext must be <= 60"),
        ("wbb(epsilon=1, k=50, n=11)", "must add up to at most 60"),
        ("santext(epsilon=1, sensitive_share=0.01)", "Use a larger share"),
    ],
)
def test_what_the_space_cannot_give_is_refused(spec: str, message: str, space: Embeddings) -> None:
    with pytest.raises(veil.ParameterError, match=message):
        veil.protect([space.words[0]], veil.MECHANISMS.parse(spec), space, select="all")


def test_one_word_is_not_enough_for_tem() -> None:
    lonely = Embeddings(("alone",), np.ones((1, 2), dtype=np.float32), trusted=True)
    with pytest.raises(veil.ParameterError, match="at least 2 words"):
        veil.protect(["alone"], veil.TEM(epsilon=1), lonely)


def test_noise_that_overflows_is_refused(space: Embeddings) -> None:
    with pytest.raises(veil.ParameterError, match="larger 'epsilon'"):
        veil.protect([space.words[0]], veil.CMP(epsilon=1e-320), space)


def test_far_points_find_the_word_in_their_direction(rng: Generator) -> None:
    cross = Embeddings(("n", "e", "s", "w"), np.array([[0, 1], [1, 0], [0, -1], [-1, 0]]))
    draws = veil.CMP(epsilon=1e-200).bind(cross).sample(np.array([0]), 4000, rng)
    assert stats.chisquare(np.bincount(draws[:, 0], minlength=4)).pvalue > 1e-3


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 1e9, 1e300])
@pytest.mark.parametrize("name", BUDGETED)
def test_extreme_budgets_neither_fail_nor_warn(
    name: str, epsilon: float, space: Embeddings
) -> None:
    mechanism = built(name, epsilon)
    out = veil.protect([" ".join(space.words[:9])], mechanism, space, 3, select="all")
    assert all(word in space.words for row in out.rows[0] for word in row.split())


def test_mechanisms_pickle() -> None:
    for name in NAMES:
        mechanism = built(name, epsilon=2.5)
        assert pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301 - our own bytes
