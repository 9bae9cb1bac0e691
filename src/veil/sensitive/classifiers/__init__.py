"""Classifiers of sensitivity: their contract and their registry."""

from abc import ABC, abstractmethod

from veil.core.component import Component
from veil.core.registry import Registry
from veil.core.types import Floats, Ids
from veil.sensitive.collection import Labels
from veil.sensitive.features import Features, Numbers


class Classifier(Component):
    """Learns from labelled documents, deterministically; its fields are its parameters."""

    features: Features

    @abstractmethod
    def fit(self, numbers: Numbers, rows: Ids, labels: Labels) -> "Fitted":
        """Learn from the documents `rows`; `labels` (n,) are of all, and others are not read."""


class Fitted(ABC):
    """What was learnt: scores of any document, higher is more likely sensitive; uncalibrated."""

    @abstractmethod
    def scores(self, numbers: Numbers, rows: Ids) -> Floats:
        """Return a score (m,) of each of `rows` on the scale of log-odds."""


CLASSIFIERS: Registry[Classifier] = Registry(
    noun="classifier",
    group="veil.classifiers.sensitive",
    former=("veil.sensitive.classifiers",),
    builtin={
        "boosting": "veil.sensitive.classifiers.boosting:Boosting",
        "logistic": "veil.sensitive.classifiers.logistic:Logistic",
    },
)
"""Classifiers of sensitive documents, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def classifier(spec: str | Classifier) -> Classifier:
    """Return a classifier by its spec, as ``logistic(C=10)``."""
    return spec if isinstance(spec, Classifier) else CLASSIFIERS.parse(spec)
