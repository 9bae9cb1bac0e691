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
        """Return a model of the documents `rows`; of `labels` (n,) only theirs are read."""


class Fitted(ABC):
    """A trained classifier; higher scores are more likely sensitive, and uncalibrated."""

    @abstractmethod
    def scores(self, numbers: Numbers, rows: Ids) -> Floats:
        """Return a score (m,) of each of `rows`, as log-odds."""


CLASSIFIERS: Registry[Classifier] = Registry(
    noun="classifier",
    group="veil.classifiers.sensitive",
    former=("veil.sensitive.classifiers",),
    builtin={
        "boosting": "veil.sensitive.classifiers.boosting:Boosting",
        "logistic": "veil.sensitive.classifiers.logistic:Logistic",
    },
)
"""All classifiers of sensitivity, also of plugins: `names()`, `get(name)`, `parse(spec)`."""


def classifier(spec: str | Classifier) -> Classifier:
    """Return the classifier of a spec such as ``logistic(C=10)``."""
    return spec if isinstance(spec, Classifier) else CLASSIFIERS.parse(spec)
