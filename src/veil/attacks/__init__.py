"""The table of attackers; each row is loaded on first use."""

from veil.attacks.attack import AttackSpec
from veil.core.registry import Registry

ATTACKS: Registry[AttackSpec] = Registry(
    noun="attacker",
    group="veil.attacks.words",
    builtin={
        "bayes": "veil.attacks.bayes:Bayes",
        "inference": "veil.attacks.inference:Inference",
        "intersect": "veil.attacks.intersect:Intersect",
        "linkage": "veil.attacks.linkage:Linkage",
        "reconstruct": "veil.attacks.reconstruct:Reconstruct",
    },
)
