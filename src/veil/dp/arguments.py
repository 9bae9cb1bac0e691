"""Numbers that a caller gives, checked: what is no number of that kind is refused in a sentence.

Whole numbers and numbers of NumPy are numbers like others; truth values are none.
"""

import math

import numpy as np

from veil.core.errors import ParameterError


def positive(name: str, value: object, *, zero: bool = False) -> float:
    """Return a finite number above 0; with `zero`, 0 is one, too.

    >>> positive("epsilon", 2)
    2.0
    """
    found = _float(value)
    if not (0 < found < math.inf or (zero and found == 0)):
        least = ">= 0" if zero else "> 0"
        raise ParameterError(f"The '{name}' argument must be a finite number {least}.")
    return found


def share(name: str, value: object, *, zero: bool = False) -> float:
    """Return a number above 0 and below 1; with `zero`, 0 is one, too.

    >>> share("delta", 1e-6)
    1e-06
    """
    found = _float(value)
    if not (0 < found < 1 or (zero and found == 0)):
        least = ">= 0" if zero else "> 0"
        raise ParameterError(f"The '{name}' argument must be a number {least} and < 1.")
    return found


def count(name: str, value: object, least: int = 1) -> int:
    """Return a whole number that is not below the least.

    >>> count("queries", 3)
    3
    """
    if not is_whole(value) or int(value) < least:  # type: ignore[call-overload]
        raise ParameterError(f"The '{name}' argument must be a whole number >= {least:,}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def is_whole(value: object) -> bool:
    """Tell whether something is a whole number, of Python or NumPy, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _float(value: object) -> float:
    """Return a number as a float; nan, which no comparison holds for, stands for anything else."""
    if not (is_whole(value) or isinstance(value, float | np.floating)):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond all floats
        return math.nan
