"""Numbers with normal noise."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method
from veil.tables.table import Table


class Noise(Method):
    """Add normal noise to numbers.

    x + N(0, (scale sd)^2), column by column; `correlated`: N(0, scale^2 Sigma) for all columns
    together, which keeps correlations; `restore`: (x + e - mean)/sqrt(1 + scale^2) + mean, which
    keeps variances. Nothing is proved: no finite pure bound holds for a normal law, and `veil.dp`
    has the mechanisms whose noise is calibrated.

    References
    ----------
    Kim. A method for limiting disclosure in microdata based on random noise and transformation.
    Proceedings of the Section on Survey Research Methods, ASA 1986.
    """

    name: ClassVar[str] = "noise"
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "numeric"
    scale: Annotated[
        float,
        Field(gt=0, description="of the noise, in standard deviations", json_schema_extra=PRIVATE),
    ] = 0.1
    correlated: Annotated[bool, Field(description="noise of the columns' own covariance")] = False
    restore: Annotated[bool, Field(description="shrink back to the old variances")] = False

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Draw for all columns."""
        matrix = np.stack([table[name] for name in columns], axis=1)
        drawn = rng.standard_normal(matrix.shape)
        noise = drawn @ _root(matrix).T if self.correlated else drawn * _spread(matrix)
        moved = matrix + self.scale * noise
        if self.restore:
            mean = np.nanmean(matrix, axis=0)
            moved = (moved - mean) / np.sqrt(1 + self.scale**2) + mean
        made = {name: Column(moved[:, i].copy()) for i, name in enumerate(columns)}
        return Masked(table.changed(made), np.arange(len(table)))


def _spread(matrix: Floats) -> Floats:
    """Return the sample standard deviation of each column, of what is there."""
    if min(int((~np.isnan(column)).sum()) for column in matrix.T) < 2:
        raise InputError("A column needs at least two numbers for its standard deviation.")
    found: Floats = np.nanstd(matrix, axis=0, ddof=1)
    return found


def _root(matrix: Floats) -> Floats:
    """Return L with L L' = Sigma, of the rows in which nothing is missing."""
    whole = matrix[~np.isnan(matrix).any(axis=1)]
    return covariance_root(whole)


def covariance_root(rows: Floats) -> Floats:
    """Return a root of the sample covariance by its eigenvectors; what is below 0 counts as 0."""
    if len(rows) < 2:
        raise InputError("At least two rows without a missing value are needed.")
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows, rowvar=False)))
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root
