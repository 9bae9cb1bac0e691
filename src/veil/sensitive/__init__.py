"""Search among sensitive documents: what may be shown, at what cost, and what still leaks.

>>> from veil import sensitive
>>> sensitive.bounds({"a": 2}, {"a": 0, "b": 1}, k=5, cost=12.0)
(3.0, -12.0)
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.sensitive.attack import attack as attack
    from veil.sensitive.attacker import Attacker as Attacker
    from veil.sensitive.attacker import Exposure as Exposure
    from veil.sensitive.attackers import ATTACKERS as ATTACKERS
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
    from veil.sensitive.plane import plane as plane
    from veil.sensitive.rank import rank as rank
    from veil.sensitive.strategies import STRATEGIES as STRATEGIES
    from veil.sensitive.strategies.optimum import optimum as optimum
    from veil.sensitive.strategy import Shown as Shown
    from veil.sensitive.strategy import Strategy as Strategy

_PLACES = {
    "veil.sensitive.attack": "attack",
    "veil.sensitive.attacker": "Attacker Exposure",
    "veil.sensitive.attackers": "ATTACKERS",
    "veil.sensitive.evaluate": "bounds evaluate Scores",
    "veil.sensitive.classifiers": "Classifier CLASSIFIERS",
    "veil.sensitive.collection": "SensitiveCollection load simulate",
    "veil.sensitive.cross_validate": "CrossValidated cross_validate train",
    "veil.sensitive.strategies.optimum": "optimum",
    "veil.sensitive.plane": "plane",
    "veil.sensitive.rank": "rank",
    "veil.sensitive.strategy": "Shown Strategy",
    "veil.sensitive.strategies": "STRATEGIES",
}

facade(__name__, _PLACES, subpackages=("attackers", "classifiers", "strategies"))
