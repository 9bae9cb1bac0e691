r"""Updates as whole numbers on a grid, whose norm is bounded exactly.

An update is scaled down to an L2 norm of `clip`, put in units of clip / 2^20, and cut off towards
0, which makes no norm larger. The bound that a guarantee needs is then checked with integers.
"""

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.ratings.federated.masks import Words

STEPS = 2**20  # of the grid, in a norm of `clip`
_BELOW = STEPS * (1 - 2.0**-40)  # whatever floats round up stays below


def whole(rows: Floats, starts: Ids, clip: float) -> Ids:
    """Return the updates of users as whole numbers; `starts` is where the rows of each begin.

    Each user has at least one row. The norm of each update is at most `STEPS`.
    """
    norms = np.sqrt(np.add.reduceat(np.square(rows).sum(axis=1), starts))
    if not np.isfinite(norms).all():
        raise InputError("An update is not finite; choose a smaller step or a larger ridge.")
    factors = _BELOW / np.maximum(norms, clip)
    counts = np.diff(np.append(starts, len(rows)))
    steps = np.trunc(rows * np.repeat(factors, counts)[:, None]).astype(np.int64)
    squares = np.add.reduceat(np.square(steps).sum(axis=1), starts)
    if int(squares.max()) > STEPS**2:
        raise InputError("An update is longer than its bound; nothing is sent.")
    return steps


def words_of(steps: Ids, clients: int) -> Words:
    """Return whole numbers as words, if the sum over all clients stays within 63 bits."""
    room = (2**63 - 1) // clients
    if steps.size and not -room <= int(steps.min()) <= int(steps.max()) <= room:
        raise ParameterError(
            "A number is too large for a sum of 64 bits; choose less noise or fewer clients."
        )
    return np.ascontiguousarray(steps, dtype=np.int64).view(np.uint64)


def number_of(total: Words, clip: float) -> Floats:
    """Return a sum of words as the numbers that it stands for."""
    return total.view(np.int64).astype(np.float64) * (clip / STEPS)
