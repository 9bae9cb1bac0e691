"""Ratings: recommenders, their private versions, and what still leaks.

>>> from veil import ratings
>>> ratings.RECOMMENDERS.parse("popularity").guarantee.kind
'none'
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veil.ratings.attack import attack as attack
    from veil.ratings.attacker import Attacker as Attacker
    from veil.ratings.attacker import Outcome as Outcome
    from veil.ratings.attacks import ATTACKS as ATTACKS
    from veil.ratings.evaluate import Scores as Scores
    from veil.ratings.evaluate import evaluate as evaluate
    from veil.ratings.federated.secure import SecureSum as SecureSum
    from veil.ratings.federated.secure import secure_sum as secure_sum
    from veil.ratings.load import load as load
    from veil.ratings.plane import plane as plane
    from veil.ratings.protect import protect as protect
    from veil.ratings.protections import PROTECTIONS as PROTECTIONS
    from veil.ratings.ratings import Ratings as Ratings
    from veil.ratings.ratings import of_arrays as of_arrays
    from veil.ratings.recommender import Model as Model
    from veil.ratings.recommender import Recommender as Recommender
    from veil.ratings.recommenders import RECOMMENDERS as RECOMMENDERS
    from veil.ratings.recommenders import recommender as recommender
    from veil.ratings.release import Release as Release
    from veil.ratings.split import split as split

_PLACES = {  # where each public name lives; it is loaded when it is first asked for
    "veil.ratings.attack": "attack",
    "veil.ratings.attacker": "Attacker Outcome",
    "veil.ratings.attacks": "ATTACKS",
    "veil.ratings.evaluate": "Scores evaluate",
    "veil.ratings.federated.secure": "SecureSum secure_sum",
    "veil.ratings.load": "load",
    "veil.ratings.plane": "plane",
    "veil.ratings.protect": "protect",
    "veil.ratings.protections": "PROTECTIONS",
    "veil.ratings.ratings": "Ratings of_arrays",
    "veil.ratings.recommender": "Model Recommender",
    "veil.ratings.recommenders": "RECOMMENDERS recommender",
    "veil.ratings.release": "Release",
    "veil.ratings.split": "split",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}


class _Verbs(ModuleType):
    """A package whose verbs keep their names beside modules that are called like them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'veil.ratings' has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


sys.modules[__name__].__class__ = _Verbs
