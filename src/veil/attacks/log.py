"""A log of queries, as an engine has it: distinct texts, their counts, and their vectors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.protocols import Encoder
from veil.core.types import Ids
from veil.data.fetch import Report, silent
from veil.data.strings import Strings, StringsBuilder
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
    _vectors: dict[str, DocumentVectors] = field(default_factory=dict, repr=False)
    memo: dict[object, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "QueryLog":
        """Count and pack queries; empty ones are left out."""
        counts: dict[str, int] = {}
        spelt = StringsBuilder()
        for text in texts:
            key = folded(text)
            if not key:
                continue
            if key not in counts:
                counts[key] = 0
                spelt.add(" ".join(text.split()))
            counts[key] += 1
        if not counts:
            raise InputError("The log holds no query; give one query per line.")
        return cls(spelt.done(), np.fromiter(counts.values(), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryLog, (self.texts, self.counts)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {folded(text): place for place, text in enumerate(self.texts)}

    def place(self, text: str) -> int:
        """Return the position of a query, or -1 if the log does not hold it."""
        return self._places.get(folded(text), -1)

    def with_queries(self, texts: Sequence[str]) -> tuple["QueryLog", int]:
        """Return a log that holds these queries too, and how many were missing."""
        missing = list(dict.fromkeys(folded(text) for text in texts if self.place(text) < 0))
        if not missing:
            return self, 0
        spelt = Strings.of([*self.texts, *missing])
        counts = np.concatenate([self.counts, np.ones(len(missing), dtype=np.int64)])
        return QueryLog(spelt, counts), len(missing)

    def vectors(self, encoder: Encoder, report: Report = silent) -> DocumentVectors:
        """Return the vectors of all queries, computed once per model and kept on disk."""
        if encoder.key not in self._vectors:
            self._vectors[encoder.key] = document_vectors(self.texts, encoder, None, report)
        return self._vectors[encoder.key]
