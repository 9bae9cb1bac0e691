"""Rounds of federated training in one process, with the arithmetic of the real ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.dp.exact.coins import coins
from veil.dp.exact.samplers import discrete_gaussian
from veil.ratings.federated.fixed import STEPS, whole, words_of
from veil.ratings.federated.local import profiles, updates
from veil.ratings.federated.masks import Words
from veil.ratings.federated.noise import sum_of_noise
from veil.ratings.ratings import Ratings

_BLOCK = 2**17  # ratings at a time


@dataclass(frozen=True)
class Rules:
    """What every client is told beforehand; `threshold` is None where the server adds noise."""

    sample: float
    noise: float
    clip: float
    ridge: float
    threshold: int | None
    most: int | None


class Clients:
    """All users of ratings as clients, who remember how often they took part."""

    def __init__(self, train: Ratings, rules: Rules, rng: Generator) -> None:
        self._train, self._rules, self._rng = train, rules, rng
        self._taken = np.zeros(train.n, dtype=np.int64)

    def joining(self) -> Ids:
        """Return who joins a round, rising: each by a coin of its own, and as long as it may."""
        heads = coins(Fraction(self._rules.sample), self._train.n, self._rng)
        if self._rules.most is not None:
            heads &= self._taken < self._rules.most
        self._taken += heads
        return np.flatnonzero(heads)

    def total(self, factors: Floats) -> Words | None:
        """Return the sum of a round; None if it is void."""
        joined = self.joining()
        threshold = self._rules.threshold
        if threshold is not None and len(joined) < threshold:
            return None
        steps = self._noise(factors.size, len(joined))
        steps += self.steps(joined, factors).ravel()
        return words_of(steps, 1)

    def steps(self, users: Ids, factors: Floats) -> Ids:
        """Return the sum (m, f + 1) of the updates of users, in steps and without noise."""
        total = np.zeros(factors.shape, dtype=np.int64)
        for some in _blocks(users[self._train.per_user[users] > 0], self._train):
            of = profiles(self._train, some)
            rows = whole(updates(of, factors, self._rules.ridge), of.starts, self._rules.clip)
            np.add.at(total, of.item, rows)
        return total

    def _noise(self, size: int, joined: int) -> Ids:
        noise, threshold = self._rules.noise, self._rules.threshold
        if threshold is None:
            return discrete_gaussian((Fraction(noise) * STEPS) ** 2, size, self._rng)
        return sum_of_noise(noise, threshold, joined, size, self._rng)


def _blocks(users: Ids, train: Ratings) -> Iterator[Ids]:
    """Part users so that no part has many more ratings than fit at a time."""
    if len(users):
        parts = np.cumsum(train.per_user[users]) // _BLOCK
        yield from np.split(users, np.flatnonzero(np.diff(parts)) + 1)
