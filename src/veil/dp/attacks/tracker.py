"""The tracker: what size control refuses, put together of what it answers."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.dp.attacks.asking import Mask, Questions
from veil.dp.attacks.attacker import Targeted


class Tracker(Targeted):
    r"""Ask about halves of the records that are padded with the target.

    .. math:: q(C \cup T) + q(C \cup \bar T) - q(T) - q(\bar T) = q(C)

    T is a random half, so that every set that is asked about is large, and so is its complement:
    any least size up to a quarter of the records is got around. Here C is one record, which is in
    T or in its complement already: that answer is not asked for again.

    References
    ----------
    Denning, Denning, Schwartz. The Tracker: A Threat to Statistical Database Security. ACM TODS
    4(1), 1979. doi:10.1145/320064.320069
    """

    name: ClassVar[str] = "tracker"

    def begin(self, ask: Questions, n: int, rng: Generator) -> Callable[[Mask], float]:
        """Ask for both halves."""
        half = np.zeros(n, dtype=np.bool_)
        half[rng.permutation(n)[: n // 2]] = True
        halves = {side: ask(half == side) for side in (True, False)}

        def padded(side: bool, target: Mask) -> float:
            inside = bool((half[target] == side).all())
            return halves[side] if inside else ask((half == side) | target)

        return lambda target: (
            padded(True, target) + padded(False, target) - halves[True] - halves[False]
        )
