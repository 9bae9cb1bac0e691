"""Nearest numbers by trees."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from veil.core.errors import MissingExtraError
from veil.core.types import Floats, Ids
from veil.tables.attacks.apart import Apart

_AT_ONCE = 4096  # points whose neighbours are listed at a time


class Trees:
    """A tree over the columns that are known, for each set of columns that some points miss.

    What is missing is as far from everything, and adds the same to every distance.
    """

    def __init__(self, asked: Floats, across: Floats, stars: Floats) -> None:
        self._asked, self._across = asked, across
        blank = np.isnan(asked)
        masks, self._at = np.unique(blank, axis=0, return_inverse=True)
        self._at = self._at.ravel()
        self._masks = masks
        self._more = masks @ stars  # what missing columns add, per mask
        self._made = [tree_of(across[:, ~mask]) if not mask.all() else None for mask in masks]

    @classmethod
    def of(
        cls, aparts: Sequence[Apart], asked: Ids, across: Ids, *, released: bool
    ) -> "Trees | None":
        """Make trees, if all columns are numbers, squared, and nothing across is missing."""
        lines = [one.points() if one.squared else None for one in aparts]
        made: list[tuple[Floats, Floats]] = []
        for column, line in enumerate(lines):
            if line is None:
                return None
            labels, values = line
            theirs, mine = (labels, values) if released else (values, labels)
            made.append((mine[asked[:, column]], theirs[across[:, column]]))
        points = np.stack([pair[0] for pair in made], axis=1)
        others = np.stack([pair[1] for pair in made], axis=1)
        if np.isnan(others).any():
            return None
        return cls(points, others, np.array([one.star for one in aparts]))

    def best(self) -> Floats:
        """Return the square of the distance of the nearest."""
        made = np.empty(len(self._asked))
        for number, tree in enumerate(self._made):
            mine = np.flatnonzero(self._at == number)
            made[mine] = self._more[number]
            if tree is not None:
                _, nearest = tree.query(self._known(mine, number))
                gaps = self._known(mine, number) - tree.data[nearest]
                made[mine] += np.square(gaps).sum(axis=1)
        return made

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Add up weights (across, v) over all points within the limit, a square."""
        made = np.empty((len(which), weights.shape[1]))
        for number, tree in enumerate(self._made):
            mine = np.flatnonzero(self._at[which] == number)
            if tree is None:
                made[mine] = weights.sum(axis=0)
                continue
            reach = np.sqrt(np.maximum(0.0, limit[mine] - self._more[number]))
            for part in _parts(len(mine)):
                rows = mine[part]
                lists = tree.query_ball_point(self._known(which[rows], number), reach[part])
                made[rows] = added(lists, weights)
        return made

    def _known(self, rows: Ids, number: int) -> Floats:
        return self._asked[rows][:, ~self._masks[number]]


def added(lists: Sequence[list[int]], weights: Floats) -> Floats:
    """Add up the weights of each list of places."""
    sizes = np.array([len(one) for one in lists])
    owners = np.repeat(np.arange(len(lists)), sizes)
    places = np.fromiter((place for one in lists for place in one), np.int64, int(sizes.sum()))
    columns = [np.bincount(owners, row[places], minlength=len(lists)) for row in weights.T]
    return np.stack(columns, axis=1)


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, _AT_ONCE):
        yield slice(start, min(n, start + _AT_ONCE))


def tree_of(points: Floats) -> Any:  # noqa: ANN401 - of scipy
    """Return a tree of points (n, d)."""
    try:
        from scipy.spatial import cKDTree
    except ImportError as error:
        raise MissingExtraError(
            "Attacks by distance need scipy: pip install 'veil[tables]'."
        ) from error
    return cKDTree(points)
