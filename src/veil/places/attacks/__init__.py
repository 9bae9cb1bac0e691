"""Attacks on places by name; each is loaded on first use."""

from veil.core.registry import Registry
from veil.places.attack import Attack as Attack

ATTACKS: Registry[Attack] = Registry(
    noun="attack",
    group="veil.attacks.places",
    former=("veil.places.attackers",),
    builtin={
        "align": "veil.places.attacks.addresses:Align",
        "average": "veil.places.attacks.addresses:Average",
        "bayes": "veil.places.attacks.addresses:Bayes",
        "home": "veil.places.attacks.home:Home",
        "matching": "veil.places.attacks.addresses:Matching",
        "nearest": "veil.places.attacks.addresses:Nearest",
    },
)
"""Attacks on places, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""
