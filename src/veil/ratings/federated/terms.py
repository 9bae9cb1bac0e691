r"""Who takes part in a round, how many must survive, and what all rounds cost.

*A void round shows.* With fewer than t survivors nothing is opened, and everybody sees that. Of n
users who join with probability q, one user decides about that only if exactly t - 1 of the others
join: T rounds cost :math:`T q \Pr[\mathrm{Bin}(n-1, q) = t-1]` of delta.

*A cap on rounds.* Rounds of a client that stops after k are those of one that does not, but for
the probability that it would have joined more often.
"""

import math

from veil.core.errors import ParameterError
from veil.ratings.federated.noise import discrete_epsilon

_KEPT = 0.99  # of delta is for the noise; the rest for void rounds and caps
_EXPECTED = 0.9  # of those who are expected


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
    """Return delta with that of void rounds, for which a part of it is set aside."""
    return min(1.0, max(delta, _KEPT * delta + (1 - _KEPT) / 2 * delta + void))


def usual_threshold(n: int, sample: float, rounds: int, delta: float) -> int:
    """Return how many of n users must survive: fewer than join but for a rare event."""
    threshold = math.floor(_EXPECTED * sample * n)
    while threshold > 1 and void_delta(n, sample, rounds, threshold) > (1 - _KEPT) / 2 * delta:
        threshold -= 1
    if threshold < 2:
        raise ParameterError(
            f"Of {n:,} users too few join a round to hide one; choose a larger sample, or a"
            " threshold."
        )
    return threshold


def server_epsilon(noise: float, rounds: int, delta: float, most: int | None) -> float:
    """Return what all rounds of a client cost against who sees when it takes part."""
    return discrete_epsilon(noise, min(rounds, most or rounds), _KEPT * delta)


def reader_epsilon(
    noise: float, rounds: int, delta: float, sample: float, most: int | None
) -> float:
    """Return what all rounds cost against who sees the model alone."""
    plain = server_epsilon(noise, rounds, delta, most)
    if sample == 1:
        return plain
    hidden = discrete_epsilon(noise, rounds, _KEPT * delta, sample)
    more = math.fsum(binomial(rounds, sample, k) for k in range((most or rounds) + 1, rounds + 1))
    allowed = (1 - _KEPT) / 2 * delta
    return hidden if hidden < plain and more * (1 + math.exp(hidden)) <= allowed else plain
