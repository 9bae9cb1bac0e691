r"""Federated training: updates of clients, their noise and its cost, the server's step.

*Noise of the clients.* Each client adds integer discrete Gaussian noise of variance
:math:`(z\,2^{20})^2/t` to every number, so that the sum has at least noise z in units of the bound
even if only t clients survive.

*The sum of discrete Gaussians.* Two of variances a and b add up to one of a + b times
:math:`\sum_j \varphi_s(j - c) \in 1 \pm 3 e^{-2 \pi^2 s^2}`, s^2 = ab/(a + b) (Poisson summation).
With a share of 8 steps or more, s^2 >= 32, so that the logarithm of the ratio is below 1e-270.

*A discrete and a rounded Gaussian.* Let p be the discrete distribution of sigma, and q that of a
normal number rounded to the nearest integer. Then

.. math:: q(k) \propto p(k) \int_{-1/2}^{1/2} e^{-u^2/2\sigma^2} \cosh(k u/\sigma^2)\,du,
   \quad -\frac{1}{8\sigma^2} \le \log\frac{q(k)}{p(k)} \le \frac{k^2}{8\sigma^4}

since :math:`1 \le \cosh x \le e^{x^2/2}`. Over d numbers the sum is at most
:math:`\eta = \max(d, R^2)/8\sigma^2` if :math:`|k|^2 \le R^2 \sigma^2`, which holds except with a
probability of :math:`\delta'` with :math:`R^2 = d + 2\sqrt{d \ln(1/\delta')} + 2\ln(1/\delta')`:
both distributions are sub-Gaussian. Rounding is post-processing, so that T rounds of the discrete
distribution cost :math:`\varepsilon + 2T\eta` if those of the continuous one cost
:math:`\varepsilon`, and :math:`(1 + e^{\varepsilon + T\eta}) T\delta'` more of delta; also with
Poisson samples, by mixture. With 2^20 steps to a bound this is about 1e-5 of epsilon.
:math:`\delta'` is at most :math:`e^{-100}`, and smaller for large epsilon, so that its part of
delta is always at most 1e-9. R grows with it; noise for which this does not converge is refused.

References
----------
Kairouz, Liu, Steinke. The Distributed Discrete Gaussian Mechanism for Federated Learning with
Secure Aggregation. ICML 2021 (the sum).
Hsu, Kakade, Zhang. A tail inequality for quadratic forms of subgaussian random vectors. 2012.

*A void round is visible.* With fewer than t survivors nothing is opened, and everybody sees that.
If n users join with probability q, one user decides about that only if exactly t - 1 of the others
join: T rounds cost :math:`T q \Pr[\mathrm{Bin}(n-1, q) = t-1]` of delta.

*A cap on rounds.* The rounds of a client that stops after k equal those of one that does not,
except with the probability that it would have joined more often.

*Updates.* Ratings are scaled to [-1, 1]. With item i at :math:`(b_i, q_i)` a user's own vector
minimises

.. math:: \sum_i (r_i - b_i - a - p \cdot q_i)^2 + \lambda (a^2 + |p|^2)

and the update of her items is :math:`e_i (1, p)` with the residuals e; all other items have 0. The
functions take many users at once; each row depends only on the user's own ratings, to the bit.

*The server's step* is post-processing of the sum and costs no more privacy. It divides by the
expected number of participants, which is public, and not by the actual one. The model is the mean
of the factors after each of the last third of the rounds, which averages the noise.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids
from veil.dp.exact.coins import coins
from veil.dp.exact.samplers import discrete_gaussian
from veil.ratings.accounting import gaussian_epsilon
from veil.ratings.federated.primitives import STEPS, Words, number_of, whole, words_of
from veil.ratings.ratings import Ratings, Scale

NUMBERS = 2**23  # maximum size of an update that fits into a message
_LEAST = 8  # steps of the noise of one client
_RARE = 100.0  # -ln of delta', at least
_SLACK = 1e-9  # of delta, for rare events
_TRIES = 20


def share_variance(noise: float, threshold: int) -> Fraction:
    """Return the variance of one client's noise, in steps, exactly."""
    variance = (Fraction(noise) * STEPS) ** 2 / threshold
    if variance < _LEAST**2:
        raise ParameterError(
            "The noise of one client would be too small for its grid. Use more noise or a lower"
            " threshold."
        )
    return variance


def share_of_noise(noise: float, threshold: int, size: int, rng: Generator) -> Ids:
    """Draw the noise (size,) that one client adds."""
    return discrete_gaussian(share_variance(noise, threshold), size, rng)


def sum_of_noise(noise: float, threshold: int, clients: int, size: int, rng: Generator) -> Ids:
    """Draw the noise (size,) of all clients, distributed as the sum of their shares."""
    return discrete_gaussian(clients * share_variance(noise, threshold), size, rng)


def grid_loss(noise: float, numbers: int = NUMBERS, rare: float = _RARE) -> float:
    """Return eta: the loss that the grid adds to one round, in each direction.

    It holds except with a probability of exp(-rare).
    """
    root = math.sqrt(numbers * rare)
    reach = math.sqrt(numbers + 2 * root + 2 * rare) + math.sqrt(numbers) / (noise * STEPS)
    return reach**2 / (8 * (noise * STEPS) ** 2)


@lru_cache(maxsize=256)
def discrete_epsilon(noise: float, rounds: int, delta: float, sample: float = 1.0) -> float:
    """Return the epsilon of discrete rounds: that of continuous ones, plus that of the grid."""
    rare = _RARE
    for _ in range(_TRIES):
        loss = rounds * grid_loss(noise, rare=rare)
        inner = delta * (1 - _SLACK) * math.exp(-loss)
        if inner == 0:
            break
        epsilon = gaussian_epsilon(noise, rounds, inner, sample)
        # (1 + e^(epsilon + loss)) rounds exp(-rare) must be at most a share of delta
        needed = math.log(2 * rounds) + epsilon + loss - math.log(delta * _SLACK)
        if needed <= rare:
            return epsilon + 2 * loss
        rare = 1.01 * needed
    raise ParameterError("This noise is too small for any guarantee. Use more.")


_KEPT = 0.99  # of delta is for the noise; the rest for void rounds and caps
_EXPECTED = 0.9  # of the expected participants


def binomial(n: int, q: float, k: int) -> float:
    """Return the probability that k of n join.

    >>> round(binomial(4, 0.5, 2), 12)
    0.375
    """
    if not 0 <= k <= n:
        return 0.0
    if q == 1:
        return float(k == n)
    logs = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logs + k * math.log(q) + (n - k) * math.log1p(-q))


def void_delta(n: int, sample: float, rounds: int, threshold: int) -> float:
    """Return the delta of seeing which rounds were void."""
    return min(1.0, rounds * sample * binomial(n - 1, sample, threshold - 1))


def with_void(delta: float, void: float) -> float:
    """Return delta with the share of void rounds, for which a part of it is reserved."""
    return min(1.0, max(delta, _KEPT * delta + (1 - _KEPT) / 2 * delta + void))


def usual_threshold(n: int, sample: float, rounds: int, delta: float) -> int:
    """Return the threshold for n users: fewer than join, except with a small probability."""
    threshold = math.floor(_EXPECTED * sample * n)
    while threshold > 1 and void_delta(n, sample, rounds, threshold) > (1 - _KEPT) / 2 * delta:
        threshold -= 1
    if threshold < 2:
        raise ParameterError(
            f"Of {n:,} users too few join a round to hide one. Use a larger 'sample', or set"
            " 'threshold'."
        )
    return threshold


def server_epsilon(noise: float, rounds: int, delta: float, most: int | None) -> float:
    """Return the epsilon of all rounds against a server that sees when a client takes part."""
    return discrete_epsilon(noise, min(rounds, most or rounds), _KEPT * delta)


def reader_epsilon(
    noise: float, rounds: int, delta: float, sample: float, most: int | None
) -> float:
    """Return the epsilon of all rounds against readers who see only the model."""
    unsampled = server_epsilon(noise, rounds, delta, most)
    if sample == 1:
        return unsampled
    hidden = discrete_epsilon(noise, rounds, _KEPT * delta, sample)
    more = math.fsum(binomial(rounds, sample, k) for k in range((most or rounds) + 1, rounds + 1))
    allowed = (1 - _KEPT) / 2 * delta
    rare = more == 0 or math.log(2 * more) + hidden <= math.log(allowed)
    return hidden if hidden < unsampled and rare else unsampled


@dataclass(frozen=True, eq=False, repr=False)
class Profiles:
    """Items (N,) and scaled ratings (N,) of users; those of each user begin at `starts`."""

    item: Ids
    value: Floats
    starts: Ids

    @property
    def owner(self) -> Ids:
        """(N,) position of the user of each rating."""
        return np.repeat(
            np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.item)))
        )


def profiles(data: Ratings, users: Ids) -> Profiles:
    """Return the profiles of users (sorted positions), each with at least one rating."""
    counts = data.per_user[users]
    ends = np.cumsum(counts)
    rows = np.arange(int(ends[-1])) + np.repeat(data.starts[users] - (ends - counts), counts)
    value = to_unit_range(data.value[rows].astype(np.float64), data.scale)
    return Profiles(data.item[rows].astype(np.int64), value, ends - counts)


def to_unit_range(value: Floats, scale: Scale) -> Floats:
    """Return ratings rescaled to [-1, 1]."""
    low, high = scale
    return (2 * value - (low + high)) / (high - low)


def from_unit_range(value: Floats, scale: Scale) -> Floats:
    """Return numbers in [-1, 1] rescaled to ratings."""
    low, high = scale
    return (value * (high - low) + (low + high)) / 2


def vectors(of: Profiles, factors: Floats, ridge: float) -> Floats:
    """Return the vector (a, p) of each user (b, f + 1) for item factors (m, f + 1)."""
    design, target = _design(of, factors)
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    gram = np.add.reduceat(products, of.starts).reshape(len(of.starts), *design.shape[1:] * 2)
    right = np.add.reduceat(design * target[:, None], of.starts)
    solved = np.linalg.solve(gram + ridge * np.eye(design.shape[1]), right[:, :, None])
    return np.asarray(solved[:, :, 0], dtype=np.float64)


def updates(of: Profiles, factors: Floats, ridge: float) -> Floats:
    """Return the nonzero rows (N, f + 1) of the updates, one for each rating."""
    design, target = _design(of, factors)
    own = vectors(of, factors, ridge)[of.owner]
    residual = target - (design * own).sum(axis=1)
    own[:, 0] = 1.0
    return np.asarray(own * residual[:, None], dtype=np.float64)


def _design(of: Profiles, factors: Floats) -> tuple[Floats, Floats]:
    """Return (1, q_i) and r_i - b_i for each rating."""
    design = factors[of.item]
    target = of.value - design[:, 0]
    design[:, 0] = 1.0
    return design, target


_START = 0.03  # standard deviation of the initial factors


class Training:
    """Item factors (m, f + 1), biases first, during `rounds` rounds of training."""

    def __init__(
        self, m: int, factors: int, rounds: int, rate: float, clip: float, rng: Generator
    ) -> None:
        self.factors: Floats = np.zeros((m, factors + 1))
        self.factors[:, 1:] = _START * rng.standard_normal((m, factors))
        self._rounds, self._rate, self._clip = rounds, rate, clip
        self._done, self._sum = 0, np.zeros_like(self.factors)
        self.void = 0

    def advance(self, total: Words | None) -> None:
        """Take a step along a sum; None is a void round."""
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


_BLOCK = 2**17  # ratings at a time


@dataclass(frozen=True)
class Rules:
    """The public terms of training; `threshold` is None if the server adds the noise."""

    sample: float
    noise: float
    clip: float
    ridge: float
    threshold: int | None
    most: int | None


class Clients:
    """All users as simulated clients, with the number of rounds that each took part in."""

    def __init__(self, train: Ratings, rules: Rules, rng: Generator) -> None:
        self._train, self._rules, self._rng = train, rules, rng
        self._taken = np.zeros(train.n, dtype=np.int64)

    def joining(self) -> Ids:
        """Return the sorted users who join a round: each by a coin, until her cap is reached."""
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
        """Return the sum (m, f + 1) of the updates of users, in steps, without noise."""
        total = np.zeros(factors.shape, dtype=np.int64)
        for block in _blocks(users[self._train.per_user[users] > 0], self._train):
            of = profiles(self._train, block)
            rows = whole(updates(of, factors, self._rules.ridge), of.starts, self._rules.clip)
            np.add.at(total, of.item, rows)
        return total

    def _noise(self, size: int, joined: int) -> Ids:
        noise, threshold = self._rules.noise, self._rules.threshold
        if threshold is None:
            return discrete_gaussian((Fraction(noise) * STEPS) ** 2, size, self._rng)
        return sum_of_noise(noise, threshold, joined, size, self._rng)


def _blocks(users: Ids, train: Ratings) -> Iterator[Ids]:
    """Split users into parts with few enough ratings to fit into memory."""
    if len(users):
        parts = np.cumsum(train.per_user[users]) // _BLOCK
        yield from np.split(users, np.flatnonzero(np.diff(parts)) + 1)
