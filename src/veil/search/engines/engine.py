"""The contract of search engines, and the check that they receive released strings only."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import EngineError, ParameterError, TrustError
from veil.core.formatting import brief
from veil.core.types import Engine, Floats, Ids, Ranking, Released, Seeded
from veil.corpus.collection import Collection, open_collection
from veil.data.fetch import Report, no_progress

MAX_K = 10_000  # items per query
MAX_QUERIES = 1_000_000  # queries of one call


class EngineSpec(Component):
    """Parameters of an engine. `open` returns the engine.

    `collects` is True if the engine searches a collection: an argument of `open`, or `index`.
    """

    collects: ClassVar[bool] = False

    @abstractmethod
    def open(self, collection: Collection | None = None, report: Report = no_progress) -> Engine:
        """Return an engine over `collection`, or over the engine's own documents."""


@brief()
class Hit(NamedTuple):
    """One item of a result list, as the engine returned it."""

    id: str
    score: float | None = None  # None if the engine only orders its results
    title: str = ""
    text: str = ""


def leaves(engine: Engine) -> bool:
    """Return whether queries to an engine leave this machine.

    An engine without a `network` attribute may be anywhere, so this is True.

    >>> from types import SimpleNamespace
    >>> leaves(SimpleNamespace(network=False)), leaves(SimpleNamespace(network=None))
    (False, True)
    """
    return getattr(engine, "network", True) is not False


def require_reachable(engine: Engine) -> None:
    """Raise `EngineError` if an engine on a network accepts no connection. No query is sent.

    An engine without this check, for example from a plugin, always passes.
    """
    check = getattr(engine, "require_reachable", None)
    if not leaves(engine) or not callable(check):
        return
    try:
        check()
    except EngineError as error:
        raise EngineError(f"{error} Nothing was sent, and nothing was counted.", sent=0) from None


def check_call(queries: Sequence[Released], k: int, *, network: bool) -> None:
    """Raise unless all queries are released strings and `k` is in range. Errors quote no query."""
    if isinstance(queries, str) or not isinstance(queries, Sequence):
        raise TrustError("Queries must be a list of released strings. Use veil.protect.")
    if len(queries) > MAX_QUERIES:
        raise ParameterError(f"An engine takes at most {MAX_QUERIES:,} queries in one call.")
    for number, query in enumerate(queries, start=1):
        if not isinstance(query, Released):
            raise TrustError(
                f"Query {number} of {len(queries)} has not been released, so it was not sent."
                " Use veil.protect, or veil.declassify(text) to send it unprotected on purpose."
            )
        if network and isinstance(query, Seeded):
            raise TrustError(
                f"Query {number} of {len(queries)} was released with a seed, which is for"
                " experiments and not private, so it was not sent over the network. Release it"
                " without a seed."
            )
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= MAX_K:
        raise ParameterError(f"'k' must be an integer from 1 to {MAX_K:,}.")


def ranking(lists: Sequence[Sequence[Hit]], k: int, gaps: Sequence[str] = ()) -> Ranking:
    """Return a `Ranking` of lists of hits, each in the engine's order.

    An item that occurs twice in a list counts at its first position. Missing scores and scores out
    of order are replaced, so that they agree with the engine's order.
    """
    places: dict[str, int] = {}
    titles: list[str] = []
    texts: list[str] = []
    index = np.full((len(lists), k), -1, dtype=np.int64)
    scores = np.full((len(lists), k), -np.inf)
    for row, hits in enumerate(lists):
        unique = _first_of_each(hits)[:k]
        for column, hit in enumerate(unique):
            place = places.setdefault(hit.id, len(places))
            if place == len(titles):
                titles.append(hit.title)
                texts.append(hit.text)
            texts[place] = texts[place] or hit.text
            titles[place] = titles[place] or hit.title
            index[row, column] = place
            has_score = hit.score is not None and np.isfinite(hit.score)
            scores[row, column] = hit.score if has_score else 1 / (column + 1)
        count = len(unique)
        scores[row, :count] = np.minimum.accumulate(scores[row, :count])
    return Ranking(tuple(places), index, scores, tuple(texts), tuple(titles), tuple(gaps))


def _first_of_each(hits: Sequence[Hit]) -> list[Hit]:
    hits_by_id: dict[str, Hit] = {}
    for hit in hits:
        hits_by_id.setdefault(hit.id, hit)
    return list(hits_by_id.values())


class LocalSpec(EngineSpec):
    """Parameters of an engine that searches a collection on this machine."""

    collects: ClassVar[bool] = True

    index: Annotated[
        str,
        Field(
            description="folder of a saved collection, instead of a collection", examples=["idx"]
        ),
    ] = ""

    def resolve_collection(self, collection: Collection | None) -> Collection:
        """Return `collection`, or the saved collection in `index`."""
        if (collection is None) == (not self.index):
            raise ParameterError(
                f"The {self.name} engine needs either a collection or the folder of one. Pass"
                f" veil.load_collection(...), or use {self.name}(index=FOLDER)."
            )
        return collection if collection is not None else open_collection(Path(self.index))


def local_ranking(
    collection: Collection, lists: Sequence[Ids], scores: Sequence[Floats], k: int
) -> Ranking:
    """Return a `Ranking` of lists of positions in a collection, best first."""
    used = np.unique(np.concatenate([*lists, np.empty(0, dtype=np.int64)])).astype(np.int64)
    index = np.full((len(lists), k), -1, dtype=np.int64)
    values = np.full((len(lists), k), -np.inf)
    for row, (positions, row_scores) in enumerate(zip(lists, scores, strict=True)):
        index[row, : len(positions)] = np.searchsorted(used, positions)
        values[row, : len(positions)] = row_scores
    documents, rows = collection.documents, used.tolist()
    return Ranking(
        tuple(documents.ids[i] for i in rows),
        index,
        values,
        tuple(documents.texts[i] for i in rows),
        tuple(documents.titles[i] for i in rows),
        ("",) * len(lists),
    )
