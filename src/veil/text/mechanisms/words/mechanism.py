"""What every word mechanism declares."""

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field

from veil.core.types import Kernel
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings

Epsilon = Annotated[
    float, Field(gt=0, description="privacy budget per word and variant", examples=[10.0])
]


class WordMechanism(TextMechanism):
    """A randomised map from words to words; what is proved is for one word and one variant.

    `select` is the choice of words it protects unless the caller says otherwise (see
    `veil.text.select`).
    """

    select: ClassVar[str] = "all"
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})

    @abstractmethod
    def bind(self, space: Embeddings) -> Kernel:
        """Prepare everything that depends on the space; raise when the guarantee cannot hold."""
