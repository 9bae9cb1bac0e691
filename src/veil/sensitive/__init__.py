"""Search among sensitive documents: protection, its cost, and the remaining leaks.

>>> from veil import sensitive
>>> sensitive.bounds({"a": 2}, {"a": 0, "b": 1}, k=5, cost=12.0)
(3.0, -12.0)
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.core.former_outcomes import Exposure as Exposure
    from veil.sensitive.attack import Attack as Attack
    from veil.sensitive.attack import attack as attack
    from veil.sensitive.attacks import ATTACKS as ATTACKS
    from veil.sensitive.classifiers import CLASSIFIERS as CLASSIFIERS
    from veil.sensitive.classifiers import Classifier as Classifier
    from veil.sensitive.collection import SensitiveCollection as SensitiveCollection
    from veil.sensitive.collection import load as load
    from veil.sensitive.collection import simulate as simulate
    from veil.sensitive.cross_validate import CrossValidated as CrossValidated
    from veil.sensitive.cross_validate import cross_validate as cross_validate
    from veil.sensitive.cross_validate import train as train
    from veil.sensitive.evaluate import Scores as Scores
    from veil.sensitive.evaluate import bounds as bounds
    from veil.sensitive.evaluate import evaluate as evaluate
    from veil.sensitive.evaluate import rank as rank
    from veil.sensitive.measures import MEASURES as MEASURES
    from veil.sensitive.mechanism import Mechanism as Mechanism
    from veil.sensitive.mechanism import Shown as Shown
    from veil.sensitive.mechanisms import MECHANISMS as MECHANISMS
    from veil.sensitive.mechanisms import mechanism as mechanism
    from veil.sensitive.mechanisms.optimum import optimum as optimum
    from veil.sensitive.plane import plane as plane

_PLACES = {
    "veil.core.former_outcomes": "Exposure",
    "veil.sensitive.attack": "Attack attack",
    "veil.sensitive.attacks": "ATTACKS",
    "veil.sensitive.evaluate": "bounds evaluate Scores rank",
    "veil.sensitive.classifiers": "Classifier CLASSIFIERS",
    "veil.sensitive.collection": "SensitiveCollection load simulate",
    "veil.sensitive.cross_validate": "CrossValidated cross_validate train",
    "veil.sensitive.mechanisms.optimum": "optimum",
    "veil.sensitive.plane": "plane",
    "veil.sensitive.measures": "MEASURES",
    "veil.sensitive.mechanism": "Shown Mechanism",
    "veil.sensitive.mechanisms": "MECHANISMS mechanism",
}

_FORMER = {
    "ATTACKERS": "ATTACKS",
    "Attacker": "Attack",
    "STRATEGIES": "MECHANISMS",
    "Strategy": "Mechanism",
}

facade(
    __name__,
    _PLACES,
    subpackages=("attackers", "attacks", "classifiers", "mechanisms", "strategies"),
    former=_FORMER,
)
