"""A query log, such as an engine has, and the groups of its queries in a cover table."""

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
    """Return a text for comparison, with case and white space folded.

    >>> folded("  Skin   Cancer ")
    'skin cancer'
    """
    return " ".join(text.casefold().split())


@brief("texts")
@dataclass(frozen=True, eq=False)
class QueryLog:
    """Distinct queries in the order of their first occurrence, with their counts.

    Queries that differ only in case or white space are the same query, in its first spelling. `of`
    builds a log from texts. `memo` caches data that attacks derive from the log; it is neither
    compared nor pickled.
    """

    texts: Sequence[str]
    counts: Ids
    _known: Ids | None = field(default=None, repr=False)  # hashes, if already computed
    _vectors: dict[str, DocumentVectors] = field(default_factory=dict, repr=False)
    memo: dict[object, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "QueryLog":
        """Count and pack queries, except empty ones."""
        counts: dict[str, int] = {}
        spellings = StringsBuilder()
        for text in texts:
            spelling = " ".join(text.split())
            key = spelling.casefold()  # equals folded(): casefold keeps white space and letters
            if not key:
                continue
            if key not in counts:
                counts[key] = 0
                spellings.add(spelling)
            counts[key] += 1
        if not counts:
            raise InputError("The log holds no query. Write one query per line.")
        total = np.fromiter(counts.values(), dtype=np.int64)
        return cls(spellings.done(), total, _hashes(counts))

    def __len__(self) -> int:
        return len(self.texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryLog, (self.texts, self.counts)

    @cached_property
    def _hashes(self) -> Ids:
        """Hash (n,) of each folded query, valid only in this process."""
        return _hashes(map(folded, self.texts)) if self._known is None else self._known

    @cached_property
    def _sorted(self) -> tuple[Ids, Ids]:
        """The sorted hashes and their positions, which take less memory than a dict of texts."""
        order: Ids = np.argsort(self._hashes, kind="stable")
        return self._hashes[order], order

    def place(self, text: str) -> int:
        """Return the position of a query, or -1 if the log does not have it."""
        key = folded(text)
        hashes, order = self._sorted
        first = np.searchsorted(hashes, hash(key))
        last = np.searchsorted(hashes, hash(key), "right")
        for position in order[first:last].tolist():
            if folded(self.texts[position]) == key:
                return int(position)
        return -1

    def with_queries(self, texts: Sequence[str]) -> tuple["QueryLog", int]:
        """Return a log that also has these queries, and the number of queries added."""
        missing: dict[str, str] = {}
        for text in texts:
            if self.place(text) < 0:
                missing.setdefault(folded(text), " ".join(text.split()))
        if not missing:
            return self, 0
        queries = Strings.of([*self.texts, *missing.values()])
        counts = np.concatenate([self.counts, np.ones(len(missing), dtype=np.int64)])
        hashes = np.concatenate([self._hashes, _hashes(missing)])
        return QueryLog(queries, counts, hashes), len(missing)

    def vectors(self, encoder: Encoder, report: Report = no_progress) -> DocumentVectors:
        """Return the vectors of all queries, computed once per encoder and stored on disk."""
        if encoder.key not in self._vectors:
            self._vectors[encoder.key] = document_vectors(self.texts, encoder, None, report)
        return self._vectors[encoder.key]


def _hashes(keys: Iterable[str]) -> Ids:
    return np.fromiter(map(hash, keys), dtype=np.int64)


_MAX_SUSPECTS = 2_000  # up to this many queries are a list of suspects, not a log
_BLOCK = 1024  # queries looked up at a time


@runtime_checkable
class LookupTable(Protocol):
    """A table with its texts, their addresses and their vectors."""

    @property
    def key(self) -> str:
        """Key of its encoder."""
        ...

    @property
    def texts(self) -> Sequence[str]:
        """The candidate texts."""
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
        """Return the vectors (n, d) of queries, for lookup."""
        ...

    def members(self, address: int) -> Ids:
        """Return the texts of an address."""
        ...


class QueryEncoder:
    """The encoder of a table for queries, with a key so that vectors can be stored on disk."""

    def __init__(self, table: LookupTable) -> None:
        self._table = table
        self.key, self.dim = f"{table.key} of queries", int(table.vectors.shape[1])

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim), always as queries."""
        del role
        return self._table.encode(texts)


def looked_up(log: QueryLog, table: LookupTable, report: Report = no_progress) -> Ids:
    """Return the text of the table (N,) for each query of a log.

    That is the query itself, or else the nearest text by cosine, as in the table's own lookup.
    """
    positions = {folded(text): position for position, text in enumerate(table.texts)}
    result = np.array([positions.get(folded(text), -1) for text in log.texts], dtype=np.int64)
    unknown = np.flatnonzero(result < 0)
    if len(unknown):
        texts = [log.texts[int(i)] for i in unknown]
        vectors = (
            table.encode(texts)  # a short list may be secret: do not write it to disk
            if len(log) <= _MAX_SUSPECTS
            else document_vectors(texts, QueryEncoder(table), None, report).vectors
        )
        for start in range(0, len(unknown), _BLOCK):
            scores = vectors[start : start + _BLOCK] @ table.vectors.T
            result[unknown[start : start + _BLOCK]] = scores.argmax(axis=1)
    return result


@dataclass(frozen=True, eq=False)
class LogGroups:
    """The address of each query of a log, and the texts sent for each address.

    A release is a set: the order of its texts reveals nothing.
    """

    rounding: ClassVar[float] = 0.0

    table: GroupTable
    addresses: Ids  # (N,) of the log
    tracks: Ids | None = None  # (N,) of the log, if the table has tracks

    @classmethod
    def of(cls, log: QueryLog, table: GroupTable, report: Report = no_progress) -> "LogGroups":
        """Look up all queries of a log, once per log and table."""
        key = ("groups", getattr(table, "digest", "") or id(table))
        groups = log.memo.get(key)  # references the table, so that its id cannot be reused
        if not isinstance(groups, LogGroups):
            groups = log.memo[key] = cls._look_up(log, table, report)
        return groups

    @classmethod
    def _look_up(cls, log: QueryLog, table: GroupTable, report: Report) -> "LogGroups":
        if isinstance(table, LookupTable):
            positions = looked_up(log, table, report)
            return cls(table, table.addresses[positions], table.tracks[positions])
        return cls(table, np.asarray(table.address(list(log.texts)), dtype=np.int64))

    @cached_property
    def _groups(self) -> dict[int, frozenset[str]]:
        """The texts of each address."""
        return {int(a): _set(self.table.group(int(a))) for a in np.unique(self.addresses)}

    def match(self, row: Iterable[str]) -> Ids:
        """Return the addresses whose group equals a release, or else contains it."""
        texts = _set(row)
        equal = [address for address, group in self._groups.items() if group == texts]
        matches = equal or [address for address, group in self._groups.items() if texts <= group]
        return np.array(matches, dtype=np.int64)

    def scores(self, row: tuple[str, ...], report: Report = no_progress) -> Floats:
        """Return 0 for each query (N,) that can give the release, and -inf for all others."""
        del report
        return np.where(np.isin(self.addresses, self.match(row)), 0.0, -np.inf)


def _set(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(map(folded, texts)) - {""}
