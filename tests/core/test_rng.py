"""Randomness: fresh by default, repeatable on request, no state shared."""

import re
import secrets
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from randomgen import AESCounter

import veil
from veil.core.rng import generator, stream
from veil.text.vectors.embeddings import Embeddings

SOURCE = Path(veil.__file__).parent


def test_default_is_a_cipher_keyed_by_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    real = secrets.randbits

    def watched(bits: int) -> int:
        asked.append(bits)
        return real(bits)

    monkeypatch.setattr(secrets, "randbits", watched)
    first, second = generator(), generator()
    assert asked == [128, 128]
    assert isinstance(first.bit_generator, AESCounter)
    assert not np.array_equal(first.random(8), second.random(8))


def test_seed_repeats_and_streams_differ() -> None:
    np.testing.assert_array_equal(generator(3).random(5), generator(3).random(5))
    draws = {tuple(stream(3, i).random(3)) for i in range(20)}
    assert len(draws) == 20


@pytest.mark.parametrize("bad", [-1, 1.5, "seed", True])
def test_bad_seed_is_named(bad: object) -> None:
    with pytest.raises(veil.ParameterError, match="'rng' argument"):
        generator(bad)  # type: ignore[arg-type]


def test_protect_leaves_the_global_generator_alone(space: Embeddings) -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    veil.protect([space.words[0]], veil.CMP(epsilon=1), space, 3)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # type: ignore[index]  # noqa: NPY002


def test_no_legacy_randomness_in_the_source() -> None:
    legacy = re.compile(
        r"np\.random\.(seed|rand|choice|normal|gamma|shuffle)|^import random", re.M
    )
    for file in SOURCE.rglob("*.py"):
        assert not legacy.search(file.read_text()), file


def _draw(job: int) -> tuple[float, ...]:
    del job
    return tuple(generator().random(4))


@pytest.mark.parametrize("method", ["threads", "fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_workers_never_share_a_stream(method: str) -> None:
    pool: Executor
    if method == "threads":
        pool = ThreadPoolExecutor(4)
    else:
        pool = ProcessPoolExecutor(2, mp_context=get_context(method))
    with pool:
        assert len(set(pool.map(_draw, range(16)))) == 16


def test_unseeded_releases_differ_and_seeded_ones_repeat(space: Embeddings) -> None:
    texts = [" ".join(space.words[:20])]
    mechanism = veil.CMP(epsilon=0.5)
    fresh = {veil.protect(texts, mechanism, space).rows for _ in range(5)}
    assert len(fresh) == 5
    seeded = [veil.protect(texts, mechanism, space, rng=7) for _ in range(2)]
    assert seeded[0].rows == seeded[1].rows
    assert seeded[0].seeded
    assert not veil.protect(texts, mechanism, space).seeded
    assert veil.protect(texts, mechanism, space, rng=np.random.default_rng()).seeded
