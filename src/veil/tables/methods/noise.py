"""Numbers with normal noise."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method
from veil.tables.table import Table

_BLOCK = 8_192  # rows that are drawn at a time


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
        values = [table[name] for name in columns]
        spreads = [_spread(one) for one in values]
        if self.correlated:
            moved = normal(len(table), covariance_root(values), rng)
        else:
            moved = [rng.standard_normal(len(table)) * spread for spread in spreads]
        made = {}
        for name, one, noise in zip(columns, values, moved, strict=True):
            noise *= self.scale
            noise += one
            if self.restore:
                mean = np.nanmean(one)
                noise -= mean
                noise /= np.sqrt(1 + self.scale**2)
                noise += mean
            made[name] = Column(noise)
        return Masked(table.changed(made), np.arange(len(table)))


def _spread(values: Floats) -> float:
    """Return the sample standard deviation of what is there."""
    if int((~np.isnan(values)).sum()) < 2:
        raise InputError("A column needs at least two numbers for its standard deviation.")
    return float(np.nanstd(values, ddof=1))


def covariance_root(columns: Sequence[Floats]) -> Floats:
    """Return L with L L' = Sigma, of the rows in which nothing is missing.

    It is made of the eigenvectors of the sample covariance; what is below 0 counts as 0. Columns
    are taken one by one: a matrix of all would need the memory of the table again.
    """
    whole = complete(columns)
    n, held = int(whole.sum()), [one if whole.all() else one[whole] for one in columns]
    if n < 2:
        raise InputError("At least two rows without a missing value are needed.")
    sigma = np.empty((len(held), len(held)))
    for i, one in enumerate(held):
        away = one - one.mean()
        for j, other in enumerate(held[: i + 1]):
            sigma[i, j] = sigma[j, i] = away @ (other - other.mean()) / (n - 1)
    values, vectors = np.linalg.eigh(sigma)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def complete(columns: Sequence[Floats]) -> NDArray[np.bool_]:
    """Tell in which rows (n,) nothing is missing."""
    whole = np.ones(len(columns[0]), dtype=np.bool_)
    for one in columns:
        whole &= ~np.isnan(one)
    return whole


def normal(n: int, root: Floats, rng: Generator) -> list[Floats]:
    """Draw columns (n,) of the normal law of covariance L L', some rows at a time."""
    made = [np.empty(n) for _ in root]
    for start in range(0, n, _BLOCK):
        drawn = rng.standard_normal((min(_BLOCK, n - start), len(root))) @ root.T
        for column, part in zip(made, drawn.T, strict=True):
            column[start : start + _BLOCK] = part
    return made
