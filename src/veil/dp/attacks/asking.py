"""How an attacker asks: by sets of records, and what it gets are numbers or refusals."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError, RefusedError
from veil.core.types import Floats

Mask = NDArray[np.bool_]
Ask = Callable[[Mask], Any]  # a set of records (n,) to a number: a count, or a sum of a secret


class Questions:
    """All that an attacker has: it asks, and nothing else tells it anything.

    `asked` counts the questions, also those that were refused. A refusal is nan. The empty set is
    not asked about: its sum is 0.
    """

    def __init__(self, ask: Ask) -> None:
        if not callable(ask):
            raise ParameterError("The 'ask' of an attack must be a function of a set of records.")
        self._ask = ask
        self.asked = 0

    def __call__(self, mask: Mask) -> float:
        """Ask about a set of records (n,)."""
        if not mask.any():
            return 0.0
        self.asked += 1
        try:
            answer = self._ask(mask.copy())
        except RefusedError:
            return math.nan
        return _number(answer)

    def each(self, masks: Mask) -> Floats:
        """Ask about several sets (m, n), one after the other."""
        return np.array([self(mask) for mask in masks])


def _number(answer: object) -> float:
    try:
        found = float(np.asarray(answer, dtype=np.float64).reshape(()))
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise InputError("What is asked must answer by one finite number, or raise RefusedError.")
    return found
