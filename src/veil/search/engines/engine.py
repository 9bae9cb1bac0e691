"""What every engine declares, and what it may be handed."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from veil.core.component import Component
from veil.core.errors import EngineError, ParameterError, TrustError
from veil.core.formatting import brief
from veil.core.types import Engine, Ranking, Released, Seeded
from veil.corpus.collection import Collection
from veil.data.fetch import Report, no_progress

MAX_K = 10_000  # items per query
MAX_QUERIES = 1_000_000  # queries of one call


class EngineSpec(Component):
    """Parameters of an engine; `open` makes the engine.

    `collects` says that it searches a collection: one that it is given, or `index`.
    """

    collects: ClassVar[bool] = False

    @abstractmethod
    def open(self, collection: Collection | None = None, report: Report = no_progress) -> Engine:
        """Prepare the engine for its documents: those given, or those it has of its own."""


@brief()
class Hit(NamedTuple):
    """One item of one list, as an engine gave it."""

    id: str
    score: float | None = None  # None where the engine gives an order only
    title: str = ""
    text: str = ""


def leaves(engine: Engine) -> bool:
    """Tell whether what an engine is asked leaves this machine.

    Who does not say so may be anywhere.

    >>> from types import SimpleNamespace
    >>> leaves(SimpleNamespace(network=False)), leaves(SimpleNamespace(network=None))
    (False, True)
    """
    return getattr(engine, "network", True) is not False


def require_reachable(engine: Engine) -> None:
    """Raise `EngineError` if an engine on a network takes no connection; nothing is sent to it.

    An engine that cannot tell, as one of a plugin, lets everything pass.
    """
    check = getattr(engine, "require_reachable", None)
    if not leaves(engine) or not callable(check):
        return
    try:
        check()
    except EngineError as error:
        raise EngineError(f"{error} Nothing was sent, and nothing was counted.", sent=0) from None


def check_call(queries: Sequence[Released], k: int, *, network: bool) -> None:
    """Let released strings pass, and nothing else; no message quotes one."""
    if isinstance(queries, str) or not isinstance(queries, Sequence):
        raise TrustError("An engine takes a list of released strings, as veil.protect gives.")
    if len(queries) > MAX_QUERIES:
        raise ParameterError(f"An engine takes at most {MAX_QUERIES:,} queries in one call.")
    for number, query in enumerate(queries, start=1):
        if not isinstance(query, Released):
            raise TrustError(
                f"Query {number} of {len(queries)} was not released, so that it stays here;"
                " engines take what veil.protect gives, or veil.declassify(text) on purpose."
            )
        if network and isinstance(query, Seeded):
            raise TrustError(
                f"Query {number} of {len(queries)} was released with a seed, which is for"
                " experiments and not private; it is not sent to an engine on a network."
            )
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= MAX_K:
        raise ParameterError(f"The 'k' argument must be a whole number from 1 to {MAX_K:,}.")


def ranking(lists: Sequence[Sequence[Hit]], k: int, gaps: Sequence[str] = ()) -> Ranking:
    """Put lists of hits, each in the engine's order, into one `Ranking`.

    An item that comes twice in a list counts where it comes first. Scores that are missing, or
    out of order, are put into the engine's order, which is what counts.
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
            given = hit.score is not None and np.isfinite(hit.score)
            scores[row, column] = hit.score if given else 1 / (column + 1)
        count = len(unique)
        scores[row, :count] = np.minimum.accumulate(scores[row, :count])
    return Ranking(tuple(places), index, scores, tuple(texts), tuple(titles), tuple(gaps))


def _first_of_each(hits: Sequence[Hit]) -> list[Hit]:
    found: dict[str, Hit] = {}
    for hit in hits:
        found.setdefault(hit.id, hit)
    return list(found.values())
