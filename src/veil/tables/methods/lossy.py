"""Numbers after a lossy compression of the whole matrix."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError, MissingExtraError
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
        mean, spread = np.nanmean(matrix, axis=0), np.nanstd(matrix, axis=0, ddof=1)
        spread = np.where(spread > 0, spread, 1.0)
        scaled = np.where(gaps, 0.0, (matrix - mean) / spread)  # a gap is filled by the mean
        found = dctn(scaled, type=2, norm="ortho")
        count = max(1, round(self.keep * found.size))
        limit = np.partition(np.abs(found).ravel(), found.size - count)[found.size - count]
        back = idctn(np.where(np.abs(found) >= limit, found, 0.0), type=2, norm="ortho")
        moved = np.where(gaps, np.nan, back * spread + mean)
        made = {name: Column(moved[:, i].copy()) for i, name in enumerate(columns)}
        return Masked(table.changed(made), np.arange(len(table)))
