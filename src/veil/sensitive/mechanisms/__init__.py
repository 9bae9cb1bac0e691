"""Registry of mechanisms; plugins use the entry-point group ``veil.mechanisms.sensitive``."""

from veil.core.registry import Registry
from veil.sensitive.mechanism import Mechanism

MECHANISMS: Registry[Mechanism] = Registry(
    noun="mechanism",
    group="veil.mechanisms.sensitive",
    former=("veil.sensitive.strategies",),
    builtin={
        "demoted": "veil.sensitive.mechanisms.learnt:Demoted",
        "joint": "veil.sensitive.mechanisms.learnt:Joint",
        "optimum": "veil.sensitive.mechanisms.optimum:Optimum",
        "postfilter": "veil.sensitive.mechanisms.filters:Postfilter",
        "prefilter": "veil.sensitive.mechanisms.filters:Prefilter",
        "relevance": "veil.sensitive.mechanisms.filters:Relevance",
    },
)
"""All mechanisms of sensitive search, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def mechanism(spec: str | Mechanism) -> Mechanism:
    """Return the mechanism of a spec such as ``postfilter(threshold=0.1)``."""
    return spec if isinstance(spec, Mechanism) else MECHANISMS.parse(spec)
