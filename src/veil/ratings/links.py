"""Whose a released profile is, where only its file is left: told by whole profiles, to score."""

import numpy as np

from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings

_NEAR = 1e-9  # scores that differ by less are the same


def linked(released: Ratings, truth: Ratings) -> tuple[int, ...]:
    r"""Return the user, by position, behind each released profile (n',), -1 where there is none.

    No file of a release says so. Here each user of the truth, with all her ratings, takes the free
    profile that is most like hers:

    .. math:: \frac{1}{\sqrt{|I_v|}} \sum_{i \in I_u \cap I_v}
       \frac{e^{-|r_{ui} - r_{vi}|}}{\ln \max(|U_i|, 2)}

    It is right where profiles still tell users apart; where they do not, nobody can be found by
    less. Attackers are scored by it, and see nothing of it.
    """
    owner = np.full(released.n, -1, dtype=np.int64)
    places = released.item_positions
    items = np.array([places.get(one, -1) for one in truth.items], dtype=np.int64)
    weights = 1 / np.log(np.maximum(released.per_item, 2))
    sizes = 1 / np.sqrt(np.maximum(released.per_user, 1))
    for user in np.argsort(-truth.per_user, kind="stable").tolist():
        likeness = _likeness(released, truth, user, items, weights) * sizes
        likeness[owner >= 0] = -1.0
        best = float(likeness.max())
        if best > 0:
            owner[np.flatnonzero(likeness >= best * (1 - _NEAR))[0]] = user
    return tuple(owner.tolist())


def _likeness(released: Ratings, truth: Ratings, user: int, items: Ids, weights: Floats) -> Floats:
    total, rows = np.zeros(released.n), truth.rows(user)
    for item, value in zip(items[truth.item[rows]].tolist(), truth.value[rows], strict=True):
        if item >= 0:
            raters = released.order[released.item_starts[item] : released.item_starts[item + 1]]
            alike = np.exp(-np.abs(value - released.value[raters]))
            total[released.user[raters]] += weights[item] * alike
    return total
