"""A mechanism that sends groups of a fixed table, made for the checks."""

import hashlib
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.text.mechanisms.mechanism import QueryMechanism, Scrambled

GROUPS, SIZE = 50, 6


class Grouped(QueryMechanism):
    """Send one of fifty groups of six texts each, whichever the query belongs to."""

    name: ClassVar[str] = "grouped"
    whole: ClassVar[bool] = True

    @property
    def guarantee(self) -> Guarantee:
        """Nothing: it is there to be attacked."""
        return Guarantee("none", unit="query", caveat="Made for the checks.")

    def bind(self) -> "GroupTable":
        """Return the table."""
        return GroupTable()


class GroupTable:
    """The address of a query is its digest."""

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query."""
        digests = (hashlib.sha256(text.casefold().encode()).digest() for text in texts)
        return np.array([digest[0] % GROUPS for digest in digests], dtype=np.int64)

    def group(self, address: int) -> tuple[str, ...]:
        """Return the texts that are sent for all queries of an address."""
        return tuple(f"text {number} of group {address}" for number in range(SIZE))

    def scramble(self, text: str, size: int) -> Scrambled:
        """Return the group of a query."""
        (address,) = self.address([text])
        return Scrambled(self.group(int(address))[:size], (), len(text.split()))
