"""Undo a known randomisation in the shares of a column."""

from collections.abc import Mapping
from typing import cast

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.release import Release


def invert(release: Release, column: str) -> Mapping[str, float]:
    """Return an unbiased estimate of the share of each category before randomisation.

    The shares of what was released are multiplied by the inverse of the matrix: P^-T f. An
    estimate may be below 0 or above 1, where noise is larger than the share; cutting it would make
    the estimates biased.
    """
    if not isinstance(release, Release):
        raise InputError("Inverted is a release of a table, which tables.protect makes.")
    matrices = cast(Mapping[str, tuple[tuple[str, ...], Floats]], release.kept.get("pram", {}))
    if column not in matrices:
        raise InputError(
            f"The column '{column}' was not randomised by a known matrix (pram, random_response)."
        )
    categories, matrix = matrices[column]
    texts = release.table.column(column)
    place = {label: i for i, label in enumerate(categories)}
    at = np.array([place[label] for label in texts.categories], dtype=np.int64)
    codes = texts.codes[texts.codes >= 0]
    counts = np.bincount(at[codes], minlength=len(categories))
    if np.linalg.cond(matrix) > 1e12:
        raise InputError("The matrix cannot be inverted: what was released tells nothing.")
    shares = np.linalg.solve(matrix.T, counts / max(1, counts.sum()))
    return {label: float(share) for label, share in zip(categories, shares, strict=True)}
