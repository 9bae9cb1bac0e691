"""Attacks on texts and queries. Each is loaded on first use."""

from veil.core.former import warn_renamed
from veil.core.registry import Registry
from veil.text.attacks.attack import Attack as Attack
from veil.text.attacks.attack import EncoderAttack as EncoderAttack
from veil.text.attacks.attack import Outcome as Outcome
from veil.text.attacks.attack import Scene as Scene

ATTACKS: Registry[Attack] = Registry(
    noun="attack",
    group="veil.attacks.text",
    former=("veil.attacks.words",),
    builtin={
        "bayes": "veil.text.attacks.bayes:Bayes",
        "crossencoder": "veil.text.attacks.candidates:CrossEncoder",
        "inference": "veil.text.attacks.inference:Inference",
        "intersect": "veil.text.attacks.bayes:Intersect",
        "judge": "veil.text.attacks.candidates:Judge",
        "linkage": "veil.text.attacks.session:Linkage",
        "reconstruct": "veil.text.attacks.bayes:Reconstruct",
        "rerun": "veil.text.attacks.rerun:Rerun",
        "session": "veil.text.attacks.session:Session",
        "shortlist": "veil.text.attacks.shortlist:Shortlist",
        "topic": "veil.text.attacks.topic:Topic",
    },
)
"""Attacks, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""


def __getattr__(name: str) -> object:
    if name == "AttackSpec":
        warn_renamed("veil.text.attacks.AttackSpec", "veil.text.attacks.Attack")
        return Attack
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
