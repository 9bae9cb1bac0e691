"""Encode what is new, and take over the vectors of texts that were encoded before."""

from collections.abc import Sequence

import numpy as np

from veil.core.types import Encoder, Role, Singles
from veil.encoders.vectors import DocumentVectors


class Known:
    """An encoder that looks documents up among vectors of the same encoder, by their content."""

    def __init__(self, encoder: Encoder, vectors: DocumentVectors) -> None:
        self._encoder, self._vectors = encoder, vectors

    @property
    def key(self) -> str:
        """That of the encoder: the vectors are the same."""
        return self._encoder.key

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self._encoder.dim

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim); queries are always encoded."""
        if role != "document" or self._vectors.key != self.key:
            return self._encoder.encode(texts, role)
        places = self._vectors.lookup(texts)
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        rows[places >= 0] = self._vectors.vectors[places[places >= 0]]
        fresh = [text for text, place in zip(texts, places, strict=True) if place < 0]
        if fresh:
            rows[places < 0] = self._encoder.encode(fresh, role)
        return rows
