"""Information loss: what a release lost of its original, by column and overall."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.tables.measures import categories, numbers
from veil.tables.measures.cells import spread
from veil.tables.measures.ml import Learnt, learnt
from veil.tables.measures.pair import Pair, Released
from veil.tables.table import Table

_ABSOLUTE = ("means", "variances")  # signed by column, absolute overall
_COUNTS = ("left_out",)  # summed overall


@dataclass(frozen=True, eq=False)
class Loss:
    """What a release lost.

    Attributes
    ----------
    overall
        Means over the columns: of numbers il1s, mse, mae, mean_variation, means, variances (of
        these the absolute changes), correlations, covariances; of categories direct, contingency,
        entropy; and share_removed, of the rows. `constant` counts columns of numbers without any
        variation, which are left out, `singular` what the columns of numbers lack of full rank.
    columns
        The same by column.

    What does not apply is not there: row by row nothing is known of synthetic data.
    """

    overall: Mapping[str, float]
    columns: Mapping[str, Mapping[str, float]]
    pair: Pair = field(repr=False)

    def ml(self, target: str = "", estimator: Any = None) -> Learnt:  # noqa: ANN401 - sklearn
        """Return how often a classifier that learnt from the release is right."""
        return learnt(self.pair, target, estimator)


def loss(t: Table, r: Released, *, order: int = 2, columns: Sequence[str] | None = None) -> Loss:
    """Return what a release lost of its original.

    Parameters
    ----------
    t, r
        The original, and its release; also a plain table, whose row i is row i.
    order
        Up to how many columns contingency tables have: 1 or 2.
    columns
        Compared; by default all that both have. Then a column that is neither known to an attacker
        nor confidential, and that nothing changed, does not count overall, unless no column has a
        role.
    """
    if order not in (1, 2):
        raise ParameterError("The 'order' of contingency tables must be 1 or 2.")
    pair = Pair.of(t, r, columns)
    if isinstance(r, Table) and pair.rows is None:
        raise InputError(
            f"Row i of a released table must be row i of the original, and there are"
            f" {len(r):,} and {len(t):,} rows; hand in the Release, which knows them, or compare"
            " distributions by tables.utility(t, r, 'marginals')."
        )
    return loss_of(pair, pair.columns if columns is not None else pair.concerned, order)


def loss_of(pair: Pair, counted: Sequence[str], order: int = 2) -> Loss:
    """Return what a release lost, overall in the columns that are counted."""
    every = [one for one in pair.columns if _numeric(pair, one)]
    by_column = {
        name: _number(pair, name) if name in every else _label(pair, name)
        for name in pair.columns
        if name not in every or _varied(pair, name)
    }
    figures = [name for name in every if name in counted]
    varied = [name for name in figures if name in by_column]
    labels = [name for name in by_column if name not in every and name in counted]
    overall = _means([by_column[name] for name in (*varied, *labels)])
    overall |= numbers.together(pair, varied)
    if figures:
        overall["constant"] = float(len(figures) - len(varied))
    if labels:
        overall["contingency"] = categories.contingency(pair, labels, order)
    overall["share_removed"] = pair.share_removed
    return Loss(overall, by_column, pair)


def _varied(pair: Pair, name: str) -> bool:
    return spread(pair.original.column(name)) > 0


def _numeric(pair: Pair, name: str) -> bool:
    return pair.original.column(name).numeric and pair.released.column(name).numeric


def _number(pair: Pair, name: str) -> dict[str, float]:
    found = {} if pair.rows is None else numbers.row_losses(pair, name)
    return found | numbers.moments(pair, name)


def _label(pair: Pair, name: str) -> dict[str, float]:
    found = {"contingency": categories.contingency(pair, [name], 1)}
    if pair.rows is not None:
        found |= {
            "direct": categories.direct(pair, name),
            "entropy": categories.entropy(pair, name),
        }
    return found


def _means(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each figure over the columns that have it."""
    names = dict.fromkeys(name for one in found for name in one)
    overall = {}
    for name in names:
        values = np.array([one[name] for one in found if name in one])
        known = np.abs(values) if name in _ABSOLUTE else values
        known = known[~np.isnan(known)]
        total = float(known.sum())
        overall[name] = (
            total if name in _COUNTS else total / len(known) if len(known) else math.nan
        )
    return overall
