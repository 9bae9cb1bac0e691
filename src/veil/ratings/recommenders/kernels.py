"""Whether kernels are compiled, and how their rows are dealt to threads."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np

from veil.core.parallel import cores, in_threads
from veil.core.types import Ids

SLOWER = "numba is not installed: NumPy does the work, many times slower ('veil[fast]')."
LITTLE = 10**7  # updates below which one thread does it


@cache
def compiled_at_hand() -> bool:
    """Tell whether numba is there: the extra 'fast'."""
    try:  # a module of kernels that failed to load may be there, and empty: the library goes first
        import_module("numba")
        from veil.ratings.recommenders import _fused_factors, _fused_neighbours
    except (ImportError, RuntimeError):
        return False
    return all((_fused_factors, _fused_neighbours))


def in_shares(work: Callable[[int, int], None], costs: Ids, *, little: int = LITTLE) -> None:
    """Run `work` on ranges of rows of about equal cost, in threads where it is worth it.

    Each row is computed by itself: the result does not depend on the number of threads.
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
