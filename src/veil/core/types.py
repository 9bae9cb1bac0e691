"""The nouns that flow between the parts, and the protocols that the parts fulfil."""

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
    """A string that may leave the machine: made by a mechanism, or declassified on purpose.

    It is a type of its own when the program runs, too: an engine refuses any other string, and
    whatever is computed from a released one (a part, a change of case, a sum) is an ordinary
    string again.
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
        What the whole release costs: the mechanism's guarantee, summed over every protected word
        of every text and every variant.
    kept
        Per text, the words that passed unchanged *by policy* (not selected, or ``keep``), in
        order. A word that a mechanism happens to draw again is not listed: which draws came out
        equal is a secret that no release may carry.
    protected
        Per text, the number of words that went through the mechanism. One that rewrites whole
        queries may let a word pass in some of them and not in others: it counts here and is in
        `kept`, too.
    seeded
        True when the draws can be repeated by who knows the seed: **not private**.
    redacted
        Per text, the kinds of personal data that were replaced before the mechanism saw the rest,
        in order; nothing at all where nobody looked for any.
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
    """Ranked lists: what an engine answers, what is fused of it, and what an attacker guesses.

    Attributes
    ----------
    items
        Names of everything that occurs in the lists, each once.
    index
        (n, k) positions in `items`, best first; -1 pads a short list at its end.
    scores
        (n, k) scores, non-increasing; -inf pads.
    texts, titles
        Per item what is known of it, or nothing at all; an empty string where it is not known.
    gaps
        Per list "", or one sentence that says why the engine gave no answer.
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
