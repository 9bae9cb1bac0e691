"""Numbers after a lossy compression of the whole matrix."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method
from veil.tables.table import Table


class Lossy(Method):
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
