r"""Composition theorems: basic, advanced, optimal and zCDP.

Basic composition: epsilons and deltas are added up.
It holds for releases of any kind, also where the next one is chosen by what the last ones showed.

The optimal composition of releases that differ.
An epsilon-DP release tells at most what randomised response does: a loss of epsilon with chance
:math:`e^\varepsilon/(1+e^\varepsilon)`, else of -epsilon. Losses add up, and

.. math:: \delta(e) = \sum_{\text{losses } l > e} p(l) (1 - e^{e-l})

References
----------
Murtagh, Vadhan. The Complexity of Computing the Optimal Composition of Differential Privacy. TCC
2016, Theorem 1.5.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from veil.core.accounting import advanced as equal
from veil.core.errors import ParameterError
from veil.core.types import Floats
from veil.dp.accounting.cost import Cost
from veil.dp.calibration import zcdp_epsilon

Counts = Mapping[Cost, int]


@dataclass(frozen=True, slots=True)
class Bound:
    """An epsilon at a delta; or a rho where nothing was converted.

    `by` says how it was found, and `caveats` what it does not cover.
    """

    epsilon: float = math.inf
    delta: float = 0.0
    rho: float = math.inf
    by: str = ""
    caveats: tuple[str, ...] = ()


def sum_amounts(amounts: Iterable[tuple[float, int]]) -> float:
    """Add amounts up, each so many times, as the decimals that they are written as.

    >>> sum_amounts([(0.1, 3), (0.7, 1)])
    1.0
    """
    return float(
        sum((Fraction(repr(float(value))) * times for value, times in amounts), Fraction())
    )


def pairs(counts: Counts) -> list[tuple[float, float, int]]:
    """Return (epsilon, delta, times) of what is not zCDP."""
    return [
        (cost.guarantee.epsilon, cost.guarantee.delta, times)
        for cost, times in counts.items()
        if cost.guarantee.kind != "zcdp"
    ]


def sum_rho(counts: Counts) -> float:
    """Return the sum of rho of what is zCDP."""
    return sum_amounts(
        (cost.guarantee.rho, times)
        for cost, times in counts.items()
        if cost.guarantee.kind == "zcdp"
    )


def own_delta(counts: Counts) -> float:
    """Return the sum of the deltas that releases have of their own, at most 1."""
    return min(1.0, sum_amounts((delta, times) for _, delta, times in pairs(counts)))


def left_of(delta: float, own: float) -> float:
    """Return what of a delta is left for a conversion, 0 if nothing is."""
    return max(0.0, float(Fraction(repr(float(delta))) - Fraction(repr(float(own)))))


def room(delta: float, own: float) -> float:
    """Return what of a delta is left for the conversion of zCDP, or say that nothing is."""
    left = left_of(delta, own)
    if not left:
        least = f"above {own:g}, which releases cost by themselves," if own else "above 0"
        raise ParameterError(
            f"What zCDP is in epsilon needs a delta {least} and below 1: delta=1e-6, --delta 1e-6."
        )
    return left


def basic(counts: Counts, delta: float) -> Bound:
    """Add up epsilon and delta; rho is added up by itself, and converted once.

    The conversion takes what of `delta` is left beside the deltas of the releases.

    References
    ----------
    Dwork, Kenthapadi, McSherry, Mironov, Naor. Our Data, Ourselves. EUROCRYPT 2006, Theorem 1.
    """
    epsilon = sum_amounts((value, times) for value, _, times in pairs(counts))
    own, rho = own_delta(counts), sum_rho(counts)
    if not rho:
        return Bound(epsilon, own, by="the sum")
    converted = zcdp_epsilon(rho, room(delta, own))
    return Bound(
        sum_amounts([(epsilon, 1), (converted, 1)]), delta, by="the sum, zCDP converted once"
    )


MOST = 100_000  # releases of one kind
_ATOMS = 2**17  # losses that are kept as they are
_CELLS = 2**14  # of the lattice on which more of them are rounded up
_SLACK = 1 + 1e-9  # for the rounding of sums of probabilities

Law = tuple[Floats, Floats]  # losses, and their chances


def optimal(groups: list[tuple[float, int]], delta: float) -> float:
    """Return the smallest epsilon, rounded up, whose delta is at most what is given.

    `groups` are epsilons, and how often each is met. Where there are more than 2^17 different sums
    of losses they are rounded up to a lattice, which can only make the epsilon larger.

    >>> round(optimal([(0.1, 100)], 1e-6), 6)
    4.774568
    """
    total = sum(epsilon * times for epsilon, times in groups)
    losses, chances = _law(groups, 2 * total / _CELLS)
    order = np.argsort(-losses, kind="stable")
    losses, chances = losses[order], chances[order] * _SLACK
    low, high = 0.0, total
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        count = int(np.searchsorted(-losses, -middle))
        left = float(-np.expm1(middle - losses[:count]) @ chances[:count])
        low, high = (low, middle) if left <= delta else (middle, high)
    return high


def _law(groups: list[tuple[float, int]], step: float) -> Law:
    """Return the law of the sum of all losses, in as few blocks as have room."""
    blocks: list[Law] = [(np.zeros(1), np.ones(1))]
    for epsilon, times in sorted(groups, key=lambda group: (group[1], group[0])):
        losses, chances = _equal(epsilon, times)
        if len(blocks[-1][0]) * len(losses) > _ATOMS:
            blocks.append((losses, chances))
        else:
            blocks[-1] = (
                np.add.outer(blocks[-1][0], losses).ravel(),
                np.multiply.outer(blocks[-1][1], chances).ravel(),
            )
    if len(blocks) == 1:
        return blocks[0]
    first, both = 0, np.ones(1)
    for block in blocks:
        cells = np.ceil(block[0] / step).astype(np.int64)
        first += int(cells.min())
        both = np.convolve(both, np.bincount(cells - cells.min(), weights=block[1]))
    losses = np.arange(first, first + len(both), dtype=np.float64) * step
    return losses, both


def _equal(epsilon: float, times: int) -> Law:
    """Return the law of the sum of equal losses; logarithms keep it in range."""
    count = np.arange(times + 1, dtype=np.float64)
    ways = np.zeros(times + 1)
    np.cumsum(np.log((times - count[1:] + 1) / count[1:]), out=ways[1:])
    logs = ways - (times - count) * epsilon - times * np.log1p(np.exp(-epsilon))
    return epsilon * (2 * count - times), np.exp(logs)


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
    groups, rho = _groups(counts), sum_rho(counts)
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
        (sum_amounts([(epsilon, 1), (converted, 1)]), f"{by}, beside zCDP")
        for epsilon, by in _pure(groups, delta / 2)
    ]


def zcdp(counts: Counts, delta: float) -> Bound:
    """Add up rho; a pure epsilon counts as epsilon^2/2, and delta is asked for the conversion.

    A release of (epsilon, delta) is epsilon^2/2 but for its delta, which is set aside. With a
    delta of 0 nothing is converted, and the bound is the sum of rho. It holds for releases that
    are chosen by what the last ones showed, too, where none has a delta of its own.

    References
    ----------
    Bun, Steinke. Concentrated Differential Privacy. TCC 2016, Proposition 1.4, Lemma 1.7 and
    Section 8 (releases with a delta).
    Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020,
    Proposition 12.
    Feldman, Zrnic. Individual Privacy Accounting via a Renyi Filter. NeurIPS 2021.
    """
    rho = sum_amounts((rho_of(cost), times) for cost, times in counts.items())
    own = min(1.0, sum_amounts((delta_of(cost), times) for cost, times in counts.items()))
    if not rho:
        return Bound(0.0, own, by="the sum")
    if not delta and not own:
        return Bound(rho=rho, by="the sum of rho")
    return Bound(zcdp_epsilon(rho, room(delta, own)), delta, by="zCDP, converted once")


def rho_of(cost: Cost) -> float:
    """Return the rho of a release."""
    return min(cost.rho, cost.guarantee.epsilon**2 / 2)


def delta_of(cost: Cost) -> float:
    """Return the delta that is set aside for a release."""
    return 0.0 if rho_of(cost) == cost.rho else cost.guarantee.delta
