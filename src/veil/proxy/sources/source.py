"""What makes variants of a query, and what all that do so share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from veil.core.guarantee import Guarantee
from veil.core.types import Ranking, Released, Variants
from veil.proxy.found import Mark
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.price import Price
from veil.text.mechanisms.mechanism import TextMechanism

Marks = tuple[Mark, ...]
Recall = Callable[[Sequence[Released]], Ranking | None]
_CHOSEN = (
    "The draws were released because they, or ones that they share, passed a local attack: that"
    " choice is outside of the guarantee."
)


@dataclass(frozen=True, slots=True)
class Line:
    """How texts reach the engine: whether they leave this machine, and what is remembered.

    `recall` gives what was answered lately to all of some texts, so that nothing need be sent, or
    None.
    """

    leaves: bool = True
    recall: Recall = lambda _: None


class Source(Protocol):
    """Adds variants to what was released of a query."""

    @property
    def known(self) -> Entry:
        """What was released of the query with the same choices, or an empty entry."""
        ...

    @property
    def asked(self) -> str:
        """The query as its variants are laid out: what an attacker has to guess."""
        ...

    def extend(self, entry: Entry, size: int) -> Entry:
        """Return an entry with so many variants."""
        ...

    def release(self, entry: Entry) -> Variants:
        """Return the variants of an entry, which may be sent, with what they cost all in all."""
        ...

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Say of each word of the variants what it is."""
        ...


class Priced(Source, Protocol):
    """Knows what variants cost before they are drawn."""

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return what it costs to have so many variants; None if no more can be had."""
        ...


def summed(guarantee: Guarantee, draws: int) -> float:
    """Return what draws add to an account: infinite where a sum of epsilons says too little."""
    if not draws:
        return 0.0
    return math.inf if guarantee.additive else guarantee.epsilon * draws


def released(
    entry: Entry, mechanism: TextMechanism, kept: tuple[str, ...], cost: Guarantee
) -> Variants:
    """Return the variants of an entry, with what they cost and which words passed."""
    row = tuple(Released(text) for text in entry.variants)
    return Variants((row,), str(mechanism), but_chosen(cost, entry), (kept,), (entry.words,))


def but_chosen(cost: Guarantee, entry: Entry) -> Guarantee:
    """Add to a cost that the draws of an entry were chosen, where they were."""
    return cost.with_caveat(_CHOSEN) if entry.chosen else cost
