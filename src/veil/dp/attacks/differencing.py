"""Differencing: everybody, and everybody but one."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.dp.attacks.asking import Mask, Questions
from veil.dp.attacks.attacker import Targeted


class Differencing(Targeted):
    r"""Ask for all records, and for all but the target: the difference is its secret.

    .. math:: q(\text{all}) - q(\text{all} \setminus \{t\})

    Control of the size of sets forbids both questions.

    References
    ----------
    Dwork, Roth. The Algorithmic Foundations of Differential Privacy. 2014, Section 1.
    doi:10.1561/0400000042
    """

    name: ClassVar[str] = "differencing"

    def begin(self, ask: Questions, n: int, rng: Generator) -> Callable[[Mask], float]:
        """Ask for all once."""
        del rng
        everybody = ask(np.ones(n, dtype=np.bool_))
        return lambda target: everybody - ask(~target)
