"""The exponential of log-weights, in place."""

from functools import cache

import numpy as np

from veil.core.types import Floats
from veil.text.vectors.nearest import fused_at_hand

_LOWEST = -700.0  # below this the result is hardly a float64 any more


def exp_in_place(logs: Floats) -> None:
    """Replace logs <= 0 by their exponentials, to one unit in the last place.

    With the extra `fast` in SIMD registers; NumPy computes float64 one by one on many processors.
    """
    if logs.flags.c_contiguous and _fused() and logs.size and logs.min() >= _LOWEST:
        from veil.text.vectors._fused_exp import fused_exp

        flat = logs.reshape(-1)
        fused_exp(flat, np.empty_like(flat))
    else:
        np.exp(logs, out=logs)


@cache
def _fused() -> bool:
    return fused_at_hand()
