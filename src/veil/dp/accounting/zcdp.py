"""Concentrated DP: rho is added up, and converted once."""

from veil.dp.accounting.bound import Bound, Counts, room, summed
from veil.dp.accounting.cost import Cost
from veil.dp.calibration import zcdp_epsilon


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
    rho = summed((rho_of(cost), times) for cost, times in counts.items())
    own = min(1.0, summed((delta_of(cost), times) for cost, times in counts.items()))
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
