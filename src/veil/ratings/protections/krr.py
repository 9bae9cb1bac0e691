"""Randomised response on the values of a scale."""

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import finite
from veil.ratings.protections._values import ValueProtection
from veil.ratings.ratings import Ratings


class KRR(ValueProtection):
    r"""Keep each value, or replace it by any other of the scale, all alike.

    .. math:: \Pr[y | x] = \frac{e^{\varepsilon [y = x]}}{e^\varepsilon + L - 1}

    Proved: epsilon-local DP of the value of one rating, on L levels. Draws are exact.

    References
    ----------
    Kairouz, Bonawitz, Ramage. Discrete Distribution Estimation under Local Privacy. ICML 2016,
    Equation 4.
    """

    name: ClassVar[str] = "krr"

    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        """Move each level by 0, or round the circle of levels by any other number of steps."""
        epsilon = Fraction(self.epsilon)
        moves = finite([(1, 0), *[(1, epsilon)] * (count - 1)]).draw(len(true), rng)
        return (true + moves) % count

    def log_likelihood(self, data: Ratings) -> Floats:
        """Return ln P of each released level for each true one."""
        count = self.levels(data).count
        log_total = np.logaddexp(self.epsilon, math.log(count - 1))
        return self.epsilon * np.eye(count) - float(log_total)
