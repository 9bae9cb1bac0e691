"""Between which values CS-DCG lies for one query."""

from collections.abc import Mapping

from veil.sensitive.measures.extremes import extremes
from veil.sensitive.measures.judged import Pool
from veil.sensitive.reading import prices_of, read_lists


def bounds(
    grades: Mapping[str, int],
    labels: Mapping[str, int],
    k: int,
    cost: float,
    pool: Pool = "collection",
    decay: float = 1.0,
) -> tuple[float, float]:
    """Return the best and the worst CS-DCG over all lists of 0 to k distinct documents.

    `grades` has the judged documents of one query, `labels` 0 or 1 for the whole collection.

    >>> bounds({"a": 2}, {"a": 0, "b": 1}, k=5, cost=12.0)
    (3.0, -12.0)
    """
    prices = prices_of(cost, 0.0, pool, decay)
    judged = read_lists({}, {"query": grades}, labels, k)
    best, worst = extremes(judged, prices)
    return float(best[0]), float(worst[0])
