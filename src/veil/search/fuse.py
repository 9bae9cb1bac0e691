"""Many lists into one, by ranks alone."""

from dataclasses import replace

import numpy as np

from veil.core.types import Floats, Ranking

CONSTANT = 60.0  # of the paper: how little the very first ranks count for more


def reciprocal_rank(lists: Ranking, constant: float = CONSTANT) -> Ranking:
    r"""Fuse all lists into one: the union of their items, each once.

    .. math:: s(d) = \sum_{lists \ni d} \frac{1}{constant + rank(d)}

    Equal scores stand in the order in which the items came up, best rank first.

    References
    ----------
    Cormack, Clarke and Buettcher. Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods. SIGIR 2009. doi:10.1145/1571941.1572114
    """
    n, k = lists.index.shape
    listed = lists.index >= 0
    gains = np.broadcast_to(1 / (constant + np.arange(1, k + 1)), (n, k))
    scores: Floats = np.bincount(
        lists.index[listed], gains[listed], minlength=len(lists.items)
    ).astype(np.float64)
    by_rank = lists.index.T[listed.T]  # first all items of rank 1, then those of rank 2 ...
    items, first = np.unique(by_rank, return_index=True)
    order = items[np.lexsort((first, -scores[items]))]
    return replace(lists, index=order[None], scores=scores[order][None], gaps=())


def narrowed(ranking: Ranking, k: int) -> Ranking:
    """Cut the lists at `k`, and drop the items that no list holds any more."""
    index = ranking.index[:, :k]
    used, places = np.unique(index[index >= 0], return_inverse=True)
    packed = np.full_like(index, -1)
    packed[index >= 0] = places
    return Ranking(
        tuple(ranking.items[i] for i in used),
        packed,
        ranking.scores[:, :k],
        tuple(ranking.texts[i] for i in used) if ranking.texts else (),
        tuple(ranking.titles[i] for i in used) if ranking.titles else (),
        ranking.gaps,
    )
