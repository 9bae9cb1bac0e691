"""Basic composition: epsilons and deltas are added up.

It holds for releases of any kind, also where the next one is chosen by what the last ones showed.
"""

from veil.dp.accounting.bound import Bound, Counts, concentrated, own_delta, pairs, room, summed
from veil.dp.calibration import zcdp_epsilon


def basic(counts: Counts, delta: float) -> Bound:
    """Add up epsilon and delta; rho is added up by itself, and converted once.

    The conversion takes what of `delta` is left beside the deltas of the releases.

    References
    ----------
    Dwork, Kenthapadi, McSherry, Mironov, Naor. Our Data, Ourselves. EUROCRYPT 2006, Theorem 1.
    """
    epsilon = summed((value, times) for value, _, times in pairs(counts))
    own, rho = own_delta(counts), concentrated(counts)
    if not rho:
        return Bound(epsilon, own, by="the sum")
    converted = zcdp_epsilon(rho, room(delta, own))
    return Bound(summed([(epsilon, 1), (converted, 1)]), delta, by="the sum, zCDP converted once")
