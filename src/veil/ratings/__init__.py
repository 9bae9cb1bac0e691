"""Ratings: recommenders, their private versions, and what still leaks.

>>> from veil import ratings
>>> ratings.RECOMMENDERS.parse("popularity").guarantee.kind
'none'
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.core.former_outcomes import Outcome as Outcome
    from veil.ratings.attack import Attack as Attack
    from veil.ratings.attack import attack as attack
    from veil.ratings.attacks import ATTACKS as ATTACKS
    from veil.ratings.evaluate import Scores as Scores
    from veil.ratings.evaluate import evaluate as evaluate
    from veil.ratings.federated.secure import SecureSum as SecureSum
    from veil.ratings.federated.secure import secure_sum as secure_sum
    from veil.ratings.measures import MEASURES as MEASURES
    from veil.ratings.mechanisms import MECHANISMS as MECHANISMS
    from veil.ratings.mechanisms import mechanism as mechanism
    from veil.ratings.plane import plane as plane
    from veil.ratings.protect import protect as protect
    from veil.ratings.ratings import Ratings as Ratings
    from veil.ratings.ratings import of_arrays as of_arrays
    from veil.ratings.reader import load as load
    from veil.ratings.recommender import Model as Model
    from veil.ratings.recommender import Recommender as Recommender
    from veil.ratings.recommenders import RECOMMENDERS as RECOMMENDERS
    from veil.ratings.recommenders import recommender as recommender
    from veil.ratings.release import Release as Release
    from veil.ratings.split import split as split

_PLACES = {
    "veil.core.former_outcomes": "Outcome",
    "veil.ratings.attack": "Attack attack",
    "veil.ratings.attacks": "ATTACKS",
    "veil.ratings.evaluate": "Scores evaluate",
    "veil.ratings.federated.secure": "SecureSum secure_sum",
    "veil.ratings.reader": "load",
    "veil.ratings.plane": "plane",
    "veil.ratings.protect": "protect",
    "veil.ratings.measures": "MEASURES",
    "veil.ratings.mechanisms": "MECHANISMS mechanism",
    "veil.ratings.ratings": "Ratings of_arrays",
    "veil.ratings.recommender": "Model Recommender",
    "veil.ratings.recommenders": "RECOMMENDERS recommender",
    "veil.ratings.release": "Release",
    "veil.ratings.split": "split",
}

_FORMER = {"Attacker": "Attack", "PROTECTIONS": "MECHANISMS"}

facade(__name__, _PLACES, former=_FORMER)
