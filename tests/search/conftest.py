"""A small collection and an encoder that needs no model."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space

from veil.core.types import Role, Singles
from veil.corpus.collection import Collection, Document, Documents
from veil.text.vectors.embeddings import Embeddings


class BagEncoder:
    """Adds up one fixed random vector per word: texts that share words are near."""

    key = "bag"
    dim = 32

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        self.encoded += texts
        rows = [
            sum((self._word(w) for w in text.lower().split()), self._word("")) for text in texts
        ]
        out = np.array(rows).reshape(len(texts), self.dim)
        unit: Singles = (out / np.linalg.norm(out, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _word(self, word: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        return np.random.default_rng(seed).normal(size=self.dim)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def encoder() -> BagEncoder:
    return BagEncoder()


@pytest.fixture
def words() -> Embeddings:
    """Three hundred words, near to each other: any budget moves them."""
    space = make_space(300, 6)
    return Embeddings(space.words, 0.2 * space.vectors, "words")


@pytest.fixture
def collection(words: Embeddings) -> Collection:
    """Two hundred documents over the words of the space."""
    rng = np.random.default_rng(7)
    return Collection(
        "small",
        Documents.of(
            Document(
                f"d{i}",
                str(rng.choice(words.words)) if i % 3 else "",
                " ".join(rng.choice(words.words, size=rng.integers(3, 12))),
            )
            for i in range(200)
        ),
    )
