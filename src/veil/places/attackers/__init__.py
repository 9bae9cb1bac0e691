"""The table of attackers; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.places.attacker import Attacker as Attacker

ATTACKERS: Registry[Attacker] = Registry(
    noun="attacker",
    group="veil.places.attackers",
    builtin={
        "align": "veil.places.attackers.align:Align",
        "average": "veil.places.attackers.average:Average",
        "bayes": "veil.places.attackers.bayes:Bayes",
        "home": "veil.places.attackers.home:Home",
        "matching": "veil.places.attackers.matching:Matching",
        "nearest": "veil.places.attackers.nearest:Nearest",
    },
)
"""Attackers of points, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
