"""What every word mechanism declares."""

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field

from veil.core.component import Component
from veil.core.guarantee import Guarantee
from veil.core.protocols import Kernel
from veil.data.embeddings import Embeddings

Epsilon = Annotated[
    float, Field(gt=0, description="privacy budget per word and variant", examples=[10.0])
]


class WordMechanism(Component):
    """A randomised map from words to words.

    `paper` cites where it is defined; `select` is the choice of words it protects unless the
    caller says otherwise (see `veil.data.select`).
    """

    paper: ClassVar[str]
    select: ClassVar[str] = "all"

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved for one word and one variant."""

    @abstractmethod
    def bind(self, space: Embeddings) -> Kernel:
        """Prepare everything that depends on the space; raise when the guarantee cannot hold."""
