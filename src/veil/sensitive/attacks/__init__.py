"""Registry of attacks on search; plugins use the entry-point group ``veil.attacks.sensitive``."""

from veil.core.registry import Registry
from veil.sensitive.attack import Attack

ATTACKS: Registry[Attack] = Registry(
    noun="attack",
    group="veil.attacks.sensitive",
    former=("veil.sensitive.attackers",),
    builtin={
        "count": "veil.sensitive.attacks.known_item:Count",
        "frequency": "veil.sensitive.attacks.frequency:Frequency",
        "gap": "veil.sensitive.attacks.known_item:Gap",
        "known-item": "veil.sensitive.attacks.known_item:KnownItem",
        "queries": "veil.sensitive.attacks.known_item:Queries",
    },
)
"""All attacks on sensitive search, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def attacker(spec: str | Attack) -> Attack:
    """Return the attack of a spec such as ``known-item(terms=5)``."""
    return spec if isinstance(spec, Attack) else ATTACKS.parse(spec)
