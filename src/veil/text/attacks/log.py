"""A log of queries, as an engine has it, and its groups in a table of cover."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.core.types import Encoder, Floats, Ids, Role, Singles
from veil.data.arrays import Strings, StringsBuilder
from veil.data.fetch import Report, no_progress
from veil.encoders.vectors import DocumentVectors, document_vectors
from veil.text.mechanisms.mechanism import GroupTable


def folded(text: str) -> str:
    """Return a text as it is compared: case and white space folded.

    >>> folded("  Skin   Cancer ")
    'skin cancer'
    """
    return " ".join(text.casefold().split())


@brief("texts")
@dataclass(frozen=True, eq=False)
class QueryLog:
    """Distinct queries in the order in which they first came, and how often each did.

    Two queries that differ in case or white space alone are one, spelt as it first came. `of`
    makes a log from texts. `memo` is for what attackers derive from the log; it is neither
    compared nor pickled.
    """

    texts: Sequence[str]
    counts: Ids
    _known: Ids | None = field(default=None, repr=False)  # hashes, where they are at hand
    _vectors: dict[str, DocumentVectors] = field(default_factory=dict, repr=False)
    memo: dict[object, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "QueryLog":
        """Count and pack queries; empty ones are left out."""
        counts: dict[str, int] = {}
        spelt = StringsBuilder()
        for text in texts:
            spelling = " ".join(text.split())
            key = spelling.casefold()  # as folded: no letter becomes white space, nor the reverse
            if not key:
                continue
            if key not in counts:
                counts[key] = 0
                spelt.add(spelling)
            counts[key] += 1
        if not counts:
            raise InputError("The log holds no query; give one query per line.")
        total = np.fromiter(counts.values(), dtype=np.int64)
        return cls(spelt.done(), total, _hashes(counts))

    def __len__(self) -> int:
        return len(self.texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryLog, (self.texts, self.counts)

    @cached_property
    def _hashes(self) -> Ids:
        """Hash (n,) of each query as it is compared; of no meaning outside of this process."""
        return _hashes(map(folded, self.texts)) if self._known is None else self._known

    @cached_property
    def _sorted(self) -> tuple[Ids, Ids]:
        """The hashes in order, and whose they are: less room than a table of texts."""
        order: Ids = np.argsort(self._hashes, kind="stable")
        return self._hashes[order], order

    def place(self, text: str) -> int:
        """Return the position of a query, or -1 if the log does not hold it."""
        wanted = folded(text)
        hashes, order = self._sorted
        first = np.searchsorted(hashes, hash(wanted))
        last = np.searchsorted(hashes, hash(wanted), "right")
        for place in order[first:last].tolist():
            if folded(self.texts[place]) == wanted:
                return int(place)
        return -1

    def with_queries(self, texts: Sequence[str]) -> tuple["QueryLog", int]:
        """Return a log that holds these queries too, as they are spelt, and how many it lacked."""
        missing: dict[str, str] = {}
        for text in texts:
            if self.place(text) < 0:
                missing.setdefault(folded(text), " ".join(text.split()))
        if not missing:
            return self, 0
        spelt = Strings.of([*self.texts, *missing.values()])
        counts = np.concatenate([self.counts, np.ones(len(missing), dtype=np.int64)])
        hashes = np.concatenate([self._hashes, _hashes(missing)])
        return QueryLog(spelt, counts, hashes), len(missing)

    def vectors(self, encoder: Encoder, report: Report = no_progress) -> DocumentVectors:
        """Return the vectors of all queries, computed once per model and kept on disk."""
        if encoder.key not in self._vectors:
            self._vectors[encoder.key] = document_vectors(self.texts, encoder, None, report)
        return self._vectors[encoder.key]


def _hashes(keys: Iterable[str]) -> Ids:
    return np.fromiter(map(hash, keys), dtype=np.int64)


_FEW = 2_000  # queries: a short list of suspects, not a log
_BLOCK = 1024  # queries that are looked up at a time


@runtime_checkable
class LookupTable(Protocol):
    """A table that tells its texts, their addresses and their vectors."""

    @property
    def key(self) -> str:
        """What names its model."""
        ...

    @property
    def texts(self) -> Sequence[str]:
        """The universe."""
        ...

    @property
    def vectors(self) -> Singles:
        """Unit vectors (n, d) of the texts."""
        ...

    @property
    def addresses(self) -> Ids:
        """The address (n,) of each text."""
        ...

    @property
    def tracks(self) -> Ids:
        """The track (n,) of each text."""
        ...

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return the vectors of queries (n, d), as they are looked up."""
        ...

    def members(self, address: int) -> Ids:
        """Return the texts that have an address."""
        ...


class QueryEncoder:
    """The model of a table as an encoder of queries, whose vectors can be kept on disk."""

    def __init__(self, table: LookupTable) -> None:
        self._table = table
        self.key, self.dim = f"{table.key} of queries", int(table.vectors.shape[1])

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim), as queries whatever their role."""
        del role
        return self._table.encode(texts)


def looked_up(log: QueryLog, table: LookupTable, report: Report = no_progress) -> Ids:
    """Return the text of the table (N,) that each query of a log is looked up at.

    That is itself, or the nearest by cosine, as the table has it.
    """
    own = {folded(text): place for place, text in enumerate(table.texts)}
    places = np.array([own.get(folded(text), -1) for text in log.texts], dtype=np.int64)
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        texts = [log.texts[int(i)] for i in unknown]
        vectors = (
            table.encode(texts)  # few of them may be what must not be written anywhere
            if len(log) <= _FEW
            else document_vectors(texts, QueryEncoder(table), None, report).vectors
        )
        for start in range(0, len(unknown), _BLOCK):
            near = vectors[start : start + _BLOCK] @ table.vectors.T
            places[unknown[start : start + _BLOCK]] = near.argmax(axis=1)
    return places


@dataclass(frozen=True, eq=False)
class LogGroups:
    """The address of each query of a log, and what is sent for each address.

    A release is a set: the order in which its texts are sent tells nothing.
    """

    rounding: ClassVar[float] = 0.0

    table: GroupTable
    addresses: Ids  # (N,) of the log
    tracks: Ids | None = None  # (N,) of the log, where the table has any

    @classmethod
    def of(cls, log: QueryLog, table: GroupTable, report: Report = no_progress) -> "LogGroups":
        """Look all queries of a log up; what was found is kept with the log."""
        key = ("groups", getattr(table, "digest", "") or id(table))
        found = log.memo.get(key)  # holds the table as well, so that its id is not given away
        if not isinstance(found, LogGroups):
            found = log.memo[key] = cls._made(log, table, report)
        return found

    @classmethod
    def _made(cls, log: QueryLog, table: GroupTable, report: Report) -> "LogGroups":
        if isinstance(table, LookupTable):
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

    def scores(self, row: tuple[str, ...], report: Report = no_progress) -> Floats:
        """Return 0 for each query (N,) that gives what was seen, and -inf for all others."""
        del report
        return np.where(np.isin(self.addresses, self.seen(row)), 0.0, -np.inf)


def _set(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(map(folded, texts)) - {""}
