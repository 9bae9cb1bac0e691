"""Texts to unit vectors, on the user's side: the table of encoders, each loaded on first use."""

from veil.core.registry import Registry
from veil.encoders.encoder import EncoderSpec

ENCODERS: Registry[EncoderSpec] = Registry(
    noun="encoder",
    group="veil.encoders",
    builtin={
        "huggingface": "veil.encoders.huggingface:HuggingFace",
        "minilm": "veil.encoders.minilm:MiniLM",
        "wordllama": "veil.encoders.wordllama:WordLlama",
    },
)
"""Encoders, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
