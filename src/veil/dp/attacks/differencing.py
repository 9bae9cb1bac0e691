"""Attacks that combine answers: averaging, differencing and the tracker."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.dp.attack import Mask, Questions, Targeted


class Averaging(Targeted):
    r"""Ask about the target alone many times, and average the answers.

    .. math:: \frac{1}{m} \sum_{i=1}^m q(\{t\}) + z_i, \quad \text{whose noise is } 1/\sqrt{m}
       \text{ of that of one answer}

    It works with fresh noise for each answer, not if the first answer is reused. The budget counts
    every answer.
    """

    name: ClassVar[str] = "averaging"
    times: Annotated[
        int, Field(ge=1, le=10**6, description="how often each question is asked")
    ] = 100

    def begin(self, ask: Questions, n: int, rng: Generator) -> Callable[[Mask], float]:
        """Nothing is shared among targets."""
        del n, rng

        def mean(target: Mask) -> float:
            answers = [ask(target) for _ in range(self.times)]
            finite = [answer for answer in answers if math.isfinite(answer)]
            return float(np.mean(finite)) if finite else math.nan

        return mean


class Differencing(Targeted):
    r"""Ask about all records, and all but the target: the difference is its secret.

    .. math:: q(\text{all}) - q(\text{all} \setminus \{t\})

    Size control refuses both questions.

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


class Tracker(Targeted):
    r"""Ask about halves of the records that are padded with the target.

    .. math:: q(C \cup T) + q(C \cup \bar T) - q(T) - q(\bar T) = q(C)

    T is a random half, so every set is large, and so is its complement: this defeats any minimum
    size up to a quarter of the records. Here C is one record. It is already in T or in its
    complement, and that answer is not requested again.

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
