"""Noise on numbers, and synthetic numbers with similar statistics."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.tables.column import Column
from veil.tables.mechanism import Grid, Kind, Masked, Mechanism, Presets
from veil.tables.table import Table

_BLOCK = 8_192  # rows to draw at a time


class Noise(Mechanism):
    """Add normal noise to numbers.

    x + N(0, (scale sd)^2), column by column. `correlated`: N(0, scale^2 Sigma) for all columns
    together, which preserves correlations. `restore`: (x + e - mean)/sqrt(1 + scale^2) + mean,
    which preserves variances. Nothing is proved: no finite pure bound holds for normal noise.
    `veil.dp` has mechanisms with calibrated noise.

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

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        values = [table[name] for name in columns]
        spreads = [_spread(column) for column in values]
        if self.correlated:
            moved = normal(len(table), covariance_root(values), rng)
        else:
            moved = [rng.standard_normal(len(table)) * spread for spread in spreads]
        noisy = {}
        for name, column, noise in zip(columns, values, moved, strict=True):
            noise *= self.scale
            noise += column
            if self.restore:
                mean = np.nanmean(column)
                noise -= mean
                noise /= np.sqrt(1 + self.scale**2)
                noise += mean
            noisy[name] = Column(noise)
        return Masked(table.changed(noisy), np.arange(len(table)))


def _spread(values: Floats) -> float:
    if int((~np.isnan(values)).sum()) < 2:
        raise InputError("A column needs at least two numbers for its standard deviation.")
    return float(np.nanstd(values, ddof=1))


def covariance_root(columns: Sequence[Floats]) -> Floats:
    """Return L with L L' = Sigma, the sample covariance of the complete rows.

    L comes from the eigenvectors of Sigma, with negative eigenvalues set to 0. Columns are handled
    one by one, because a matrix of all would need the memory of the table again.
    """
    whole = complete(columns)
    n, observed = (
        int(whole.sum()),
        [column if whole.all() else column[whole] for column in columns],
    )
    if n < 2:
        raise InputError("At least two rows without a missing value are needed.")
    sigma = np.empty((len(observed), len(observed)))
    for i, column in enumerate(observed):
        centred = column - column.mean()
        for j, other in enumerate(observed[: i + 1]):
            sigma[i, j] = sigma[j, i] = centred @ (other - other.mean()) / (n - 1)
    values, vectors = np.linalg.eigh(sigma)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def complete(columns: Sequence[Floats]) -> NDArray[np.bool_]:
    """Return which rows (n,) have no missing value."""
    whole = np.ones(len(columns[0]), dtype=np.bool_)
    for column in columns:
        whole &= ~np.isnan(column)
    return whole


def normal(n: int, root: Floats, rng: Generator) -> list[Floats]:
    """Sample columns (n,) from the normal distribution with covariance L L', in blocks of rows."""
    columns = [np.empty(n) for _ in root]
    for start in range(0, n, _BLOCK):
        block = rng.standard_normal((min(_BLOCK, n - start), len(root))) @ root.T
        for column, part in zip(columns, block.T, strict=True):
            column[start : start + _BLOCK] = part
    return columns


class Cholesky(Mechanism):
    """Sample as many new rows from the normal distribution with the same means and covariances.

    mean + z L' with L L' = Sigma from eigenvectors, with negative eigenvalues set to 0 (collinear
    columns have no Cholesky factor). The released table has only these columns, and its rows
    belong to nobody. Nothing is proved.
    """

    name: ClassVar[str] = "cholesky"
    family: ClassVar[str] = "Synthetic"
    kind: ClassVar[Kind] = "numeric"

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        values = [table[name] for name in columns]
        root, whole = covariance_root(values), complete(values)
        samples = normal(len(table), root, rng)
        for column, noise in zip(values, samples, strict=True):
            noise += column.mean(where=whole)
        others = [name for name in table.columns if name not in columns]
        synthetic = {name: Column(sample) for name, sample in zip(columns, samples, strict=True)}
        return Masked(table.without(others).changed(synthetic), None)


class Lossy(Mechanism):
    """Keep the largest coefficients of the cosine transform of all columns.

    Standardise, apply the orthonormal two-dimensional DCT-II to the n x p matrix, keep the `keep`
    share of coefficients with the largest absolute values, invert, undo the standardisation.

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

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
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
        coefficients = dctn(matrix, type=2, norm="ortho", overwrite_x=True)
        coefficients[np.abs(coefficients) < _limit(coefficients, self.keep)] = 0.0
        moved = idctn(coefficients, type=2, norm="ortho", overwrite_x=True)
        moved *= spread
        moved += mean
        moved[gaps] = np.nan
        masked = {name: Column(moved[:, i].copy()) for i, name in enumerate(columns)}
        return Masked(table.changed(masked), np.arange(len(table)))


def _limit(coefficients: Floats, keep: float) -> float:
    sizes = np.abs(coefficients).ravel()
    place = sizes.size - max(1, round(keep * sizes.size))
    sizes.partition(place)
    return float(sizes[place])


def _moments(values: Floats) -> tuple[float, float]:
    """Return the mean and sample standard deviation (1 if it is 0) of present values."""
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

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        resampled = {}
        for name in columns:
            values = table[name].copy()
            present = np.flatnonzero(~table.column(name).missing)
            observed = values[present]
            means = np.zeros(len(observed))
            for _ in range(self.times):
                means += np.sort(observed[rng.integers(0, len(observed), len(observed))])
            values[present[np.argsort(observed, kind="stable")]] = means / self.times
            resampled[name] = Column(values)
        return Masked(table.changed(resampled), np.arange(len(table)))
