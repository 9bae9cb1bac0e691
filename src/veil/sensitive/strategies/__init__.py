"""Strategies by name; a plugin announces its own in ``veil.sensitive.strategies``."""

from veil.core.registry import Registry
from veil.sensitive.strategy import Strategy

STRATEGIES: Registry[Strategy] = Registry(
    "strategy",
    "veil.sensitive.strategies",
    {
        "demoted": "veil.sensitive.strategies.learnt:Demoted",
        "joint": "veil.sensitive.strategies.learnt:Joint",
        "optimum": "veil.sensitive.strategies.optimum:Optimum",
        "postfilter": "veil.sensitive.strategies.filters:Postfilter",
        "prefilter": "veil.sensitive.strategies.filters:Prefilter",
        "relevance": "veil.sensitive.strategies.filters:Relevance",
    },
)
"""Strategies of sensitive search, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def strategy(spec: str | Strategy) -> Strategy:
    """Return a strategy by its spec, as ``postfilter(threshold=0.1)``."""
    return spec if isinstance(spec, Strategy) else STRATEGIES.parse(spec)
