"""Bands: texts that are asked equally often share a group, so that no group stands out."""

from itertools import pairwise

import numpy as np

from veil.core.types import Ids


def bands(counts: Ids, group: int) -> list[Ids]:
    """Cut texts by falling count: the first `group`, the next, then twice as many each time.

    One band where all counts are equal. What is left over at the end, if it is less than a
    group, joins the last band.

    >>> [len(band) for band in bands(np.arange(1, 100), 10)]
    [10, 10, 20, 40, 19]
    """
    if len(counts) == 0 or (counts == counts[0]).all():
        return [np.arange(len(counts))]
    order = np.argsort(-counts, kind="stable")
    cuts, size = [0], group
    while cuts[-1] + size < len(order):
        cuts.append(cuts[-1] + size)
        size = cuts[-1]
    if len(order) - cuts[-1] >= group or len(cuts) == 1:
        cuts.append(len(order))
    else:
        cuts[-1] = len(order)
    return [np.sort(order[a:b]) for a, b in pairwise(cuts)]
