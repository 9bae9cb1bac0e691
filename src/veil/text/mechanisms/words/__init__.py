"""Word mechanisms. Each is loaded on first use."""

from veil.core.registry import Registry
from veil.text.mechanisms.mechanism import WordMechanism as WordMechanism

MECHANISMS: Registry[WordMechanism] = Registry(
    noun="mechanism",
    group="veil.mechanisms.words",
    builtin={
        "cmp": "veil.text.mechanisms.words.cmp:CMP",
        "custext": "veil.text.mechanisms.words.custext:CusText",
        "mahalanobis": "veil.text.mechanisms.words.mahalanobis:Mahalanobis",
        "santext": "veil.text.mechanisms.words.santext:SanText",
        "tem": "veil.text.mechanisms.words.tem:TEM",
        "vickrey": "veil.text.mechanisms.words.vickrey:Vickrey",
        "wbb": "veil.text.mechanisms.words.wbb:WBB",
    },
)
"""Word mechanisms, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""
