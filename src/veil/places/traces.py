"""Traces: fixes of moving users, one after the other."""

from collections.abc import Iterator

import numpy as np

from veil.core.types import Ids
from veil.places.points import Points


def trails(points: Points) -> Iterator[Ids]:
    """Yield the rows of each user, in the order of time; rows at one time keep their order.

    Without users each row is a user of its own; without times the order is that of the rows.
    """
    if points.users is None:
        yield from np.arange(len(points))[:, None]
        return
    times = np.zeros(len(points)) if points.times is None else points.times
    order = np.lexsort([np.arange(len(points)), times, points.users])
    changes = np.flatnonzero(points.users[order][1:] != points.users[order][:-1]) + 1
    yield from np.split(order, changes)


def most_fixes(points: Points) -> int:
    """Return how many fixes the user has who has most."""
    if points.users is None:
        return 1
    return int(np.unique(points.users, return_counts=True)[1].max())
