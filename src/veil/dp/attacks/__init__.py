"""The registry of attacks on answers; each is loaded on first use."""

from veil.core.registry import Registry
from veil.dp.attack import Attack as Attack

ATTACKS: Registry[Attack] = Registry(
    noun="attack",
    group="veil.attacks.dp",
    builtin={
        "averaging": "veil.dp.attacks.differencing:Averaging",
        "differencing": "veil.dp.attacks.differencing:Differencing",
        "membership": "veil.dp.attacks.membership:Membership",
        "reconstruction": "veil.dp.attacks.reconstruct:Reconstruction",
        "tracker": "veil.dp.attacks.differencing:Tracker",
    },
)
"""Attacks on answers, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
