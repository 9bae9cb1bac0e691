"""Attackers on searchable collections by name; plugins: ``veil.sensitive.attackers``."""

from veil.core.registry import Registry
from veil.sensitive.attacker import Attacker

ATTACKERS: Registry[Attacker] = Registry(
    "attacker",
    "veil.sensitive.attackers",
    {
        "count": "veil.sensitive.attacks.count:Count",
        "frequency": "veil.sensitive.attacks.frequency:Frequency",
        "gap": "veil.sensitive.attacks.gap:Gap",
        "known-item": "veil.sensitive.attacks.known_item:KnownItem",
        "queries": "veil.sensitive.attacks.queries:Queries",
    },
)
"""Attackers of sensitive search, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def attacker(spec: str | Attacker) -> Attacker:
    """Return an attacker by its spec, as ``known-item(terms=5)``."""
    return ATTACKERS.parse(spec) if isinstance(spec, str) else spec
