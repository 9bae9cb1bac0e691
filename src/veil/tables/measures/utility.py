"""What a release is still worth, from 0 to 1, by a measure of one's choice."""

from collections.abc import Sequence
from typing import Any

from veil.core.errors import ParameterError
from veil.core.registry import Registry
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


def utility(
    t: Table,
    r: Released,
    measure: str | Utility = "marginals",
    *,
    columns: Sequence[str] | None = None,
    target: str = "",
    estimator: Any = None,  # noqa: ANN401 - as of scikit-learn
) -> float:
    """Return what a release is still worth, from 0 to 1.

    Parameters
    ----------
    t, r
        The original, and its release; also a plain table, whose row i is row i.
    measure
        "marginals", "cells" or "ml", or a plugin's; also with parameters.
    columns
        Compared; by default all that both have.
    target, estimator
        Of "ml": the column to be predicted, and any object with ``fit`` and ``predict``.
    """
    chosen = UTILITIES.parse(measure) if isinstance(measure, str) else measure
    pair = Pair.of(t, r, columns)
    if isinstance(chosen, ML):
        return learnt(pair, target or chosen.target, estimator).score
    if target or estimator is not None:
        raise ParameterError("A target and an estimator are of the measure 'ml' alone.")
    return chosen.score(pair)
