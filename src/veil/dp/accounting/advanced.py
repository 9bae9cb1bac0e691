"""Advanced composition: a smaller epsilon is paid for with a delta, and never a larger one."""

import math
from collections import Counter

from veil.core.accounting import advanced as equal
from veil.dp.accounting.basic import basic
from veil.dp.accounting.bound import Bound, Counts, concentrated, left_of, own_delta, pairs, summed
from veil.dp.accounting.optimal import MOST, optimal
from veil.dp.calibration import zcdp_epsilon

_EXACT = 5_000  # equal releases that are counted one by one
_LARGE = 700.0  # an epsilon that adds up to itself

Groups = list[tuple[float, int]]  # epsilon, and how often


def advanced(counts: Counts, delta: float) -> Bound:
    r"""Return the least of the bounds that hold, and say which it is.

    They are the sum; the optimal composition, which is exact for what is known of the releases;
    that of the mean and the range of the loss,

    .. math:: \sum_i \varepsilon_i \tanh(\varepsilon_i/2)
       + \sqrt{2 \ln(1/\delta) \sum_i \varepsilon_i^2}

    (Hoeffding); and zCDP with epsilon^2/2 for a pure epsilon. Deltas of the releases are added up,
    and `delta` is for all together.

    References
    ----------
    Kairouz, Oh, Viswanath. The Composition Theorem for Differential Privacy. ICML 2015, Theorems
    3.3 and 3.5.
    Murtagh, Vadhan. The Complexity of Computing the Optimal Composition of Differential Privacy.
    TCC 2016, Theorem 1.5: releases that differ.
    """
    plain = basic(counts, delta)
    left = left_of(delta, own_delta(counts))
    if not left:
        return plain
    groups, rho = _groups(counts), concentrated(counts)
    found = [
        Bound(epsilon, delta, by=by)
        for epsilon, by in (_mixed(groups, rho, left) if rho else _pure(groups, left))
    ]
    return min([plain, *found], key=lambda bound: bound.epsilon)


def _groups(counts: Counts) -> Groups:
    """Put equal epsilons together, the largest first; what costs nothing is left out."""
    groups: Counter[float] = Counter()
    for epsilon, _, times in pairs(counts):
        groups[epsilon] += times
    return sorted(((value, times) for value, times in groups.items() if value), reverse=True)


def _pure(groups: Groups, delta: float) -> list[tuple[float, str]]:
    """Return bounds of pure releases at a delta."""
    if not groups or groups[0][0] > _LARGE:
        return []
    squares = math.fsum(value * value * times for value, times in groups)
    mean = math.fsum(value * math.tanh(value / 2) * times for value, times in groups)
    found = [
        (mean + math.sqrt(2 * math.log(1 / delta) * squares), "Hoeffding's bound of the loss"),
        (zcdp_epsilon(squares / 2, delta), "zCDP, converted once"),
    ]
    if len(groups) == 1 and groups[0][1] <= _EXACT:
        return [*found, (equal(*groups[0], delta), "the optimal composition of equal releases")]
    if max(times for _, times in groups) <= MOST:
        found.append((optimal(groups, delta), "the optimal composition"))
    return found


def _mixed(groups: Groups, rho: float, delta: float) -> list[tuple[float, str]]:
    """Return bounds of pure releases beside zCDP: together, or with half of delta each."""
    squares = math.fsum(value * value * times for value, times in groups)
    found = [(zcdp_epsilon(rho + squares / 2, delta), "zCDP, converted once")]
    converted = zcdp_epsilon(rho, delta / 2)
    return found + [
        (summed([(epsilon, 1), (converted, 1)]), f"{by}, beside zCDP")
        for epsilon, by in _pure(groups, delta / 2)
    ]
