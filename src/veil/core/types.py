"""The types passed between packages, and the protocols that components implement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.formatting import brief
from veil.core.guarantee import Guarantee

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ids = NDArray[np.int64]


class Released(str):
    """A string that may leave the machine: output of a mechanism, or declassified on purpose.

    The type exists at run time, too. An engine refuses any other string, and anything computed
    from a released string (a slice, a change of case, a concatenation) is an ordinary string.
    """

    __slots__ = ()


class Seeded(Released):
    """A string released with a seed, for experiments: no engine on a network accepts it."""

    __slots__ = ()


@brief("rows", "mechanism", "seeded")
@dataclass(frozen=True, slots=True)
class Variants:
    """A release: `rows[i][j]` is variant j of text i. Holds no original text.

    Attributes
    ----------
    rows
        n texts x size variants.
    mechanism
        Spec of the mechanism, for example ``cmp(epsilon=10.0)``.
    cost
        Cost of the whole release: the mechanism's guarantee, summed over every protected word of
        every text and every variant.
    kept
        Per text, the words that passed unchanged *by policy* (not selected, or ``keep``), in
        order. A word that the mechanism happened to draw again is not listed: which draws
        equal their input is a secret that no release may carry.
    protected
        Per text, the number of words that went through the mechanism. A mechanism that rewrites
        whole queries may keep a word in some variants only: such a word counts here and is in
        `kept`, too.
    seeded
        True if anyone who knows the seed can repeat the draws: **not private**.
    redacted
        Per text, the kinds of personal data that were replaced before the mechanism saw the text,
        in order. An empty tuple if redaction was off.
    """

    rows: tuple[tuple[Released, ...], ...]
    mechanism: str
    cost: Guarantee
    kept: tuple[tuple[str, ...], ...]
    protected: tuple[int, ...]
    seeded: bool = False
    redacted: tuple[tuple[str, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Released, ...]]:
        return iter(self.rows)

    def __getitem__(self, text: int) -> tuple[Released, ...]:
        return self.rows[text]


@brief("items", "index")
@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranked lists: the results of an engine, a fusion of them, or the guesses of an attacker.

    Attributes
    ----------
    items
        Names of all items in the lists, each once.
    index
        (n, k) positions in `items`, best first; -1 pads a short list at its end.
    scores
        (n, k) scores, non-increasing; -inf pads.
    texts, titles
        Text and title per item, with an empty string if unknown. Empty if no item has one.
    gaps
        Per list an empty string, or one sentence with the reason why the engine gave no answer.
    """

    items: tuple[str, ...]
    index: Ids
    scores: Floats
    texts: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.index)

    def list(self, row: int) -> tuple[str, ...]:
        """Return the items of one list, best first."""
        return tuple(self.items[i] for i in self.index[row] if i >= 0)


Role = Literal["query", "document"]


class Kernel(Protocol):
    """A mechanism bound to its embeddings: samples word ids for word ids, and never sees text."""

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to independent draws (size, n)."""
        ...


@runtime_checkable
class ClosedForm(Kernel, Protocol):
    """A kernel whose output distribution is known exactly."""

    def probs(self, ids: Ids) -> Floats:
        """Return P(v | w) as (n, |V|) for words `ids` (n,)."""
        ...

    def log_probs(self, ids: Ids) -> Floats:
        """Return log P(v | w) as (n, |V|) for words `ids` (n,)."""
        ...


@runtime_checkable
class Release(Protocol):
    """A release of any kind of data. It contains no original."""

    @property
    def mechanism(self) -> str:
        """Spec of the mechanism."""
        ...

    @property
    def cost(self) -> Guarantee:
        """Guarantee of the whole release."""
        ...

    @property
    def seeded(self) -> bool:
        """Whether anyone who knows the seed can repeat the draws: **not private**."""
        ...


class Encoder(Protocol):
    """Maps texts to vectors, on the user's machine."""

    @property
    def key(self) -> str:
        """Identifies the model and every setting that changes its vectors: a cache key."""
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
    """An encoder that also returns its vectors before they are normalised."""

    def raw(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to the model's own vectors (n, dim), not normalised."""
        ...


class Engine(Protocol):
    """The untrusted side: it receives released strings and nothing else."""

    @property
    def network(self) -> bool:
        """Whether queries leave the machine."""
        ...

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Answer each query with at most `k` items, best first."""
        ...
