r"""Draw a position with exact probabilities from weights that floats know nearly.

A uniform number U of infinitely many bits is compared with the sums of the weights. Its first 62
bits are compared with sums of rounded weights, in whole numbers; where U is nearer to a sum than
all errors together could be, integers decide, with as many more bits as they need. So a float is
a filter and never decides, and every draw but one in millions takes the same work.
"""

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.dp.exact.bits import more, words
from veil.dp.exact.finite import Weighted
from veil.dp.exact.table import Steps

_UNIT = 2.0**62
_BITS = 256  # of the first bounds of the sums
# Weights e^-x of a float x that is nearly exact have a relative error of less than 2^-50 x, and x
# is on average below 64 under the law itself; rounding to whole numbers adds 1 a weight.
MARGIN = 2**18


def choose(
    weights: Floats,
    law: Callable[[], Weighted],
    n: int,
    rng: Generator,
    margin: int = MARGIN,
) -> Ids:
    """Draw n positions; `weights` are nearly, and `law()` has exactly, what they are drawn by.

    `margin` is that of the filter, in units of 2^-62.
    """
    units = np.floor(weights * (_UNIT / float(weights.sum()))).astype(np.int64)
    ends = np.cumsum(units)[:-1]  # the last end is 1 in any case
    u = words(n, rng)
    top = (u >> np.uint64(2)).astype(np.int64)
    drawn = np.searchsorted(ends, top, side="right").astype(np.int64)
    if not len(ends):
        return drawn
    around = margin + 2 * len(weights)
    before = top - ends[np.maximum(drawn - 1, 0)]
    after = ends[np.minimum(drawn, len(ends) - 1)] - top
    unsure = np.flatnonzero((np.abs(before) <= around) | (np.abs(after) <= around))
    if len(unsure):
        exact = law()
        steps = exact.steps(_BITS)
        for i in unsure:
            drawn[i] = _resolve(int(u[i]), exact, steps, rng)
    return drawn


def _resolve(prefix: int, law: Weighted, steps: Steps, rng: Generator) -> int:
    """Find where a uniform number of which 64 bits are drawn falls; draw more as needed."""
    length = 64
    while True:
        shift = steps.bits - length
        at = bisect_right(steps.hi, prefix << shift)
        if at < len(steps.lo) and (prefix + 1) << shift <= steps.lo[at]:
            return int(steps.values[at])
        prefix, length = more(prefix, rng), length + 64
        if length + 32 > steps.bits:
            steps = law.steps(2 * steps.bits)
