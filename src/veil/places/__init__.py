"""Mask points and traces on a map, attack the releases, and measure their utility.

>>> from veil import places
>>> places.displacement("donut(low=50, high=500, by='radius')").mean
275.0
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.core.former_outcomes import Found as Found
    from veil.places import attacks as attacks
    from veil.places import mechanisms as mechanisms
    from veil.places.anonymity import displacement as displacement
    from veil.places.anonymity import spatial_k as spatial_k
    from veil.places.attack import Attack as Attack
    from veil.places.attack import Ranker as Ranker
    from veil.places.attack import Scene as Scene
    from veil.places.attack import attack as attack
    from veil.places.attack import risk as risk
    from veil.places.attacks import ATTACKS as ATTACKS
    from veil.places.attacks.addresses import localise as localise
    from veil.places.claims import audit_claim as audit_claim
    from veil.places.formats.files import load as load
    from veil.places.formats.files import save as save
    from veil.places.measures import MEASURES as MEASURES
    from veil.places.measures import Utility as Utility
    from veil.places.measures import utility as utility
    from veil.places.mechanism import Mechanism as Mechanism
    from veil.places.mechanisms import MECHANISMS as MECHANISMS
    from veil.places.mechanisms import mechanism as mechanism
    from veil.places.neighbours import radius_for_k as radius_for_k
    from veil.places.pictures import plot as plot
    from veil.places.plane import plane as plane
    from veil.places.points import Points as Points
    from veil.places.points import thin as thin
    from veil.places.projection import destination as destination
    from veil.places.projection import distance as distance
    from veil.places.protect import Budget as Budget
    from veil.places.protect import protect as protect
    from veil.places.release import Release as Release

_PLACES = {
    "veil.core.former_outcomes": "Found",
    "veil.places.attack": "Attack Ranker Scene attack risk",
    "veil.places.attacks": "ATTACKS",
    "veil.places.attacks.addresses": "localise",
    "veil.places.protect": "Budget protect",
    "veil.places.claims": "audit_claim",
    "veil.places.anonymity": "displacement spatial_k",
    "veil.places.formats.files": "load save",
    "veil.places.measures": "MEASURES Utility utility",
    "veil.places.mechanism": "Mechanism",
    "veil.places.mechanisms": "MECHANISMS mechanism",
    "veil.places.plane": "plane",
    "veil.places.pictures": "plot",
    "veil.places.points": "Points thin",
    "veil.places.projection": "destination distance",
    "veil.places.neighbours": "radius_for_k",
    "veil.places.release": "Release",
}

_FORMER = {
    "ATTACKERS": "ATTACKS",
    "METHODS": "MECHANISMS",
    "Method": "Mechanism",
    "method": "mechanism",
}

facade(
    __name__,
    _PLACES,
    subpackages=("attackers", "attacks", "mechanisms", "methods"),
    former=_FORMER,
)
