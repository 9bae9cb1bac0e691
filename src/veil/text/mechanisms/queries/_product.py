"""The best combinations of one choice per place, without listing them all."""

import heapq
import math
from collections.abc import Iterator, Sequence


def best_first(places: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Yield one index per place, by falling product of the values; ties by the indices.

    The values of a place must not rise and lie in [0, 1]. Each combination is reached from one
    other only: the one with the last non-zero index lowered by one. A heap of the combinations
    next in line is all that is kept.

    >>> list(best_first([[1.0, 0.5], [1.0, 0.2]]))
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    if not all(places):
        return
    start = (0,) * len(places)
    heap = [(-_product(places, start), start, 0)]
    while heap:
        _, chosen, last = heapq.heappop(heap)
        yield chosen
        for place in range(last, len(places)):
            index = chosen[place] + 1
            if index < len(places[place]):
                following = (*chosen[:place], index, *chosen[place + 1 :])
                heapq.heappush(heap, (-_product(places, following), following, place))


def _product(places: Sequence[Sequence[float]], chosen: tuple[int, ...]) -> float:
    return math.prod(values[index] for values, index in zip(places, chosen, strict=True))
