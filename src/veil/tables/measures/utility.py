"""What a release is still worth, from 0 to 1, by a measure of one's choice."""

from collections.abc import Sequence
from typing import Any, overload

from veil.core.errors import InputError, ParameterError
from veil.core.registry import Registry
from veil.tables.counts.cells import Cells
from veil.tables.counts.release import CellRelease
from veil.tables.counts.utility import cell_utility
from veil.tables.measures.measure import Utility
from veil.tables.measures.ml import ML, learnt
from veil.tables.measures.pair import Pair, Released
from veil.tables.table import Table

UTILITIES: Registry[Utility] = Registry(
    noun="measure of utility",
    group="veil.measures.tables",
    builtin={
        "cells": "veil.tables.measures.cells:Cells",
        "marginals": "veil.tables.measures.marginals:Marginals",
        "ml": "veil.tables.measures.ml:ML",
    },
)


@overload
def utility(
    t: Table,
    r: Released,
    measure: str | Utility = "marginals",
    *,
    columns: Sequence[str] | None = None,
    target: str = "",
    estimator: Any = None,  # noqa: ANN401 - as of scikit-learn
) -> float: ...
@overload
def utility(t: Cells, r: CellRelease) -> float: ...
def utility(
    t: Any,
    r: Any,
    measure: str | Utility = "marginals",
    *,
    columns: Sequence[str] | None = None,
    target: str = "",
    estimator: Any = None,
) -> float:
    """Return what a release is still worth, from 0 to 1.

    Parameters
    ----------
    t, r
        The original, and its release; also a plain table, whose row i is row i. Cells, and a
        release of them, have one measure: what is left of 1 if all that is suppressed or changed
        is taken off, as a share of what there is.
    measure
        "marginals", "cells" or "ml", or a plugin's; also with parameters.
    columns
        Compared; by default all that both have.
    target, estimator
        Of "ml": the column to be predicted, and any object with ``fit`` and ``predict``.
    """
    if isinstance(t, Cells) or isinstance(r, CellRelease):
        if not (isinstance(t, Cells) and isinstance(r, CellRelease)):
            raise InputError("Cells are compared with a release of cells, which protect makes.")
        if measure != "marginals" or columns is not None or target or estimator is not None:
            raise ParameterError("Cells have one measure, and no columns to choose.")
        return cell_utility(t, r)
    chosen = UTILITIES.parse(measure) if isinstance(measure, str) else measure
    pair = Pair.of(t, r, columns)
    if isinstance(chosen, ML):
        return learnt(pair, target or chosen.target, estimator).score
    if target or estimator is not None:
        raise ParameterError("A target and an estimator are of the measure 'ml' alone.")
    return chosen.score(pair)
