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
    from veil.sensitive.bounds import bounds as bounds
    from veil.sensitive.classifier import Classifier as Classifier
    from veil.sensitive.classifiers import CLASSIFIERS as CLASSIFIERS
    from veil.sensitive.collection import SensitiveCollection as SensitiveCollection
    from veil.sensitive.cross_validate import CrossValidated as CrossValidated
    from veil.sensitive.cross_validate import cross_validate as cross_validate
    from veil.sensitive.evaluate import evaluate as evaluate
    from veil.sensitive.load import load as load
    from veil.sensitive.optimum import optimum as optimum
    from veil.sensitive.plane import plane as plane
    from veil.sensitive.rank import rank as rank
    from veil.sensitive.scores import Scores as Scores
    from veil.sensitive.shown import Shown as Shown
    from veil.sensitive.simulate import simulate as simulate
    from veil.sensitive.strategies import STRATEGIES as STRATEGIES
    from veil.sensitive.strategy import Strategy as Strategy
    from veil.sensitive.train import train as train

_PLACES = {  # where each public name lives
    "veil.sensitive.attack": "attack",
    "veil.sensitive.attacker": "Attacker Exposure",
    "veil.sensitive.attackers": "ATTACKERS",
    "veil.sensitive.bounds": "bounds",
    "veil.sensitive.classifier": "Classifier",
    "veil.sensitive.classifiers": "CLASSIFIERS",
    "veil.sensitive.collection": "SensitiveCollection",
    "veil.sensitive.cross_validate": "CrossValidated cross_validate",
    "veil.sensitive.evaluate": "evaluate",
    "veil.sensitive.load": "load",
    "veil.sensitive.optimum": "optimum",
    "veil.sensitive.plane": "plane",
    "veil.sensitive.rank": "rank",
    "veil.sensitive.scores": "Scores",
    "veil.sensitive.shown": "Shown",
    "veil.sensitive.simulate": "simulate",
    "veil.sensitive.strategies": "STRATEGIES",
    "veil.sensitive.strategy": "Strategy",
    "veil.sensitive.train": "train",
}

facade(__name__, _PLACES, rooms=("attackers", "classifiers", "strategies"))
