"""The best combinations of one choice per slot, without listing them all."""

import heapq
import math
from collections.abc import Iterator, Sequence


def best_first(slots: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Yield one index per slot, by falling product of the values; ties by the indices.

    The values of a slot must not rise and lie in [0, 1]. Each combination is reached from one
    other only: the one with the last non-zero index lowered by one. A heap of the combinations
    next in line is all that is kept.

    >>> list(best_first([[1.0, 0.5], [1.0, 0.2]]))
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    if not all(slots):
        return
    start = (0,) * len(slots)
    heap = [(-_product(slots, start), start, 0)]
    while heap:
        _, chosen, last = heapq.heappop(heap)
        yield chosen
        for slot in range(last, len(slots)):
            index = chosen[slot] + 1
            if index < len(slots[slot]):
                following = (*chosen[:slot], index, *chosen[slot + 1 :])
                heapq.heappush(heap, (-_product(slots, following), following, slot))


def _product(slots: Sequence[Sequence[float]], chosen: tuple[int, ...]) -> float:
    return math.prod(values[index] for values, index in zip(slots, chosen, strict=True))
