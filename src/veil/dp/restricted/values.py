"""The values of a statistical database, and the sets that are asked about."""

import math

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.dp.restricted.auditor import Mask

Numbers = NDArray[np.int64] | NDArray[np.float64]


def numbers(values: object) -> Numbers:
    """Return finite numbers (n,); whole ones and truth values stay whole."""
    given = np.asarray(values)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "biuf":
        raise InputError("The values must be numbers in one row, at least one.")
    if given.dtype.kind == "f":
        found = given.astype(np.float64)
        if not np.isfinite(found).all():
            raise InputError("The values must be finite numbers.")
        return found
    if given.dtype.kind == "u" and int(given.max()) > np.iinfo(np.int64).max:
        raise InputError("Whole values must fit into 64 bits.")
    return given.astype(np.int64)


def mask_of(mask: object, n: int) -> Mask:
    """Return which of n records are in a set: truth values, or 0 and 1."""
    given = np.asarray(mask)
    fine = given.shape == (n,) and given.dtype.kind in "biu"
    if not fine or not ((given == 0) | (given == 1)).all():
        raise InputError(f"A set is told by {n:,} truth values, one for each record.")
    return given.astype(np.bool_)


def total(values: Numbers) -> int | float:
    """Add up numbers: whole ones exactly, others rounded once."""
    listed: list[int | float] = values.tolist()
    return sum(listed) if values.dtype.kind == "i" else math.fsum(listed)
