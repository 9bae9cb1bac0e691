r"""Convert between privacy budgets and noise.

The Gaussian mechanism of standard deviation s and sensitivity D is (epsilon, delta)-DP exactly if

.. math:: \delta \ge \Phi\!\left(\frac{D}{2s} - \frac{\varepsilon s}{D}\right)
   - e^\varepsilon \Phi\!\left(-\frac{D}{2s} - \frac{\varepsilon s}{D}\right)

The rule :math:`s = D\sqrt{2\ln(1.25/\delta)}/\varepsilon` of many notes is proved only for
epsilon below 1. It is false for large epsilon, and wasteful below.

References
----------
Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018, Theorem 8.
Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Theorem 7
(the discrete distribution) and Proposition 12 (the conversion of zCDP).
"""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from veil.core.errors import ParameterError
from veil.dp.inputs import count, positive, share

_DIGITS = 60
_BLOCK = 2**18
_REACH = 800.0  # exponents beyond which a float is 0


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the smallest delta of Gaussian noise at an epsilon.

    >>> round(gaussian_delta(1.0, 3.730631634815942), 9)
    1e-05
    """
    sigma, sensitivity = positive("sigma", sigma), positive("sensitivity", sensitivity)
    epsilon = _amount("epsilon", epsilon)
    half, slope = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    near, far = slope - half, slope + half  # Phi(-near) - e^epsilon Phi(-far)
    if near < 0:
        return (
            _phi(-near) - math.exp(min(_REACH / 2, epsilon)) * _phi(-far)
            if far < 36
            else _phi(-near)
        )
    density = math.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    return density * (_mills(near) - _mills(far))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest sigma for (epsilon, delta), rounded up.

    >>> round(gaussian_sigma(1.0, 1e-5), 6)
    3.730632
    """
    epsilon, sensitivity = positive("epsilon", epsilon), positive("sensitivity", sensitivity)
    delta = share("delta", delta)
    return sensitivity * _least(lambda sigma: gaussian_delta(epsilon, sigma) <= delta)


def discrete_gaussian_delta(epsilon: float, sigma2: float, sensitivity: int = 1) -> float:
    """Return the smallest delta of discrete Gaussian noise on one integer at an epsilon.

    The difference P[Y > t] - e^epsilon P[Y > t + D], with t = epsilon sigma2 / D - D/2, is summed
    term by term, each with its own loss, so that nothing cancels.

    >>> round(discrete_gaussian_delta(1.0, 16.0), 12)
    3.055455e-06
    """
    sigma2, shift = positive("sigma2", sigma2), count("sensitivity", sensitivity)
    epsilon = _amount("epsilon", epsilon)
    start = math.floor(epsilon * sigma2 / shift - shift / 2) + 1
    total, lowest = 0.0, math.ceil(-math.sqrt(2 * sigma2 * _REACH))
    y = max(start, lowest)
    while True:
        block = np.arange(y, y + _BLOCK, dtype=np.float64)
        with np.errstate(over="ignore"):  # e^-inf is 0
            weights = np.exp(-np.square(block) / (2 * sigma2))
            losses = -np.expm1(epsilon - shift * (2 * block + shift) / (2 * sigma2))
        part = float(np.sum(weights * np.maximum(losses, 0.0)))
        total += part
        y += _BLOCK
        if y > 0 and float(weights[-1]) <= 1e-18 * total / _BLOCK:
            return min(1.0, total / mass(sigma2))


def mass(sigma2: float) -> float:
    """Return the sum of e^(-z^2 / (2 sigma2)) over all integers.

    For sigma >= 1 the Fourier transform is summed instead, which needs only a term or two.

    >>> abs(mass(1.0) - mass(0.999999999999)) < 1e-9
    True
    """
    if sigma2 >= 1:
        terms = (math.exp(-2 * sigma2 * (math.pi * k) ** 2) for k in range(1, 4))
        return math.sqrt(2 * math.pi * sigma2) * (1 + 2 * math.fsum(terms))
    return 1 + 2 * math.fsum(math.exp(-(k**2) / (2 * sigma2)) for k in range(1, 40))


def zcdp_epsilon(rho: float, delta: float) -> float:
    r"""Return the epsilon of rho-zCDP at a delta, by the tight conversion.

    .. math:: \delta = \min_{a > 1} \frac{e^{(a-1)(a\rho - \varepsilon)}}{a-1}
       \left(1 - \frac{1}{a}\right)^a

    >>> round(zcdp_epsilon(0.5, 1e-6), 6)
    5.221534
    """
    rho, delta = _amount("rho", rho), share("delta", delta)
    if rho == 0:
        return 0.0

    def epsilon(log: float) -> float:
        less = math.exp(log)  # a - 1
        a = 1 + less
        gain = -a * math.log1p(1 / less) - log - math.log(delta)
        return a * rho + gain / less

    middle = math.log(math.sqrt(math.log(1 / delta) / rho) + 1e-9)
    return max(0.0, _valley(epsilon, middle - 12, middle + 12))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho for (epsilon, delta), rounded down."""
    return 1 / _least(lambda inverse: zcdp_epsilon(1 / inverse, delta) <= epsilon)


def threshold(epsilon: float, delta: float, max_groups: int = 1) -> int:
    """Return tau: a key is released if its noisy number of units is at least tau.

    With q = e^(-epsilon / max_groups) it is 1 + the least m with q^m / (1 + q) at most
    1 - (1 - delta)^(1 / max_groups), the chance of releasing a key that only one unit has.

    >>> threshold(1.0, 1e-6)
    15
    """
    epsilon, delta = positive("epsilon", epsilon), share("delta", delta)
    max_groups = count("max_groups", max_groups)
    with localcontext() as context:
        sizes = (Decimal(number).adjusted() for number in (epsilon, delta, max_groups))
        context.prec = _DIGITS + sum(map(abs, sizes))  # 1 - delta and m are not rounded
        groups = Decimal(int(max_groups))
        slope = Decimal(epsilon) / groups
        rare = 1 - (((1 - Decimal(delta)).ln()) / groups).exp()
        q = (-slope).exp()
        m = max(0, math.ceil((-(rare * (1 + q)).ln()) / slope))
        while m > 0 and (-slope * (m - 1)).exp() / (1 + q) <= rare:
            m -= 1
    return 1 + m


def partition_chances(epsilon: float, delta: float, most: int) -> list[Fraction]:
    """Return the probability that optimal selection releases a key with 0 to `most` units.

    They follow the recursion of Desfontaines, Voss, Gipson and Mandayam (2022, theorem 1), rounded
    down by less than 2^-100, so that the guarantee is exact. The list ends where it reaches 1.
    """
    unit = 2**120
    with localcontext() as context:
        context.prec = _DIGITS
        growth = Fraction(math.floor(Decimal(epsilon).exp() * unit), unit)  # below e^epsilon
    chance, chances = Fraction(0), [Fraction(0)]
    slack = Fraction(delta)
    while len(chances) <= most and chance < 1:
        best = min(growth * chance + slack, 1 - (1 - chance - slack) / growth, Fraction(1))
        chance = max(chance, Fraction(math.floor(best * unit), unit)) if best < 1 else Fraction(1)
        chances.append(chance)
    return chances


def _least(enough: Callable[[float], bool]) -> float:
    """Return the smallest positive number that is enough, rounded up (`enough` is monotone)."""
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, high * 2
    while low == 0.0 and high > 1e-300 and enough(high / 2):
        high /= 2
    low = max(low, high / 2)
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        low, high = (low, middle) if enough(middle) else (middle, high)


def _valley(height: Callable[[float], float], low: float, high: float) -> float:
    """Return the minimum of a unimodal function (golden-section search).

    Every height is a valid bound, so stopping early is safe.
    """
    ratio = (math.sqrt(5) - 1) / 2
    lower, upper = high - ratio * (high - low), low + ratio * (high - low)
    best = math.inf
    for _ in range(200):
        first, second = height(lower), height(upper)
        best = min(best, first, second)
        if first < second:
            high, upper = upper, lower
            lower = high - ratio * (high - low)
        else:
            low, lower = lower, upper
            upper = low + ratio * (high - low)
    return best


def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _mills(x: float) -> float:
    """Return Phi(-x) / phi(x) for x >= 0."""
    if x < 20:
        return 0.5 * math.erfc(x / math.sqrt(2)) * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
    fraction = 0.0  # Laplace's continued fraction, which converges fast for large x
    for k in range(60, 0, -1):
        fraction = k / (x + fraction)
    return 1 / (x + fraction)


def _amount(name: str, value: float) -> float:
    zero = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    if zero:
        return 0.0
    try:
        return positive(name, value)
    except ParameterError:
        raise ParameterError(f"The '{name}' argument must be a finite number >= 0.") from None
