"""A log by the groups of a table: which queries give the texts that were seen."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.text.attacks._lookup import Universe, looked_up
from veil.text.attacks.log import QueryLog, folded
from veil.text.mechanisms.queries.mechanism import Addressed


@dataclass(frozen=True, eq=False)
class Groups:
    """The address of each query of a log, and what is sent for each address.

    A release is a set: the order in which its texts are sent tells nothing.
    """

    rounding: ClassVar[float] = 0.0

    table: Addressed
    addresses: Ids  # (N,) of the log
    tracks: Ids | None = None  # (N,) of the log, where the table has any

    @classmethod
    def of(cls, log: QueryLog, table: Addressed, report: Report = silent) -> "Groups":
        """Look all queries of a log up; what was found is kept with the log."""
        key = ("groups", getattr(table, "digest", "") or id(table))
        found = log.memo.get(key)  # holds the table as well, so that its id is not given away
        if not isinstance(found, Groups):
            found = log.memo[key] = cls._made(log, table, report)
        return found

    @classmethod
    def _made(cls, log: QueryLog, table: Addressed, report: Report) -> "Groups":
        if isinstance(table, Universe):
            places = looked_up(log, table, report)
            return cls(table, table.addresses[places], table.tracks[places])
        return cls(table, np.asarray(table.address(list(log.texts)), dtype=np.int64))

    @cached_property
    def _sent(self) -> dict[int, frozenset[str]]:
        return {int(a): _set(self.table.group(int(a))) for a in np.unique(self.addresses)}

    def seen(self, row: Iterable[str]) -> Ids:
        """Return the addresses whose group was seen: whole, or else as far as anything was."""
        texts = _set(row)
        whole = [address for address, group in self._sent.items() if group == texts]
        some = whole or [address for address, group in self._sent.items() if texts <= group]
        return np.array(some, dtype=np.int64)

    def scores(self, row: tuple[str, ...], report: Report = silent) -> Floats:
        """Return 0 for each query (N,) that gives what was seen, and -inf for all others."""
        del report
        return np.where(np.isin(self.addresses, self.seen(row)), 0.0, -np.inf)


def _set(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(map(folded, texts)) - {""}
