"""Whole noise on the values of a scale."""

from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import discrete_laplace
from veil.ratings.protections._values import ValueProtection
from veil.ratings.ratings import Ratings


class DLaplace(ValueProtection):
    r"""Add two-sided geometric noise to each value, and cut what leaves the scale.

    .. math:: \Pr[z] = \frac{1-\alpha}{1+\alpha} \alpha^{|z|}, \quad
       \alpha = e^{-\varepsilon/(L-1)}

    Proved: epsilon-local DP of the value of one rating, on L levels; values that are near are told
    apart less. To cut is post-processing. Draws are exact.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan. Universally Utility-Maximizing Privacy Mechanisms. SIAM J.
    Comput. 41(6), 2012, Definition 2.1 and Section 4 (the truncated geometric mechanism).
    doi:10.1137/09076828X
    """

    name: ClassVar[str] = "dlaplace"

    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        """Add noise in steps of the scale."""
        noise = discrete_laplace(Fraction(count - 1) / Fraction(self.epsilon), len(true), rng)
        return np.asarray(np.clip(true + noise, 0, count - 1), dtype=np.int64)

    def log_likelihood(self, data: Ratings) -> Floats:
        """Return ln P of each released level for each true one; both ends have all beyond them."""
        count = self.levels(data).count
        slope = self.epsilon / (count - 1)
        apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        logs = -slope * apart + np.log(-np.expm1(-slope)) - np.log1p(np.exp(-slope))
        ends = [0, count - 1]
        logs[:, ends] = -slope * apart[:, ends] - np.log1p(np.exp(-slope))
        return np.asarray(logs, dtype=np.float64)
