"""What Gaussian noise costs a user over many rounds, through the accountants of `veil.dp`.

Neighbours are sets of users of which one has one user more. Noise is in units of the largest
change (L2) that one user makes in a round. k rounds of noise z that everybody takes part in are
one of z / sqrt(k), exactly; rounds that a user takes part in by chance need dp-accounting (extra
`accounting`).

References
----------
Dong, Roth, Su. Gaussian Differential Privacy. JRSS B 84(1), 2022, Corollary 2 (composition, also
where a round depends on earlier ones). doi:10.1111/rssb.12454
"""

import math

from veil.core.errors import ParameterError
from veil.dp.accounting.compose import compose
from veil.dp.accounting.cost import sampled
from veil.dp.calibration import gaussian_sigma
from veil.dp.inputs import count, positive, share
from veil.dp.mechanisms.gaussian import Gaussian


def gaussian_epsilon(noise: float, rounds: int, delta: float, sample: float = 1.0) -> float:
    """Return the epsilon of Gaussian rounds at a delta, each user in each with chance `sample`.

    A sample below 1 counts only for those who never learn who took part.

    >>> round(gaussian_epsilon(4.0, 100, 1e-6), 4)
    14.4508
    """
    mechanism = Gaussian(sigma=positive("noise", noise))
    if not 0 < sample <= 1:
        raise ParameterError("The 'sample' argument must be a number > 0 and <= 1.")
    item = mechanism if sample == 1 else sampled(mechanism, sample)
    times = count("rounds", rounds)
    return compose([(item, times)], share("delta", delta), "pld").epsilon


def gaussian_noise(epsilon: float, delta: float, rounds: int = 1) -> float:
    """Return the least noise with which all rounds together are (epsilon, delta)-DP.

    >>> round(gaussian_noise(1.0, 1e-5, 4), 5)
    7.46126
    """
    least = gaussian_sigma(epsilon, delta) * math.sqrt(count("rounds", rounds))
    return least * (1 + 1e-12)  # whatever a root rounds off


def checked_delta(delta: float | None, n: int) -> float:
    """Return delta, by default 1/(10 n); from 1/n on it would allow to publish a user at random.

    >>> checked_delta(None, 100)
    0.001
    """
    if delta is None:
        return 1 / (10 * n)
    if share("delta", delta) >= 1 / n:
        raise ParameterError(
            f"The 'delta' parameter must be below 1/n, which is {1 / n:.3g} for {n:,} users: a"
            " larger one lets a whole profile be published. Leave it out for 1/(10 n)."
        )
    return float(delta)
