"""Places: points and traces that are masked, and what an attacker still finds of them.

>>> from veil import places
>>> places.displacement("donut(low=50, high=500, by='radius')").mean
275.0
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

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

_PLACES = {  # where each public name lives
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

facade(__name__, _PLACES, rooms=("attackers", "methods"))
