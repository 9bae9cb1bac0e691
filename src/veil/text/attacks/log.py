"""A log of queries, as an engine has it: distinct texts, their counts, and their vectors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Encoder, Ids
from veil.data.arrays import Strings, StringsBuilder
from veil.data.fetch import Report, silent
from veil.encoders.vectors import DocumentVectors, document_vectors


def folded(text: str) -> str:
    """Return a text as it is compared: case and white space folded.

    >>> folded("  Skin   Cancer ")
    'skin cancer'
    """
    return " ".join(text.casefold().split())


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

    def vectors(self, encoder: Encoder, report: Report = silent) -> DocumentVectors:
        """Return the vectors of all queries, computed once per model and kept on disk."""
        if encoder.key not in self._vectors:
            self._vectors[encoder.key] = document_vectors(self.texts, encoder, None, report)
        return self._vectors[encoder.key]


def _hashes(keys: Iterable[str]) -> Ids:
    return np.fromiter(map(hash, keys), dtype=np.int64)
