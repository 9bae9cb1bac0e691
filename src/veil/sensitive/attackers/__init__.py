"""Attackers on searchable collections by name; plugins: ``veil.sensitive.attackers``."""

from veil.core.registry import Registry
from veil.sensitive.attacker import Attacker

ATTACKERS: Registry[Attacker] = Registry(
    "attacker",
    "veil.sensitive.attackers",
    {
        "count": "veil.sensitive.attackers.known_item:Count",
        "frequency": "veil.sensitive.attackers.frequency:Frequency",
        "gap": "veil.sensitive.attackers.known_item:Gap",
        "known-item": "veil.sensitive.attackers.known_item:KnownItem",
        "queries": "veil.sensitive.attackers.known_item:Queries",
    },
)
"""Attackers of sensitive search, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def attacker(spec: str | Attacker) -> Attacker:
    """Return an attacker by its spec, as ``known-item(terms=5)``."""
    return spec if isinstance(spec, Attacker) else ATTACKERS.parse(spec)
