"""Averaging: the same question many times."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.dp.attacks.asking import Mask, Questions
from veil.dp.attacks.attacker import Targeted


class Averaging(Targeted):
    r"""Ask for the target alone, again and again, and take the mean of the answers.

    .. math:: \frac{1}{m} \sum_{i=1}^m q(\{t\}) + z_i, \quad \text{whose noise is } 1/\sqrt{m}
       \text{ of that of one answer}

    It works where noise is drawn afresh; where an answer is kept and given again, it does not. The
    budget counts every answer.
    """

    name: ClassVar[str] = "averaging"
    times: Annotated[int, Field(ge=1, le=10**6, description="how often each question is put")] = (
        100
    )

    def begin(self, ask: Questions, n: int, rng: Generator) -> Callable[[Mask], float]:
        """Nothing is shared among targets."""
        del n, rng

        def mean(target: Mask) -> float:
            answers = [ask(target) for _ in range(self.times)]
            known = [answer for answer in answers if math.isfinite(answer)]
            return float(np.mean(known)) if known else math.nan

        return mean
