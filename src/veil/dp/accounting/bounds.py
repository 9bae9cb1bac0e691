r"""Composition theorems: basic, advanced, optimal and zCDP.

Basic composition adds epsilons and deltas. It holds for any releases, also if each one is chosen
after seeing the earlier ones.

Optimal composition of different releases: an epsilon-DP release reveals at most what randomised
response does, a loss of epsilon with probability :math:`e^\varepsilon/(1+e^\varepsilon)`, else
-epsilon. Losses add up, and

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
    """An epsilon at a delta, or a rho if nothing was converted.

    `by` names the method, and `caveats` what the bound does not cover.
    """

    epsilon: float = math.inf
    delta: float = 0.0
    rho: float = math.inf
    by: str = ""
    caveats: tuple[str, ...] = ()


def sum_amounts(amounts: Iterable[tuple[float, int]]) -> float:
    """Return the sum of amounts, each multiplied, in exact decimal arithmetic.

    >>> sum_amounts([(0.1, 3), (0.7, 1)])
    1.0
    """
    return float(
        sum((Fraction(repr(float(value))) * times for value, times in amounts), Fraction())
    )


def pairs(counts: Counts) -> list[tuple[float, float, int]]:
    """Return (epsilon, delta, times) of the costs that are not zCDP."""
    return [
        (cost.guarantee.epsilon, cost.guarantee.delta, times)
        for cost, times in counts.items()
        if cost.guarantee.kind != "zcdp"
    ]


def sum_rho(counts: Counts) -> float:
    """Return the sum of rho of the zCDP costs."""
    return sum_amounts(
        (cost.guarantee.rho, times)
        for cost, times in counts.items()
        if cost.guarantee.kind == "zcdp"
    )


def own_delta(counts: Counts) -> float:
    """Return the sum of the deltas of the releases, at most 1."""
    return min(1.0, sum_amounts((delta, times) for _, delta, times in pairs(counts)))


def left_of(delta: float, own: float) -> float:
    """Return delta minus the deltas of the releases, at least 0."""
    return max(0.0, float(Fraction(repr(float(delta))) - Fraction(repr(float(own)))))


def room(delta: float, own: float) -> float:
    """Return the delta available for converting zCDP, or raise ParameterError."""
    remainder = left_of(delta, own)
    if not remainder:
        least = f"above {own:g}, the sum of the releases' deltas," if own else "above 0"
        raise ParameterError(
            f"Converting zCDP to epsilon needs a delta {least} and below 1, such as delta=1e-6 or"
            " --delta 1e-6."
        )
    return remainder


def basic(counts: Counts, delta: float) -> Bound:
    """Add epsilons and deltas; rho is added separately and converted once.

    The conversion uses `delta` minus the deltas of the releases.

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
_ATOMS = 2**17  # losses kept exactly
_CELLS = 2**14  # of the lattice to which more losses are rounded up
_SLACK = 1 + 1e-9  # for the rounding of sums of probabilities

Law = tuple[Floats, Floats]  # losses and their probabilities


def optimal(groups: list[tuple[float, int]], delta: float) -> float:
    """Return the smallest epsilon, rounded up, at which delta is sufficient.

    `groups` are epsilons with their numbers of releases. More than 2^17 distinct sums of losses
    are rounded up to a lattice, which can only increase the epsilon.

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
        tail = float(-np.expm1(middle - losses[:count]) @ chances[:count])
        low, high = (low, middle) if tail <= delta else (middle, high)
    return high


def _law(groups: list[tuple[float, int]], step: float) -> Law:
    """Return the distribution of the sum of all losses, exactly if it fits in one block."""
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
    first, mass = 0, np.ones(1)
    for block in blocks:
        cells = np.ceil(block[0] / step).astype(np.int64)
        first += int(cells.min())
        mass = np.convolve(mass, np.bincount(cells - cells.min(), weights=block[1]))
    losses = np.arange(first, first + len(mass), dtype=np.float64) * step
    return losses, mass


def _equal(epsilon: float, times: int) -> Law:
    """Return the distribution of the sum of equal losses, via logarithms."""
    count = np.arange(times + 1, dtype=np.float64)
    ways = np.zeros(times + 1)
    np.cumsum(np.log((times - count[1:] + 1) / count[1:]), out=ways[1:])
    logs = ways - (times - count) * epsilon - times * np.log1p(np.exp(-epsilon))
    return epsilon * (2 * count - times), np.exp(logs)


_EXACT = 5_000  # equal releases composed exactly
_LARGE = 700.0  # an epsilon that adds up to itself

Groups = list[tuple[float, int]]  # epsilon, and how often


def advanced(counts: Counts, delta: float) -> Bound:
    r"""Return the smallest of several valid bounds, and its name.

    They are the sum; the optimal composition, which is exact given only the epsilons; the bound by
    mean and range of the loss,

    .. math:: \sum_i \varepsilon_i \tanh(\varepsilon_i/2)
       + \sqrt{2 \ln(1/\delta) \sum_i \varepsilon_i^2}

    (Hoeffding); and zCDP with epsilon^2/2 for a pure epsilon. Deltas of the releases are added,
    and `delta` is the total.

    References
    ----------
    Kairouz, Oh, Viswanath. The Composition Theorem for Differential Privacy. ICML 2015, Theorems
    3.3 and 3.5.
    Murtagh, Vadhan. The Complexity of Computing the Optimal Composition of Differential Privacy.
    TCC 2016, Theorem 1.5: releases that differ.
    """
    summed = basic(counts, delta)
    remainder = left_of(delta, own_delta(counts))
    if not remainder:
        return summed
    groups, rho = _groups(counts), sum_rho(counts)
    bounds = [
        Bound(epsilon, delta, by=by)
        for epsilon, by in (_mixed(groups, rho, remainder) if rho else _pure(groups, remainder))
    ]
    return min([summed, *bounds], key=lambda bound: bound.epsilon)


def _groups(counts: Counts) -> Groups:
    """Return positive epsilons with their numbers of releases, the largest first."""
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
    bounds = [
        (mean + math.sqrt(2 * math.log(1 / delta) * squares), "Hoeffding's bound of the loss"),
        (zcdp_epsilon(squares / 2, delta), "zCDP, converted once"),
    ]
    if len(groups) == 1 and groups[0][1] <= _EXACT:
        return [*bounds, (equal(*groups[0], delta), "the optimal composition of equal releases")]
    if max(times for _, times in groups) <= MOST:
        bounds.append((optimal(groups, delta), "the optimal composition"))
    return bounds


def _mixed(groups: Groups, rho: float, delta: float) -> list[tuple[float, str]]:
    """Return bounds for pure releases and zCDP: jointly, or with half of delta each."""
    squares = math.fsum(value * value * times for value, times in groups)
    bounds = [(zcdp_epsilon(rho + squares / 2, delta), "zCDP, converted once")]
    converted = zcdp_epsilon(rho, delta / 2)
    return bounds + [
        (sum_amounts([(epsilon, 1), (converted, 1)]), f"{by}, plus zCDP")
        for epsilon, by in _pure(groups, delta / 2)
    ]


def zcdp(counts: Counts, delta: float) -> Bound:
    """Add rho, with epsilon^2/2 for a pure epsilon, and convert the sum at delta.

    An (epsilon, delta) release counts as epsilon^2/2, and its delta is set aside. With a delta of
    0 nothing is converted, and the bound is the sum of rho. If no release has a delta of its own,
    the bound also holds if each release is chosen after seeing the earlier ones.

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
    """Return the rho of a release: its own, or epsilon^2/2."""
    return min(cost.rho, cost.guarantee.epsilon**2 / 2)


def delta_of(cost: Cost) -> float:
    """Return the delta that is set aside for a release."""
    return 0.0 if rho_of(cost) == cost.rho else cost.guarantee.delta
