"""Measures of texts and their variants. Each is loaded on first use."""

from veil.core.registry import Registry
from veil.text.measures.measure import Comparison as Comparison
from veil.text.measures.measure import PairMeasure as PairMeasure
from veil.text.measures.measure import TextMeasure as TextMeasure

MEASURES: Registry[TextMeasure] = Registry(
    noun="measure",
    group="veil.measures.text",
    builtin={
        "jaccard": "veil.text.measures.similarity:Jaccard",
        "cosine": "veil.text.measures.similarity:Cosine",
        "bleu": "veil.text.measures.similarity:BLEU",
        "meteor": "veil.text.measures.similarity:METEOR",
        "N_w": "veil.text.measures.uncertainty:Itself",
        "S_w": "veil.text.measures.uncertainty:Support",
    },
)
"""Measures, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""
