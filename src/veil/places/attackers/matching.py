"""One address for each point: the best assignment of all at once."""

from typing import ClassVar

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats, Ids
from veil.places.attacker import Attacker, Scene, Truth
from veil.places.found import Found
from veil.places.projection import pairs

CELLS = 25_000_000  # of the matrix of costs: 200 MB


class Matching(Attacker):
    r"""Assign released points to addresses one to one, at the least total cost.

    .. math:: \min_\pi \sum_i \sum_j d(z_{ij}, \pi(i))^2 \quad \text{or} \quad
       \min_\pi -\sum_i \sum_j \log f(z_{ij} \mid \pi(i))

    the latter where the method is known. It makes one guess for each point; where there are more
    points than addresses some get none. Addresses at the same place count as the same.
    """

    name: ClassVar[str] = "matching"

    def found(self, scene: Scene, truth: Truth) -> Found:
        """Compare the assigned addresses with the true ones."""
        register = scene.listed(self.name)
        guess = assigned(costs(scene))
        right = (guess >= 0) & (guess[:, None] == truth.entries).any(axis=1)
        among = len(register)
        first = np.where(right, 1, among + 1)
        return Found(first, np.ones_like(first), among, truth.absent)


def costs(scene: Scene) -> Floats:
    """Return what it costs (n, m) to assign each point to each address."""
    register, on = scene.listed("matching"), scene.on
    n = scene.releases.shape[1]
    if n * len(register) > CELLS:
        raise InputError(
            f"The attacker matching takes at most {CELLS:,} pairs of points and addresses, and"
            f" these are {n * len(register):,}; hand in fewer, or use bayes."
        )
    total = np.zeros((n, len(register)))
    for released in scene.releases:
        if scene.method is None:
            total += np.square(pairs(on, on.embed(released), on.embed(register.xy)))
        else:
            law = scene.law("matching")
            total -= law.log_density(released, register.xy, on, scene.population)
    return _feasible(total)


def assigned(cost: Floats) -> Ids:
    """Return the column (n,) that each row gets, -1 for rows that get none."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise MissingExtraError(
            "The attacker matching needs scipy: pip install 'veil[places]'."
        ) from error
    rows, columns = linear_sum_assignment(cost)
    found = np.full(len(cost), -1, dtype=np.int64)
    found[rows] = columns
    return found


def _feasible(cost: Floats) -> Floats:
    """Price what is impossible so high that it is taken only where nothing else is left."""
    known = np.isfinite(cost)
    if known.all():
        return cost
    span = float(np.ptp(cost[known])) if known.any() else 0.0
    top = float(cost[known].max()) if known.any() else 0.0
    cost[~known] = top + (span + 1.0) * min(cost.shape)
    return cost
