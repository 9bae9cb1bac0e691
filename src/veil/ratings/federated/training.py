"""The server's part of training: item factors that follow the noisy sums of updates.

Whatever is made of a sum costs no more privacy. The step divides by the expected number of
participants, which is public, and not by how many came. The model is the mean of the factors
after each of the last third of the rounds: noise that has not settled averages out.
"""

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats
from veil.ratings.federated.fixed import number_of
from veil.ratings.federated.masks import Words

_START = 0.03  # standard deviation of the first factors


class Training:
    """Factors (m, f + 1), biases first, of which `rounds` rounds are to come."""

    def __init__(
        self, m: int, factors: int, rounds: int, rate: float, clip: float, rng: Generator
    ) -> None:
        self.factors: Floats = np.zeros((m, factors + 1))
        self.factors[:, 1:] = _START * rng.standard_normal((m, factors))
        self._rounds, self._rate, self._clip = rounds, rate, clip
        self._done, self._sum = 0, np.zeros_like(self.factors)
        self.void = 0

    def advance(self, total: Words | None) -> None:
        """Go a step along a sum; None is a void round, of which nothing is known."""
        if total is None:
            self.void += 1
        else:
            change = number_of(total, self._clip).reshape(self.factors.shape)
            self.factors = self.factors + self._rate * change
        self._done += 1
        if self._done > self._first:
            self._sum += self.factors

    @property
    def _first(self) -> int:
        return self._rounds - max(1, self._rounds // 3)

    @property
    def model(self) -> Floats:
        """The mean over the last rounds, once all are done."""
        return self._sum / (self._rounds - self._first)
