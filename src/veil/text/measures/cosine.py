"""Cosine: how near the vectors of two texts are."""

from typing import ClassVar

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats
from veil.text.measures.measure import Comparison, PairMeasure

_AT_ONCE = 8192  # texts encoded at a time


class Cosine(PairMeasure):
    """The cosine of the sentence vectors; each distinct text is encoded once."""

    name: ClassVar[str] = "cosine"
    says: ClassVar[str] = "Cosine between the sentence vectors of a text and a variant."
    lowest: ClassVar[float] = -1.0
    needs: ClassVar[frozenset[str]] = frozenset({"encoder"})

    def scores(self, given: Comparison) -> Floats:
        """Compare the vectors of each pair."""
        if given.encoder is None:
            raise ParameterError("The cosine needs an encoder: give encoder=.")
        texts = sorted({text for pair in given.pairs for text in pair}, key=len)
        place = {text: i for i, text in enumerate(texts)}
        parts = [
            given.encoder.encode(texts[start : start + _AT_ONCE], "query")
            for start in range(0, len(texts), _AT_ONCE)
        ]
        out = np.empty(len(given.pairs))
        if not parts:
            return out
        vectors = np.concatenate(parts)
        one, other = (np.array([place[pair[side]] for pair in given.pairs]) for side in (0, 1))
        for start in range(0, len(out), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            left, right = (vectors[side[part]].astype(np.float64) for side in (one, other))
            out[part] = np.einsum("ij,ij->i", left, right)
        return np.clip(out, -1, 1)
