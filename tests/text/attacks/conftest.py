"""Small logs over small spaces, released by real mechanisms with a seed."""

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space
from tests.search.conftest import BagEncoder

from veil.text.vectors.embeddings import Embeddings


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def encoder() -> BagEncoder:
    return BagEncoder()


@pytest.fixture(scope="session")
def words() -> Embeddings:
    """Sixty words, near to each other: any budget moves them."""
    space = make_space(60, 4)
    return Embeddings(space.words, 0.4 * space.vectors, "words")


@pytest.fixture(scope="session")
def queries(words: Embeddings) -> list[str]:
    """Four hundred distinct queries of one to four words, some with a word nobody knows."""
    rng = np.random.default_rng(11)
    made: dict[str, None] = {}
    while len(made) < 400:
        chosen = [str(word) for word in rng.choice(words.words, size=rng.integers(1, 5))]
        if rng.random() < 0.2:
            chosen[rng.integers(len(chosen))] = f"qqq{rng.choice(list('xyz'))}"
        made[" ".join(chosen)] = None
    return list(made)
