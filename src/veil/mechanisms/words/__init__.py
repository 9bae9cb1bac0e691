"""The table of word mechanisms; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.mechanisms.words.mechanism import WordMechanism

MECHANISMS: Registry[WordMechanism] = Registry(
    noun="mechanism",
    group="veil.mechanisms.words",
    builtin={
        "cmp": "veil.mechanisms.words.cmp:CMP",
        "custext": "veil.mechanisms.words.custext:CusText",
        "mahalanobis": "veil.mechanisms.words.mahalanobis:Mahalanobis",
        "santext": "veil.mechanisms.words.santext:SanText",
        "tem": "veil.mechanisms.words.tem:TEM",
        "vickrey": "veil.mechanisms.words.vickrey:Vickrey",
        "wbb": "veil.mechanisms.words.wbb:WBB",
    },
)
