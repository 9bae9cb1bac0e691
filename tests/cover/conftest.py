"""A small public universe, and an encoder that knows words alone."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest

from veil.core.types import Singles
from veil.cover import Table, build

TOPICS = ("heart", "skin", "lung", "bone")
KINDS = "acute chronic benign rare early late mild severe".split()


class Bag:
    """Encodes a text as the sum of fixed random vectors of its words."""

    key, dim, network = "bag-of-words", 32, False

    def encode(self, texts: Sequence[str], role: str = "document") -> Singles:
        del role
        rows = np.zeros((len(texts), self.dim))
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
                rng = np.random.default_rng(int.from_bytes(digest))
                row += (3 if word in TOPICS else 1) * rng.normal(size=self.dim)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@pytest.fixture(autouse=True)
def bag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.cover.table.open_encoder", lambda spec: Bag())


@pytest.fixture
def texts() -> list[str]:
    """128 texts on four topics."""
    return [
        f"{topic} {kind} {disease}"
        for topic in TOPICS
        for kind in KINDS
        for disease in ("tumour", "pain", "infection", "injury")
    ]


@pytest.fixture
def table(texts: list[str]) -> Table:
    return build(texts, tracks=4, cell=4)
