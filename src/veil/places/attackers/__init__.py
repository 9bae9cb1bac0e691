"""The table of attackers; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.places.attacker import Attacker as Attacker

ATTACKERS: Registry[Attacker] = Registry(
    noun="attacker",
    group="veil.places.attackers",
    builtin={
        "align": "veil.places.attackers.addresses:Align",
        "average": "veil.places.attackers.addresses:Average",
        "bayes": "veil.places.attackers.addresses:Bayes",
        "home": "veil.places.attackers.home:Home",
        "matching": "veil.places.attackers.addresses:Matching",
        "nearest": "veil.places.attackers.addresses:Nearest",
    },
)
"""Attackers of points, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
