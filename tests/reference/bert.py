"""BERT for sentences as the papers write it, one text at a time and in float64."""

from collections.abc import Mapping, Sequence
from math import erf

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats


def encode(
    weights: Mapping[str, NDArray[np.float32]], ids: Sequence[int], heads: int, eps: float
) -> Floats:
    """Return the unit vector of one text, given as token ids."""
    wide = {name: array.astype(np.float64) for name, array in weights.items()}
    x = wide["embeddings.word_embeddings.weight"][list(ids)]
    x = x + wide["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + wide["embeddings.token_type_embeddings.weight"][0]
    x = _norm(x, wide, "embeddings.LayerNorm", eps)
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in wide:
        name = f"encoder.layer.{layer}"
        seen = _attention(x, wide, f"{name}.attention.self", heads)
        seen = _linear(seen, wide, f"{name}.attention.output.dense")
        x = _norm(x + seen, wide, f"{name}.attention.output.LayerNorm", eps)
        inner = _linear(x, wide, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        x = _norm(
            x + _linear(inner, wide, f"{name}.output.dense"), wide, f"{name}.output.LayerNorm", eps
        )
        layer += 1
    mean: Floats = x.mean(axis=0)
    vector: Floats = mean / np.sqrt((mean * mean).sum())
    return vector


def _attention(x: Floats, wide: Mapping[str, Floats], name: str, heads: int) -> Floats:
    query, key, value = (_linear(x, wide, f"{name}.{part}") for part in ("query", "key", "value"))
    size = x.shape[1] // heads
    out = np.empty_like(x)
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        scores = np.exp(query[:, own] @ key[:, own].T / np.sqrt(size))
        out[:, own] = scores / scores.sum(axis=1, keepdims=True) @ value[:, own]
    return out


def _linear(x: Floats, wide: Mapping[str, Floats], name: str) -> Floats:
    return x @ wide[f"{name}.weight"].T + wide[f"{name}.bias"]


def _norm(x: Floats, wide: Mapping[str, Floats], name: str, eps: float) -> Floats:
    centred = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps)
    out: Floats = centred / spread * wide[f"{name}.weight"] + wide[f"{name}.bias"]
    return out
