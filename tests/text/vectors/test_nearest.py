"""The search is exact: equal to a plain loop in float64, whichever first pass runs."""

import threading

import numpy as np
import pytest
from numpy.random import Generator
from threadpoolctl import threadpool_info

from veil.core.errors import VeilError
from veil.core.parallel import one_blas_thread
from veil.core.rng import laplace_ball
from veil.core.types import Floats, Ids, Singles
from veil.text.vectors import nearest
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.nearest import Engine, NearestWords, fused_at_hand

ENGINES: list[Engine] = ["numpy", "numba"]


def brute(vectors: Singles, points: Floats, k: int) -> tuple[Ids, Floats]:
    gaps = points[:, None, :] - vectors.astype(np.float64)[None, :, :]
    gaps *= gaps
    squares = gaps.sum(axis=2)
    order = np.lexsort((np.broadcast_to(np.arange(len(vectors)), squares.shape), squares))[:, :k]
    return order, np.sqrt(np.take_along_axis(squares, order, axis=1))


def searcher(vectors: Singles, engine: Engine) -> NearestWords:
    if engine == "numba":
        pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    return NearestWords(vectors, engine)


def spaces(kind: str, words: int, dim: int, rng: Generator) -> Singles:
    vectors = rng.normal(size=(words, dim))
    if kind == "duplicates":
        vectors = vectors[rng.integers(max(1, words // 3), size=words)]
    elif kind == "zeros":
        vectors[:: max(1, words // 4)] = 0
    elif kind == "lengths":
        vectors *= 10 ** rng.uniform(-3, 4, size=(words, 1))
    elif kind == "spiky":
        vectors *= rng.random(vectors.shape) < 0.1
    elif kind == "same":
        vectors[:] = vectors[0]
    elif kind == "near ties":
        vectors = vectors[0] + 1e-6 * vectors
    return vectors.astype(np.float32)


KINDS = ["plain", "duplicates", "zeros", "lengths", "spiky", "same", "near ties"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("words", "dim"), [(1, 3), (2, 1), (65, 2), (1000, 50), (300, 300)])
def test_equals_the_plain_loop(
    engine: Engine, kind: str, words: int, dim: int, rng: Generator
) -> None:
    vectors = spaces(kind, words, dim, rng)
    search = searcher(vectors, engine)
    base = vectors[rng.integers(words, size=40)].astype(np.float64)
    far = laplace_ball(40, dim, dim / 1000, rng)
    points = np.concatenate(
        [base, base + laplace_ball(40, dim, 1.0, rng), base + far, np.zeros((1, dim))]
    )
    for k in {1, min(2, words), min(5, words), words if words < 70 else 1}:
        ids, distances = search.nearest(points, k)
        expected, gaps = brute(vectors, points, k)
        np.testing.assert_array_equal(ids, expected)
        np.testing.assert_array_equal(distances, gaps)


@pytest.mark.parametrize("engine", ENGINES)
def test_real_vectors(engine: Engine, glove: Embeddings, rng: Generator) -> None:
    points = glove.points(rng.integers(glove.size, size=6)) + laplace_ball(6, 100, 10, rng)
    ids, distances = searcher(glove.vectors, engine).nearest(points, 3)
    for row in range(6):
        gaps = np.linalg.norm(glove.vectors - points[row], axis=1)
        order = np.argsort(gaps, kind="stable")[:3]
        np.testing.assert_array_equal(ids[row], order)
        np.testing.assert_allclose(distances[row], gaps[order], rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_too_many_equal_words_are_taken_in_smaller_parts(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, rng: Generator
) -> None:
    monkeypatch.setattr(nearest, "_MAX_PAIRS", 500)
    vectors = np.ones((200, 3), dtype=np.float32)
    ids, _ = searcher(vectors, engine).nearest(rng.normal(size=(50, 3)), 2)
    np.testing.assert_array_equal(ids, np.tile([0, 1], (50, 1)))


def test_no_points_give_no_words() -> None:
    ids, distances = NearestWords(np.ones((5, 2), dtype=np.float32), "numpy").nearest(
        np.empty((0, 2)), 1
    )
    assert ids.shape == distances.shape == (0, 1)


def test_fused_pass_is_chosen_only_where_it_pays() -> None:
    chosen = NearestWords(np.ones((5, 2), dtype=np.float32)).engine
    assert chosen == ("numba" if fused_at_hand() else "numpy")


def test_blas_threads_come_back() -> None:
    def threads() -> list[int]:
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    before = threads()
    with one_blas_thread(), one_blas_thread():
        assert 1 in threads()  # of the libraries that were loaded when it was first used
    assert threads() == before

    def elsewhere() -> None:
        with one_blas_thread():
            pass

    worker = threading.Thread(target=elsewhere)
    worker.start()
    worker.join()
    assert threads() == before


def test_a_point_without_candidates_is_an_error() -> None:
    which, rows = np.array([0, 0]), np.array([1, 2])  # nothing for the second point
    with pytest.raises(VeilError, match="lost track"):
        nearest._finish(np.ones((3, 2), dtype=np.float32), np.zeros((2, 2)), which, rows, 2)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e8])
def test_scales_at_the_edge(engine: Engine, scale: float, rng: Generator) -> None:
    vectors = (scale * rng.normal(size=(300, 7))).astype(np.float32)
    for reach in (1e-3, 1.0, 1e6):
        points = scale * reach * rng.normal(size=(50, 7))
        ids, _ = searcher(vectors, engine).nearest(points, 3)
        np.testing.assert_array_equal(ids, brute(vectors, points, 3)[0])
