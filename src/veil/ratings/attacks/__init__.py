"""Registry of attacks on ratings; plugins use the entry-point group ``veil.attacks.ratings``."""

from veil.core.registry import Registry
from veil.ratings.attack import Attack

ATTACKS: Registry[Attack] = Registry(
    noun="attack",
    group="veil.attacks.ratings",
    former=("veil.ratings.attacks",),
    builtin={
        "attribute": "veil.ratings.attacks.attribute:Attribute",
        "bayes": "veil.ratings.attacks.bayes:Bayes",
        "gradient": "veil.ratings.attacks.gradient:Gradient",
        "lists": "veil.ratings.attacks.lists:Lists",
        "membership": "veil.ratings.attacks.membership:Membership",
        "scoreboard": "veil.ratings.attacks.linkage:Scoreboard",
    },
)
"""All attacks on ratings, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
