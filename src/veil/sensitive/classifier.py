"""What every classifier of sensitivity declares."""

from abc import ABC, abstractmethod

from veil.core.component import Component
from veil.core.types import Floats, Ids
from veil.sensitive.collection import Labels
from veil.sensitive.features.reader import Features, Numbers


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
