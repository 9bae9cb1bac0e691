"""Synthetic numbers of the same means and covariances."""

from collections.abc import Sequence
from typing import ClassVar

from numpy.random import Generator

from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method
from veil.tables.methods.noise import complete, covariance_root, normal
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
        values = [table[name] for name in columns]
        root, whole = covariance_root(values), complete(values)
        drawn = normal(len(table), root, rng)
        for one, noise in zip(values, drawn, strict=True):
            noise += one.mean(where=whole)
        others = [name for name in table.columns if name not in columns]
        made = {name: Column(one) for name, one in zip(columns, drawn, strict=True)}
        return Masked(table.without(others).changed(made), None)
