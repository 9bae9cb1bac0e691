r"""The optimal composition of releases that differ.

An epsilon-DP release tells at most what randomised response does: a loss of epsilon with chance
:math:`e^\varepsilon/(1+e^\varepsilon)`, else of -epsilon. Losses add up, and

.. math:: \delta(e) = \sum_{\text{losses } l > e} p(l) (1 - e^{e-l})

References
----------
Murtagh, Vadhan. The Complexity of Computing the Optimal Composition of Differential Privacy. TCC
2016, Theorem 1.5.
"""

import numpy as np

from veil.core.types import Floats

MOST = 100_000  # releases of one kind
_ATOMS = 2**17  # losses that are kept as they are
_CELLS = 2**14  # of the lattice on which more of them are rounded up
_SLACK = 1 + 1e-9  # for the rounding of sums of probabilities

Law = tuple[Floats, Floats]  # losses, and their chances


def optimal(groups: list[tuple[float, int]], delta: float) -> float:
    """Return the smallest epsilon, rounded up, whose delta is at most what is given.

    `groups` are epsilons, and how often each is met. Where there are more than 2^17 different sums
    of losses they are rounded up to a lattice, which can only make the epsilon larger.

    >>> round(optimal([(0.1, 100)], 1e-6), 6)
    4.774568
    """
    total = sum(epsilon * times for epsilon, times in groups)
    losses, chances = _law(groups, 2 * total / _CELLS)
    order = np.argsort(-losses, kind="stable")
    losses, chances = losses[order], chances[order] * _SLACK
    low, high = 0.0, total
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        count = int(np.searchsorted(-losses, -middle))
        left = float(-np.expm1(middle - losses[:count]) @ chances[:count])
        low, high = (low, middle) if left <= delta else (middle, high)
    return high


def _law(groups: list[tuple[float, int]], step: float) -> Law:
    """Return the law of the sum of all losses, in as few blocks as have room."""
    blocks: list[Law] = [(np.zeros(1), np.ones(1))]
    for epsilon, times in sorted(groups, key=lambda group: (group[1], group[0])):
        losses, chances = _equal(epsilon, times)
        if len(blocks[-1][0]) * len(losses) > _ATOMS:
            blocks.append((losses, chances))
        else:
            blocks[-1] = (
                np.add.outer(blocks[-1][0], losses).ravel(),
                np.multiply.outer(blocks[-1][1], chances).ravel(),
            )
    if len(blocks) == 1:
        return blocks[0]
    first, both = 0, np.ones(1)
    for block in blocks:
        cells = np.ceil(block[0] / step).astype(np.int64)
        first += int(cells.min())
        both = np.convolve(both, np.bincount(cells - cells.min(), weights=block[1]))
    losses = np.arange(first, first + len(both), dtype=np.float64) * step
    return losses, both


def _equal(epsilon: float, times: int) -> Law:
    """Return the law of the sum of equal losses; logarithms keep it in range."""
    count = np.arange(times + 1, dtype=np.float64)
    ways = np.zeros(times + 1)
    np.cumsum(np.log((times - count[1:] + 1) / count[1:]), out=ways[1:])
    logs = ways - (times - count) * epsilon - times * np.log1p(np.exp(-epsilon))
    return epsilon * (2 * count - times), np.exp(logs)
