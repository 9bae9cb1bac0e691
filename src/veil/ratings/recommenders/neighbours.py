"""Predict a rating from those of near rows: the rows are users (userknn) or items (itemknn)."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veil.core.types import Floats, Ids
from veil.ratings.likes import spread
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Recommender
from veil.ratings.recommenders.engine import compiled_at_hand, in_shares


class Neighbours(Recommender):
    r"""What user and item neighbourhoods share.

    The similarity of two rows is taken over their common columns only,
    :math:`\sum xy / \sqrt{\sum x^2 \sum y^2}`, for Pearson after the mean of each row over all its
    ratings is taken off, times :math:`c / (c + shrinkage)` of c common columns.
    """

    k: Annotated[int, Field(ge=0, description="neighbours; 0 takes all")] = 40
    similarity: Annotated[
        Literal["cosine", "pearson"], Field(description="what likeness is measured by")
    ] = "cosine"
    centre: Annotated[
        Literal["mean", "none"], Field(description="whether means are taken off ratings")
    ] = "mean"
    shrinkage: Annotated[float, Field(ge=0, description="pulls what few ratings say to 0")] = 0.0
    min_common: Annotated[int, Field(ge=1, description="columns that two rows must share")] = 1


class Rows:
    """Ratings as rows and as columns, and the means of the rows."""

    def __init__(
        self, train: Ratings, spec: Neighbours, *, transposed: bool, signed: bool
    ) -> None:
        self.spec, self.signed = spec, signed
        row, column, value = train.user, train.item, train.value.astype(np.float64)
        order = train.order
        if transposed:
            row, column, value = train.item[order], train.user[order], value[order]
            order = np.argsort(column, kind="stable")
            self.starts, self.by_column = train.item_starts, train.starts
        else:
            self.starts, self.by_column = train.starts, train.item_starts
        counts = np.diff(self.starts)
        self.means = np.bincount(row, value, len(counts)) / np.maximum(counts, 1)
        self.columns = column
        self.shifted = value - self.means[row] if spec.similarity == "pearson" else value
        self.rows, self.column_shifted = row[order], self.shifted[order]
        centred = value - self.means[row] if spec.centre == "mean" else value
        self.column_values = centred[order]
        self.mean = float(value.mean())

    def predict(self, rows: Ids, columns: Ids) -> Floats:
        """Return ratings of pairs of positions; without a neighbour the mean of the row, or mu."""
        order = np.argsort(rows, kind="stable")
        groups, first = np.unique(rows[order], return_index=True)
        starts = np.append(first, len(rows)).astype(np.int64)
        found = np.empty(len(rows))
        wanted = columns[order]
        if compiled_at_hand():
            self._fused(groups, starts, wanted, found)
        else:
            for group, row in enumerate(groups.tolist()):
                part = slice(int(starts[group]), int(starts[group + 1]))
                found[part] = self._predicted(self._similarities(row), wanted[part])
        back = np.empty(len(rows))
        back[order] = found
        centre = self.means[rows] if self.spec.centre == "mean" else 0.0
        rated = np.diff(self.starts)[rows] > 0
        instead = self.means[rows] if self.spec.centre == "mean" else self.mean
        instead = np.where(rated, instead, self.mean)
        return np.where(np.isnan(back), instead, centre + back)

    def _fused(self, groups: Ids, starts: Ids, wanted: Ids, found: Floats) -> None:
        from veil.ratings.recommenders import _fused_neighbours

        spec = self.spec

        def work(first: int, last: int) -> None:
            _fused_neighbours.predict(
                *(groups, starts, wanted, self.starts, self.columns, self.shifted),
                *(self.by_column, self.rows, self.column_shifted, self.column_values),
                *(spec.k, spec.shrinkage, spec.min_common, self.signed, first, last, found),
            )

        sizes = np.diff(self.by_column)
        ends = np.concatenate([[0], np.cumsum(sizes[self.columns])])
        pairs = np.concatenate([[0], np.cumsum(sizes[wanted])])
        costs = ends[self.starts[groups + 1]] - ends[self.starts[groups]]
        in_shares(work, costs + np.diff(pairs[starts]))

    def _similarities(self, row: int) -> Floats:
        """Return the similarity (rows,) of one row to all."""
        part = slice(int(self.starts[row]), int(self.starts[row + 1]))
        at, owner = spread(
            self.by_column[self.columns[part]], self.by_column[self.columns[part] + 1]
        )
        x, y, others = self.shifted[part][owner], self.column_shifted[at], self.rows[at]
        n = len(self.starts) - 1
        common = np.bincount(others, minlength=n)
        lengths = np.bincount(others, x * x, n) * np.bincount(others, y * y, n)
        enough = (common >= self.spec.min_common) & (lengths > 0)
        sims = np.zeros(n)
        weight = common[enough] / (common[enough] + self.spec.shrinkage)
        sims[enough] = np.bincount(others, x * y, n)[enough] / np.sqrt(lengths[enough]) * weight
        sims[row] = 0.0
        return sims

    def _predicted(self, sims: Floats, columns: Ids) -> Floats:
        """Return the weighted means of the nearest raters of each column, nan without one."""
        found = np.full(len(columns), np.nan)
        for at, column in enumerate(columns.tolist()):
            part = slice(int(self.by_column[column]), int(self.by_column[column + 1]))
            near, values = sims[self.rows[part]], self.column_values[part]
            if not self.signed:
                near, values = near[near > 0], values[near > 0]
            if self.spec.k and len(near) > self.spec.k:
                chosen = np.argsort(-near, kind="stable")[: self.spec.k]
                near, values = near[chosen], values[chosen]
            below = near.sum()
            if below != 0:
                found[at] = (near * values).sum() / below
        return found
