"""Places: points and traces that are masked, and what an attacker still finds of them.

>>> from veil import places
>>> places.displacement("donut(low=50, high=500, by='radius')").mean
275.0
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veil.places import attackers as attackers
    from veil.places import methods as methods
    from veil.places.attack import attack as attack
    from veil.places.attackers import ATTACKERS as ATTACKERS
    from veil.places.budget import Budget as Budget
    from veil.places.claims import audit_claim as audit_claim
    from veil.places.displacement import displacement as displacement
    from veil.places.formats.load import load as load
    from veil.places.formats.save import save as save
    from veil.places.found import Found as Found
    from veil.places.k import spatial_k as spatial_k
    from veil.places.localise import localise as localise
    from veil.places.measures.utility import Utility as Utility
    from veil.places.measures.utility import utility as utility
    from veil.places.method import Method as Method
    from veil.places.methods import METHODS as METHODS
    from veil.places.methods import method as method
    from veil.places.plane import plane as plane
    from veil.places.plot import plot as plot
    from veil.places.points import Points as Points
    from veil.places.projection import destination as destination
    from veil.places.projection import distance as distance
    from veil.places.protect import protect as protect
    from veil.places.radius import radius_for_k as radius_for_k
    from veil.places.release import Release as Release
    from veil.places.risk import risk as risk
    from veil.places.thin import thin as thin

_PLACES = {  # where each public name lives; it is loaded when it is first asked for
    "veil.places.attack": "attack",
    "veil.places.attackers": "ATTACKERS",
    "veil.places.budget": "Budget",
    "veil.places.claims": "audit_claim",
    "veil.places.displacement": "displacement",
    "veil.places.formats.load": "load",
    "veil.places.formats.save": "save",
    "veil.places.found": "Found",
    "veil.places.k": "spatial_k",
    "veil.places.localise": "localise",
    "veil.places.measures.utility": "Utility utility",
    "veil.places.method": "Method",
    "veil.places.methods": "METHODS method",
    "veil.places.plane": "plane",
    "veil.places.plot": "plot",
    "veil.places.points": "Points",
    "veil.places.projection": "destination distance",
    "veil.places.protect": "protect",
    "veil.places.radius": "radius_for_k",
    "veil.places.release": "Release",
    "veil.places.risk": "risk",
    "veil.places.thin": "thin",
}
_TABLES = ("attackers", "methods")  # packages whose registries a caller adds to
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}


class _Verbs(ModuleType):
    """A package whose verbs keep their names beside modules that are called like them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name in _TABLES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'veil.places' has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_TABLES})


sys.modules[__name__].__class__ = _Verbs
