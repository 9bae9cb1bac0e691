r"""Who is first in a random order: the integral of a product, leaving one factor out.

.. math:: I_r = \int_0^1 \prod_{s \ne r} (1 - p_s t)\, dt

If each of several candidates stands at a uniform time and speaks up with probability p_s, then I_r
is the chance that nobody else does before r. The alternating sum over subsets is the same number;
the integral has positive terms alone, so that nothing cancels. Gauss-Legendre nodes are exact for
up to 64 factors, and for more, in pieces, exact to rounding.
"""

from itertools import pairwise

import numpy as np

from veil.core.types import Floats

_NODES = 32  # exact up to 64 factors
_SPAN = 8.0  # of t times the sum of p, in the first piece; each further one is twice as wide


def alone(p: Floats) -> Floats:
    """Return the integral for each of the probabilities in the last axis, leaving it out.

    >>> alone(np.array([1.0, 1.0])).round(12).tolist()
    [0.5, 0.5]
    """
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    found = np.zeros(p.shape)
    edges = _edges(1.0 if p.shape[-1] <= 2 * _NODES else _SPAN / max(float(p.sum(-1).max()), 1.0))
    for low, high in pairwise(edges):
        half = (high - low) / 2
        for node, share in zip(x.tolist(), weight.tolist(), strict=True):
            logs = np.log1p(-p * (low + half * (1 + node)))
            found += half * share * np.exp(logs.sum(-1, keepdims=True) - logs)
    return found


def _edges(first: float) -> list[float]:
    edges = [0.0, min(first, 1.0)]
    while edges[-1] < 1:
        edges.append(min(2 * edges[-1], 1.0))
    return edges
