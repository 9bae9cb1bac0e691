"""Query mechanisms. Each is loaded on first use."""

from veil.core.registry import Registry
from veil.text.mechanisms.mechanism import QueryMechanism

QUERY_MECHANISMS: Registry[QueryMechanism] = Registry(
    noun="mechanism",
    group="veil.mechanisms.queries",
    builtin={
        "aea": "veil.text.mechanisms.queries.aea:AEA",
        "blind": "veil.text.mechanisms.queries.blind:Blind",
        "cover": "veil.text.mechanisms.queries.cover:Cover",
        "fea": "veil.text.mechanisms.queries.fea:FEA",
    },
)
"""Query mechanisms, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""
