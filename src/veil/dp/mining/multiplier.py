r"""How much noise each step of a descent needs, so that all of them keep to a budget.

Noise of sigma times the largest gradient, on batches that take each row with probability q, is
counted by the law of the losses (`sampled` under the accountant `pld`). Where every row is in
every batch, by zCDP, which is proved for the discrete noise in any dimension.

References
----------
Abadi et al. Deep Learning with Differential Privacy. CCS 2016, Algorithm 1.
doi:10.1145/2976749.2978318
Bu, Dong, Long, Su. Deep Learning with Gaussian Differential Privacy. HDSR 2(3), 2020, Corollary 4
(where the search begins). doi:10.1162/99608f92.cfc5dd25
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.dp.accounting.compose import compose
from veil.dp.accounting.sampled import sampled
from veil.dp.calibration import gaussian_sigma, zcdp_rho
from veil.dp.mechanisms.gaussian import Gaussian

_LEAST = 0.3  # sigma, below which a step hardly hides a row
_CLOSE, _AIM = 0.995, 0.998  # of epsilon: what is spent of it, and what the search aims at
_DIGITS = 2.0**12  # sigma is rounded up to a part of that


@lru_cache(maxsize=256)
def multiplier(epsilon: float, delta: float, q: float, steps: int) -> tuple[float, Guarantee]:
    """Return the least sigma that is enough, nearly, and what is then proved.

    >>> sigma, cost = multiplier(1.0, 1e-5, 1.0, 100)
    >>> round(sigma, 2), cost.epsilon
    (40.45, 1.0)
    """
    if q >= 1:
        sigma = math.sqrt(steps / (2 * zcdp_rho(epsilon, delta))) * (1 + 1e-9)
        cost = compose([(Gaussian(sigma=sigma), steps)], delta, "zcdp")
        return sigma, _within(cost, epsilon)
    enough: tuple[float, Guarantee] | None = None
    trials = _trials(epsilon, delta, q, steps)
    for sigma, cost in trials:
        if cost.epsilon <= epsilon and (enough is None or sigma < enough[0]):
            enough = sigma, _within(cost, epsilon)
    if enough is None:
        raise ParameterError(
            "No noise was found that keeps to this epsilon and delta; give larger ones, or fewer"
            " steps."
        )
    return enough


def _within(cost: Guarantee, epsilon: float) -> Guarantee:
    """Return a guarantee at the epsilon that was asked for, which is not below its own."""
    if cost.epsilon > epsilon:
        raise ParameterError("The noise does not keep to this epsilon; give a larger one.")
    return replace(cost, epsilon=epsilon)


def _trials(
    epsilon: float, delta: float, q: float, steps: int
) -> Iterator[tuple[float, Guarantee]]:
    """Try sigmas, each nearer to what spends epsilon, until it is spent but for a little."""
    sigma, slope = _rounded(_guess(epsilon, delta, q, steps)), 2.0
    before = (0.0, 0.0)
    for trial in range(24):
        cost = compose([(sampled(Gaussian(sigma=sigma), q), steps)], delta, "pld")
        yield sigma, cost
        spent = max(cost.epsilon, 1e-12)
        if spent <= epsilon and (spent >= _CLOSE * epsilon or sigma <= _rounded(_LEAST)):
            return
        here = math.log(sigma), math.log(spent)
        if trial and before[0] != here[0]:  # log epsilon falls nearly straight in log sigma
            slope = max(0.5, min(30.0, (before[1] - here[1]) / (here[0] - before[0])))
        before = here
        step = (here[1] - math.log(_AIM * epsilon)) / slope
        sigma = _rounded(sigma * math.exp(max(-1.0, min(1.0, step))))


def _guess(epsilon: float, delta: float, q: float, steps: int) -> float:
    """Return sigma as the central limit of many steps has it."""
    mu = 1 / gaussian_sigma(epsilon, delta)
    return 1 / math.sqrt(math.log1p((mu / q) ** 2 / steps))


def _rounded(sigma: float) -> float:
    unit = 2.0 ** math.floor(math.log2(max(sigma, _LEAST))) / _DIGITS
    return math.ceil(max(sigma, _LEAST) / unit) * unit
