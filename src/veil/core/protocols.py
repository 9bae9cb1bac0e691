"""The verbs: what a part must offer to be used by the others."""

from typing import Protocol, TypeVar, runtime_checkable

from numpy.random import Generator

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids

Space_contra = TypeVar("Space_contra", contravariant=True)


class Kernel(Protocol):
    """A mechanism bound to its space: maps ids to draws, and knows nothing of text."""

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to independent draws (size, n)."""
        ...


@runtime_checkable
class ClosedForm(Kernel, Protocol):
    """A kernel whose law is known exactly."""

    def probs(self, ids: Ids) -> Floats:
        """Return P(v | w) as (n, |V|) for words `ids` (n,)."""
        ...

    def log_probs(self, ids: Ids) -> Floats:
        """Return log P(v | w) as (n, |V|) for words `ids` (n,)."""
        ...


class Mechanism(Protocol[Space_contra]):
    """Parameters are data; `bind` makes the sampler."""

    @property
    def guarantee(self) -> Guarantee:
        """What is proved for one word and one variant."""
        ...

    def bind(self, space: Space_contra) -> Kernel:
        """Prepare everything that depends on the space."""
        ...
