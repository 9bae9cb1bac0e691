"""Encoders: map texts to unit vectors on the user's machine. Each is loaded on first use."""

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
"""Encoders, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""
