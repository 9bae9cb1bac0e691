"""An encoder as another package brings it: one random vector per word, and a fault on demand.

`tests.web.serving` announces it to the server that it starts. It imports nothing slow.
"""

import hashlib
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from veil.core.types import Role, Singles
from veil.data.fetch import Report, no_progress
from veil.encoders.encoder import EncoderSpec, unit

FAULT = "kaboom"  # a text with this word is one that the encoder fails on


class Bag(EncoderSpec):
    """Texts that share words are near."""

    name: ClassVar[str] = "bag"

    def open(self, report: Report = no_progress) -> "BagOfWords":
        """Return the encoder; there is nothing to fetch."""
        del report
        return BagOfWords()


class BagOfWords:
    """Adds up one fixed random vector per word."""

    key = "bag"
    dim = 16

    def encode(
        self, texts: Sequence[str], role: Role = "document", report: Report = no_progress
    ) -> Singles:
        """Map texts to unit vectors (n, dim)."""
        del role, report
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            if FAULT in text:
                raise RuntimeError(f"cannot encode {text!r}")  # as careless code puts it
            for word in ["", *text.lower().split()]:
                row += _vector(word)
        return unit(rows)


def _vector(word: str) -> Singles:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5
