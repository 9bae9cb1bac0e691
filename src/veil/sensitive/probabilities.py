"""Probabilities of being sensitive, checked."""

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.types import Floats


def probabilities_of(values: ArrayLike, n: int) -> Floats:
    """Return probabilities (n,); nan is one that is missing, and such a document is withheld."""
    try:
        p = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Probabilities must be numbers in one row.") from None
    if p.shape != (n,):
        raise InputError(f"There must be one probability for each of {n:,} documents.")
    if ((p < 0) | (p > 1)).any():
        raise InputError("A probability must be a number from 0 to 1.")
    return p
