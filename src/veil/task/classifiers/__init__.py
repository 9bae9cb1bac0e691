"""Text classifiers: the contract and the registry."""

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
    Field(description="training texts: plain, or protected by the same mechanism"),
]
Texts = Annotated[int, Field(ge=2, le=1_000_000, description="maximum number of training texts")]


class Model(Protocol):
    """A trained classifier."""

    def shares(self, texts: Sequence[str]) -> Floats:
        """Return the share (n, classes) of each label for each text."""
        ...


class Classifier(Component):
    """Parameters of a classifier."""

    @property
    def taught(self) -> int:
        """Maximum number of training texts."""
        return 0

    @property
    def protected(self) -> bool:
        """Whether the training texts are protected."""
        return False

    @abstractmethod
    def key(self, report: Report = no_progress) -> str:
        """Identify the weights, and anything else that the parameters do not determine."""

    @abstractmethod
    def learn(
        self, taught: Labelled, classes: Sequence[str], report: Report = no_progress
    ) -> Model:
        """Train on labelled texts; `classes` are all labels, in order."""


CLASSIFIERS: Registry[Classifier] = Registry(
    noun="classifier",
    group="veil.classifiers.task",
    former=("veil.task.classifiers",),
    builtin={
        "logistic": "veil.task.classifiers.logistic:Logistic",
        "pipeline": "veil.task.classifiers.pipeline:Pipeline",
    },
)
