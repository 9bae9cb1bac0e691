"""The verbs: what a part must offer to be used by the others."""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from numpy.random import Generator

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids, Ranking, Released, Singles

Role = Literal["query", "document"]


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


@runtime_checkable
class Release(Protocol):
    """What leaves, of any kind of data; there is no original in it."""

    @property
    def mechanism(self) -> str:
        """Spec of what made it."""
        ...

    @property
    def cost(self) -> Guarantee:
        """What is proved of the whole release."""
        ...

    @property
    def seeded(self) -> bool:
        """Whether who knows the seed can repeat the draws: **not private**."""
        ...


class Encoder(Protocol):
    """Texts to vectors, on the user's side of the boundary."""

    @property
    def key(self) -> str:
        """Name of the model and of all that changes its vectors: names a cache of them."""
        ...

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        ...

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim)."""
        ...


@runtime_checkable
class RawEncoder(Encoder, Protocol):
    """An encoder whose vectors have a length of their own, before it is taken out."""

    def raw(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to vectors (n, dim) as the model gives them."""
        ...


class Engine(Protocol):
    """The untrusted side: it is handed released strings, and nothing else."""

    @property
    def network(self) -> bool:
        """Whether queries leave the machine."""
        ...

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Answer each query with at most `k` items, best first."""
        ...
