"""The nouns: what flows between the parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NewType

import numpy as np
from numpy.typing import NDArray

from veil.core.guarantee import Guarantee

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ids = NDArray[np.int64]

Released = NewType("Released", str)
"""A string that may leave the machine: made by a mechanism, or declassified on purpose."""


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
        Per text, the number of words that went through the mechanism.
    seeded
        True when the draws can be repeated by who knows the seed: **not private**.
    """

    rows: tuple[tuple[Released, ...], ...]
    mechanism: str
    cost: Guarantee
    kept: tuple[tuple[str, ...], ...]
    protected: tuple[int, ...]
    seeded: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Released, ...]]:
        return iter(self.rows)

    def __getitem__(self, text: int) -> tuple[Released, ...]:
        return self.rows[text]
