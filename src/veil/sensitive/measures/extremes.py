"""The best and the worst CS-DCG over all lists of at most k documents, without listing them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats
from veil.sensitive.measures.judged import Judged, Prices, discounts


def extremes(judged: Judged, prices: Prices) -> tuple[Floats, Floats]:
    """Return the maximum and the minimum (n,) of CS-DCG over lists of 0 to k distinct documents.

    Of all lists with j sensitive and i other documents the best has the largest gains of each
    kind, in falling order, and the worst the smallest in rising order: O(k^2) sums of k terms.
    """
    if prices not in judged.extremes:
        judged.extremes[prices] = _extremes(judged, prices)
    return judged.extremes[prices]


def _extremes(judged: Judged, prices: Prices) -> tuple[Floats, Floats]:
    sizes = np.tile(judged.total, (len(judged.queries), 1))
    if prices.pool == "judged":
        sizes = judged.sizes
    kinds = [
        _Kind(grades, sizes[:, kind], judged.k)
        for kind, grades in enumerate((judged.hot, judged.cold))
    ]
    hot, cold = kinds
    weights = discounts(judged.k)
    best = np.full(len(judged.queries), -np.inf)
    worst = np.full(len(judged.queries), np.inf)
    for j in range(judged.k + 1):
        cost, left = prices.of(j), judged.k - j
        # One more harmless document never makes a list worse: the best has as many as there are.
        top = _sorted(hot.largest[:, :j], cold.largest[:, :left])[:, ::-1] @ weights - cost
        best = np.where(hot.size >= j, np.maximum(best, top), best)
        for i in range(left + 1):
            low = _sorted(hot.smallest[:, :j], cold.smallest[:, :i])
            bottom = low @ weights[: i + j] - cost
            there = (hot.size >= j) & (cold.size >= i)
            worst = np.where(there, np.minimum(worst, bottom), worst)
    return best, worst


class _Kind:
    """The documents of one kind that a query's list may take; ungraded ones gain 0."""

    def __init__(self, grades: Sequence[Sequence[int]], sizes: NDArray[np.int64], k: int) -> None:
        self.size = sizes  # (n,)
        self.largest = np.zeros((len(grades), k))
        self.smallest = np.zeros((len(grades), k))
        for row, best in enumerate(grades):
            if not best:
                continue
            gains = [2.0**grade - 1 for grade in best]
            self.largest[row, : len(gains)] = gains[:k]
            zeros = min(k, int(sizes[row]) - len(gains))
            self.smallest[row, zeros : zeros + len(gains)] = gains[::-1][: k - zeros]


def _sorted(first: Floats, second: Floats) -> Floats:
    return np.sort(np.concatenate([first, second], axis=1), axis=1)
