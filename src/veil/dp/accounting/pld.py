"""Losses followed by their law: the tightest account, by dp-accounting.

Gaussians alone need no more than a closed form: those of mu_1, mu_2, ... together are one of
sqrt(mu_1^2 + mu_2^2 + ...), mu being sensitivity over sigma.

References
----------
Koskela, Jalko, Honkela. Computing Tight Differential Privacy Guarantees Using FFT. AISTATS 2020.
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi. Connect the Dots: Tighter Discrete Approximations of
Privacy Loss Distributions. PoPETs 2022(4).
Zhu, Dong, Wang. Optimal Accounting of Differential Privacy via Characteristic Function. AISTATS
2022, Theorem 10 (laws that dominate) and Theorem 11 (samples).
"""

import math
from collections import Counter

from veil.core.errors import ParameterError
from veil.dp.accounting._convolution import convolved
from veil.dp.accounting.advanced import advanced
from veil.dp.accounting.bound import Bound, Counts, summed
from veil.dp.accounting.laws import Law, law_of
from veil.dp.calibration import gaussian_delta, zcdp_epsilon

_HEAVY = 50.0  # an epsilon whose law is next to certain: it is added as it is


def pld(counts: Counts, delta: float) -> Bound:
    """Return the least epsilon of the losses of all releases at a delta; it must be above 0.

    What has no law of its own enters as its epsilon and delta; zCDP alone is converted with half
    of delta. The bound is never worse than that of `advanced`, which takes over where the
    rounding of transforms would hide the delta: below 1e-12 + 1e-14 for every release.
    """
    if not delta:
        raise ParameterError("The accountant pld needs a delta above 0: delta=1e-6, --delta 1e-6.")
    laws: Counter[Law] = Counter()
    for cost, times in counts.items():
        laws[law_of(cost)] += times
    found = _bound(laws, delta)
    plain = _plain(counts, delta)
    least = plain if plain and plain.epsilon <= found.epsilon else found
    if math.isinf(least.epsilon):
        raise ParameterError(
            "No epsilon holds at this delta: the releases have a larger one of their own. Give a"
            " larger delta."
        )
    return least


def _plain(counts: Counts, delta: float) -> Bound | None:
    """Return what holds without the laws, where it does at the delta."""
    try:
        bound = advanced(counts, delta)
    except ParameterError:  # nothing of delta is left for zCDP
        return None
    return bound if bound.delta <= delta else None


def _bound(laws: Counter[Law], delta: float) -> Bound:
    """Set aside what needs no following, and follow the rest."""
    caveats = tuple(sorted({law.caveat for law in laws if law.caveat}))
    rest, heavy, mu, rho = _sorted(laws)
    if rest or (mu and rho):
        if rho:
            rest[Law("pair", zcdp_epsilon(rho, delta / 2), delta=delta / 2)] += 1
        if mu:
            rest[Law("gaussian", mu)] += 1
        epsilon, by = convolved(rest, delta), "the law of the losses"
    elif mu:
        epsilon, by = gaussian_epsilon(mu, delta), "the law of the losses, exactly"
    else:
        epsilon, by = zcdp_epsilon(rho, delta), "zCDP, converted once"
    return Bound(summed([(heavy, 1), (epsilon, 1)]) if heavy else epsilon, delta, by=by,
                 caveats=caveats)  # fmt: skip


def _sorted(laws: Counter[Law]) -> tuple[Counter[Law], float, float, float]:
    """Return laws to follow, the sum of what is next to certain, mu of Gaussians, and rho."""
    rest: Counter[Law] = Counter()
    heavy, mus, rhos = [], [], []
    for law, times in laws.items():
        if law.form == "gaussian" and law.rate == 1:
            mus.append(law.size * law.size * times)
        elif law.form == "zcdp":
            rhos.append((law.size, times))
        elif "gaussian" not in law.form and law.size > _HEAVY:
            heavy.append((law.size, times))
            rest[Law("pair", 0.0, delta=law.delta)] += times if law.delta else 0
        else:
            rest[law] += times if law.size or law.delta else 0
    return +rest, summed(heavy), math.sqrt(math.fsum(mus)), summed(rhos)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon, rounded up, of Gaussian noise of 1/mu sigma at a delta.

    >>> round(gaussian_epsilon(2.5, 1e-6), 6)
    14.450777
    """
    if gaussian_delta(0.0, 1 / mu) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, 1 / mu) > delta:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if gaussian_delta(middle, 1 / mu) <= delta else (middle, high)
    return high
