"""Compiled kernels: whether they are available, and their threads."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np

from veil.core.parallel import cores, in_threads
from veil.core.types import Ids

SLOWER = "numba is not installed, and NumPy is many times slower. Install 'veil[fast]'."
LITTLE = 10**7  # number of updates below which one thread is used


@cache
def compiled_at_hand() -> bool:
    """Return whether numba (the extra 'fast') is installed."""
    try:  # first numba: a module of kernels that failed to load may remain, empty
        import_module("numba")
        from veil.ratings.recommenders import _fused_factors, _fused_neighbours
    except (ImportError, RuntimeError):
        return False
    return all((_fused_factors, _fused_neighbours))


def in_shares(work: Callable[[int, int], None], costs: Ids, *, little: int = LITTLE) -> None:
    """Run `work` on ranges of rows of about equal cost, in threads if there is enough work.

    Rows are computed independently: the result does not depend on the number of threads.
    """
    n, total = len(costs), int(costs.sum())
    parts = min(n, cores() if total >= little else 1)
    if parts <= 1:
        work(0, n)
        return
    ends = np.cumsum(costs)
    inner = np.searchsorted(ends, np.arange(1, parts) * (total / parts)).tolist()
    cuts = [0, *inner, n]
    in_threads(lambda part: work(cuts[part.start], cuts[part.stop]), parts)
