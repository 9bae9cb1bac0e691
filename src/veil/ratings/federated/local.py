r"""What a client computes of its own ratings: its vector, and the update that it sends.

Ratings are scaled to [-1, 1]. With item i at :math:`(b_i, q_i)` a user's own vector minimises

.. math:: \sum_i (r_i - b_i - a - p \cdot q_i)^2 + \lambda (a^2 + |p|^2)

and the update of her items is :math:`e_i (1, p)`, e the residuals; all other items have 0. The
functions take many users at once; each row depends on her own ratings alone, to the bit.
"""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings, Scale


@dataclass(frozen=True, eq=False, repr=False)
class Profiles:
    """Items (N,) and scaled ratings (N,) of users, each of whom has some from `starts` on."""

    item: Ids
    value: Floats
    starts: Ids

    @property
    def owner(self) -> Ids:
        """(N,) position of the user of each rating."""
        return np.repeat(
            np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.item)))
        )


def profiles(data: Ratings, users: Ids) -> Profiles:
    """Return the profiles of users by position, rising, all of whom have ratings."""
    counts = data.per_user[users]
    ends = np.cumsum(counts)
    rows = np.arange(int(ends[-1])) + np.repeat(data.starts[users] - (ends - counts), counts)
    value = scaled(data.value[rows].astype(np.float64), data.scale)
    return Profiles(data.item[rows].astype(np.int64), value, ends - counts)


def scaled(value: Floats, scale: Scale) -> Floats:
    """Return ratings on [-1, 1]."""
    low, high = scale
    return (2 * value - (low + high)) / (high - low)


def unscaled(value: Floats, scale: Scale) -> Floats:
    """Return numbers of [-1, 1] as ratings."""
    low, high = scale
    return (value * (high - low) + (low + high)) / 2


def vectors(of: Profiles, factors: Floats, ridge: float) -> Floats:
    """Return the own vector (a, p) of each user (b, f + 1) for item factors (m, f + 1)."""
    design, target = _design(of, factors)
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    gram = np.add.reduceat(products, of.starts).reshape(len(of.starts), *design.shape[1:] * 2)
    right = np.add.reduceat(design * target[:, None], of.starts)
    solved = np.linalg.solve(gram + ridge * np.eye(design.shape[1]), right[:, :, None])
    return np.asarray(solved[:, :, 0], dtype=np.float64)


def updates(of: Profiles, factors: Floats, ridge: float) -> Floats:
    """Return the rows (N, f + 1) of the updates that are not 0: one for each rating."""
    design, target = _design(of, factors)
    own = vectors(of, factors, ridge)[of.owner]
    residual = target - (design * own).sum(axis=1)
    own[:, 0] = 1.0
    return np.asarray(own * residual[:, None], dtype=np.float64)


def _design(of: Profiles, factors: Floats) -> tuple[Floats, Floats]:
    """Return (1, q_i) and r_i - b_i for each rating."""
    design = factors[of.item]
    target = of.value - design[:, 0]
    design[:, 0] = 1.0
    return design, target
