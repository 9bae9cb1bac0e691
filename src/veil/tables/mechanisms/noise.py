"""Noise on numbers, and numbers drawn to resemble them."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.tables.column import Column
from veil.tables.mechanism import Grid, Kind, Masked, Mechanism, Presets
from veil.tables.table import Table

_BLOCK = 8_192  # rows that are drawn at a time


class Noise(Mechanism):
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
    grid: ClassVar[Grid | None] = Grid("noise", "scale", (0.1, 0.2, 0.5, 1.0))
    presets: ClassVar[Presets | None] = lambda _: [
        f"noise(scale={scale:g})" for scale in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
    ]
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


class Cholesky(Mechanism):
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


class Lossy(Mechanism):
    """Keep the largest coefficients of the cosine transform of all columns, and transform back.

    Standardise, two-dimensional DCT-II (orthonormal) of the n x p matrix, keep the share of
    coefficients that are largest in size, invert, undo the standardisation.

    References
    ----------
    Domingo-Ferrer, Torra. A quantitative comparison of disclosure control methods for microdata.
    Confidentiality, Disclosure and Data Access, 2001, section 3 (lossy compression).
    """

    name: ClassVar[str] = "lossy"
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "numeric"
    random: ClassVar[bool] = False
    keep: Annotated[float, Field(gt=0, le=1, description="share of the coefficients")] = 0.3

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Transform, cut, transform back."""
        del rng
        try:
            from scipy.fft import dctn, idctn
        except ImportError:
            raise MissingExtraError("lossy needs scipy: pip install 'veil[tables]'.") from None
        matrix = np.stack([table[name] for name in columns], axis=1)
        gaps = np.isnan(matrix)
        if gaps.all(axis=0).any() or len(matrix) < 2:
            raise InputError("lossy needs at least two numbers in each column.")
        mean, spread = np.array([_moments(table[name]) for name in columns]).T
        matrix -= mean
        matrix /= spread
        matrix[gaps] = 0.0  # a gap is filled by the mean
        found = dctn(matrix, type=2, norm="ortho", overwrite_x=True)
        found[np.abs(found) < _limit(found, self.keep)] = 0.0
        moved = idctn(found, type=2, norm="ortho", overwrite_x=True)
        moved *= spread
        moved += mean
        moved[gaps] = np.nan
        made = {name: Column(moved[:, i].copy()) for i, name in enumerate(columns)}
        return Masked(table.changed(made), np.arange(len(table)))


def _limit(found: Floats, keep: float) -> float:
    """Return the size from which on coefficients are kept."""
    sizes = np.abs(found).ravel()
    place = sizes.size - max(1, round(keep * sizes.size))
    sizes.partition(place)
    return float(sizes[place])


def _moments(values: Floats) -> tuple[float, float]:
    """Return the mean and the sample standard deviation of what is there, or 1 if it is 0."""
    spread = float(np.nanstd(values, ddof=1))
    return float(np.nanmean(values)), spread if spread > 0 else 1.0


class Resample(Mechanism):
    """Replace the value of rank j by the mean of the j-th values of several bootstrap samples.

    References
    ----------
    Heer. A bootstrap procedure to preserve statistical confidentiality in contingency tables.
    International Seminar on Statistical Confidentiality, Eurostat 1993.
    """

    name: ClassVar[str] = "resample"
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "numeric"
    times: Annotated[int, Field(ge=1, le=1000, description="samples")] = 3

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Sort, draw, sort, and take means rank by rank."""
        made = {}
        for name in columns:
            values = table[name].copy()
            there = np.flatnonzero(~table.column(name).missing)
            known = values[there]
            means = np.zeros(len(known))
            for _ in range(self.times):
                means += np.sort(known[rng.integers(0, len(known), len(known))])
            values[there[np.argsort(known, kind="stable")]] = means / self.times
            made[name] = Column(values)
        return Masked(table.changed(made), np.arange(len(table)))
