r"""The cost of several releases together, and an account that refuses to overspend.

Basic composition adds up epsilon and delta. Advanced composition of `times` releases of pure
epsilon-DP trades a delta for a smaller epsilon. It returns the least of three bounds: the sum; the
bound of Dwork, Rothblum and Vadhan,

.. math:: \varepsilon\sqrt{2k\ln(1/\delta)} + k\varepsilon(e^\varepsilon - 1)

which can exceed the sum; and the optimal bound of Kairouz, Oh and Viswanath, which solves

.. math:: \delta = \sum_{l} \binom{k}{l} \frac{[e^{l\varepsilon} - e^{e + (k-l)\varepsilon}]_+}
   {(1+e^\varepsilon)^k}

for e.

References
----------
Dwork, Rothblum, Vadhan. Boosting and Differential Privacy. FOCS 2010, Theorem III.3.
doi:10.1109/FOCS.2010.12
Kairouz, Oh, Viswanath. The Composition Theorem for Differential Privacy. ICML 2015, Theorem 3.3
and Equation 6.
"""

import math
from collections.abc import Mapping
from decimal import Decimal

from veil.core.errors import BudgetError, ParameterError

_STEPS = 200  # an interval of floats cannot be halved more often


def advanced(epsilon: float, times: int, delta: float) -> float:
    """Return the total epsilon of `times` releases of pure epsilon-DP, at a total `delta`.

    >>> round(advanced(0.1, 100, 1e-6), 6)
    4.774568
    """
    if not (epsilon > 0 and math.isfinite(epsilon)) or times < 1 or not 0 <= delta < 1:
        raise ParameterError(
            "Advanced composition needs epsilon > 0, at least one release, and 0 <= delta < 1."
        )
    total = epsilon * times
    if not delta:
        return total
    boosted = epsilon * math.sqrt(2 * times * math.log(1 / delta))
    boosted += total * math.expm1(epsilon) if epsilon < 700 else math.inf
    return min(total, boosted, _optimal(epsilon, times, delta))


def _optimal(epsilon: float, times: int, delta: float) -> float:
    """Return the smallest total epsilon, rounded up, whose delta is at most `delta`."""
    low, high = 0.0, epsilon * times
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _delta(epsilon, times, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _delta(epsilon: float, times: int, total: float) -> float:
    """Return the delta at a total epsilon, summed from logarithms to avoid overflow."""
    floor = times * float(math.log1p(math.exp(-epsilon)))  # log((1 + e^eps)^k) - k eps
    logs = []
    for count in range(times + 1):
        loss = (times - count) * epsilon  # l eps = k eps - loss
        gap = total - (2 * count - times) * epsilon
        if gap < 0:
            ways = math.lgamma(times + 1) - math.lgamma(count + 1)
            ways -= math.lgamma(times - count + 1)
            logs.append(ways - loss - floor + math.log(-math.expm1(gap)))
    return math.fsum(map(math.exp, logs))


class Account:
    """Limits and spending by name. A release that would exceed any limit is refused as a whole.

    Amounts are added as decimals, exactly as written: ten times 0.1 is 1.

    >>> account = Account({"epsilon": 1.0})
    >>> for _ in range(10):
    ...     account.spend({"epsilon": 0.1})
    >>> account.left("epsilon")
    0.0
    """

    def __init__(
        self, limits: Mapping[str, float], spent: Mapping[str, float] | None = None
    ) -> None:
        self._limits = {name: _amount(value, name) for name, value in limits.items()}
        self._spent = {name: Decimal(0) for name in self._limits}
        for name, value in (spent or {}).items():
            self._spent[name] = _amount(value, name)

    def left(self, name: str) -> float:
        """Return the amount that may still be spent."""
        return float(max(Decimal(0), self._limits[name] - self._spent[name]))

    def spent(self, name: str) -> float:
        """Return the amount spent so far."""
        return float(self._spent[name])

    def check(self, amounts: Mapping[str, float]) -> None:
        """Refuse amounts that are unbounded, have no limit here, or exceed what is left."""
        for name, value in amounts.items():
            if math.isnan(value) or value < 0:
                raise ParameterError(f"An amount of {name} must be a number >= 0.")
            if not value:
                continue
            if name not in self._limits:
                raise BudgetError(f"The budget has no limit for {name}; nothing was released.")
            if not math.isfinite(value):
                raise BudgetError(
                    f"The cost of the release in {name} is unbounded, so no budget can cover it;"
                    " nothing was released."
                )
            if self._spent[name] + _amount(value, name) > self._limits[name]:
                raise BudgetError(
                    f"The release costs {value:g} of {name}, but only {self.left(name):g} of"
                    f" {float(self._limits[name]):g} are left; nothing was released."
                )

    def spend(self, amounts: Mapping[str, float]) -> None:
        """Record the cost of a release before the release happens: all amounts, or none."""
        self.check(amounts)
        for name, value in amounts.items():
            if value:
                self._spent[name] += _amount(value, name)


def _amount(value: float, name: str) -> Decimal:
    if not math.isfinite(value) or value < 0:
        raise ParameterError(f"An amount of {name} must be a finite number >= 0.")
    return Decimal(repr(float(value)))
