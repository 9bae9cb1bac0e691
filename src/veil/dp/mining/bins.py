"""Numbers as the codes of bins, whose bounds are public."""

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.dp.arguments import count as whole
from veil.dp.mechanism import Array
from veil.dp.mining.given import ranges


def bins(values: object, low: float, high: float, count: int) -> Ids:
    """Put numbers into `count` bins of equal width; what is out of bounds is in the outer ones.

    The bounds must not be taken from the data: choose what anybody could.

    >>> bins([17, 38, 90, 130], 15, 95, 8).tolist()
    [0, 2, 7, 7]
    """
    count = whole("count", count)
    if not low < high:
        raise ParameterError("The 'low' argument must be below 'high'.")
    [(least, most)] = ranges((low, high), 1)
    given: Array = np.asarray(values)
    if given.dtype.kind not in "biuf" or not np.isfinite(given).all():
        raise InputError("Only finite numbers can be put into bins.")
    share = (np.clip(given, least, most) - least) / (most - least)
    found: Ids = np.minimum((share * count).astype(np.int64), count - 1)
    return found
