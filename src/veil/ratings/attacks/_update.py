"""What one client of federated training would send, were it not masked."""

from typing import NamedTuple

import numpy as np

from veil.core.types import Floats, Ids

_RIDGE = 0.1  # of the client's own vector, which never leaves


class Update(NamedTuple):
    """The gradient of the items (m, f), and what the server knows: the item factors (m, f)."""

    gradient: Floats
    factors: Floats


def update(items: Ids, values: Floats, factors: Floats) -> Update:
    r"""Return the first update of a client with these ratings.

    Her vector p solves a ridge regression on the item factors q; then :math:`g_i = -(r_i - p \cdot
    q_i)\, p` for her items and 0 for all others: no biases, no ridge term, no clipping, no noise.
    """
    own = factors[items]
    square = own.T @ own + _RIDGE * np.eye(factors.shape[1])
    vector = np.linalg.solve(square, own.T @ values)
    gradient = np.zeros_like(factors)
    gradient[items] = -np.outer(values - own @ vector, vector)
    return Update(gradient, factors)
