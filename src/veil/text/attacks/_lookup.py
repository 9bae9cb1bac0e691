"""Look a whole log up in a table, and encode what that lacks once for all."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from veil.core.types import Ids, Role, Singles
from veil.data.fetch import Report, silent
from veil.encoders.vectors import document_vectors
from veil.text.attacks.log import QueryLog, folded

_FEW = 2_000  # queries: a short list of suspects, not a log
_BLOCK = 1024  # queries that are looked up at a time


@runtime_checkable
class Universe(Protocol):
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


class AsAsked:
    """The model of a table as an encoder of queries, whose vectors can be kept on disk."""

    def __init__(self, table: Universe) -> None:
        self._table = table
        self.key, self.dim = f"{table.key} of queries", int(table.vectors.shape[1])

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim), as queries whatever their role."""
        del role
        return self._table.encode(texts)


def looked_up(log: QueryLog, table: Universe, report: Report = silent) -> Ids:
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
            else document_vectors(texts, AsAsked(table), None, report).vectors
        )
        for start in range(0, len(unknown), _BLOCK):
            near = vectors[start : start + _BLOCK] @ table.vectors.T
            places[unknown[start : start + _BLOCK]] = near.argmax(axis=1)
    return places
