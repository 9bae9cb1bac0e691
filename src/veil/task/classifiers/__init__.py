"""Classifiers of texts: their contract and their registry."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

from pydantic import Field

from veil.core.component import Component
from veil.core.registry import Registry
from veil.core.types import Floats
from veil.data.fetch import Report, no_progress
from veil.task.labelled import Labelled

Train = Annotated[
    Literal["plain", "protected"],
    Field(description="what teaches it: plain texts, or texts that the same mechanism protected"),
]
Texts = Annotated[int, Field(ge=2, le=1_000_000, description="texts that teach it, at most")]


class Model(Protocol):
    """A classifier that was taught."""

    def shares(self, texts: Sequence[str]) -> Floats:
        """Return the share (n, classes) that each label has, for each text."""
        ...


class Classifier(Component):
    """Parameters of a classifier."""

    @property
    def taught(self) -> int:
        """How many texts teach it, at most."""
        return 0

    @property
    def protected(self) -> bool:
        """Whether protected texts teach it."""
        return False

    @abstractmethod
    def key(self, report: Report = no_progress) -> str:
        """Name its weights, and all else that its parameters do not tell."""

    @abstractmethod
    def learn(
        self, taught: Labelled, classes: Sequence[str], report: Report = no_progress
    ) -> Model:
        """Learn from texts with labels; `classes` are all labels, in their order."""


CLASSIFIERS: Registry[Classifier] = Registry(
    noun="classifier",
    group="veil.task.classifiers",
    builtin={
        "logistic": "veil.task.classifiers.logistic:Logistic",
        "pipeline": "veil.task.classifiers.pipeline:Pipeline",
    },
)
