"""Synthetic numbers of the same means and covariances."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method
from veil.tables.methods.noise import covariance_root
from veil.tables.table import Table


class Cholesky(Method):
    """Draw as many new rows from the normal law of the same means and covariances.

    mean + z L' with L L' = Sigma by eigenvectors, negative eigenvalues cut at 0 (the Cholesky
    factor itself does not exist for collinear columns). The released table has these columns
    alone, and no row of it is anybody's. Nothing is proved.
    """

    name: ClassVar[str] = "cholesky"
    family: ClassVar[str] = "Synthetic"
    kind: ClassVar[Kind] = "numeric"

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Draw rows."""
        matrix = np.stack([table[name] for name in columns], axis=1)
        whole = matrix[~np.isnan(matrix).any(axis=1)]
        if len(whole) < 2:
            raise InputError("At least two rows without a missing value are needed.")
        drawn = rng.standard_normal((len(table), len(columns))) @ covariance_root(whole).T
        drawn += whole.mean(axis=0)
        others = [name for name in table.columns if name not in columns]
        made = {name: Column(drawn[:, i].copy()) for i, name in enumerate(columns)}
        return Masked(table.without(others).changed(made), None)
