"""Texts, words and a model of them, made for the checks."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from veil.core.types import Role, Singles
from veil.text.vectors.embeddings import Embeddings


def small_log() -> tuple[Embeddings, list[str]]:
    """Return word vectors, and texts of three of the words each."""
    rng = np.random.default_rng(5)
    words = tuple(f"{a}{b}" for a in "bdfgklmnprst" for b in ("ano", "elu", "ira", "omi", "ute"))
    space = Embeddings(words, rng.normal(size=(len(words), 6)).astype(np.float32), "check")
    return space, list(dict.fromkeys(" ".join(rng.choice(words, 3)) for _ in range(200)))


class Letters:
    """A model of texts that counts pairs of letters: enough to tell words apart."""

    key, dim = "letters", 256

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim)."""
        del role
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(out, texts, strict=True):
            for pair in pairwise(f" {text} "):
                row[(31 * ord(pair[0]) + ord(pair[1])) % self.dim] += 1
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        made: Singles = (out / np.where(norms > 0, norms, 1)).astype(np.float32)
        return made
