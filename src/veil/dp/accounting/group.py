"""What holds for several records, and for releases of disjoint data."""

import math
from collections.abc import Iterable
from dataclasses import replace

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.dp.accounting.bound import summed
from veil.dp.accounting.caveats import without_replaced
from veil.dp.accounting.compose import total
from veil.dp.accounting.cost import Item, cost_of, listed, whole_times


def group(guarantee: Item, k: int) -> Guarantee:
    r"""Return what holds when up to k units differ instead of one.

    .. math:: (k\varepsilon, \frac{e^{k\varepsilon} - 1}{e^\varepsilon - 1}\,\delta), \quad k^2\rho

    Parameters
    ----------
    guarantee
        What is released: a guarantee, a mechanism, an oracle or its spec, as `compose` takes it.
    k
        How many units.

    References
    ----------
    Vadhan. The Complexity of Differential Privacy. 2017, Lemma 2.2, without its last bound.
    Bun, Steinke. Concentrated Differential Privacy. TCC 2016, Proposition 1.9.

    Examples
    --------
    >>> group(Guarantee("dp", 0.5, delta=1e-6, unit="person"), 3).epsilon
    1.5
    >>> group("geometric(epsilon=0.5)", 2).unit
    'group of 2 records'
    """
    one, count = _told(guarantee), whole_times(k)
    if count == 1 or one.kind == "none":
        return one
    if one.kind not in ("dp", "local-dp", "zcdp"):
        raise ParameterError(
            f"A group takes a guarantee of kind dp, local-dp or zcdp. Got {one.kind}."
        )
    whole = replace(
        one,
        unit=f"group of {count:,} {one.unit}s",
        neighbours=one.neighbours and f"{one.neighbours}, up to {count:,} times",
        caveat=without_replaced(one.caveat),
    )
    if one.kind == "zcdp":
        return replace(whole, rho=one.rho * count**2)
    epsilon = summed([(one.epsilon, count)]) if math.isfinite(one.epsilon) else math.inf
    return replace(whole, epsilon=epsilon, delta=_delta(one, count))


def _delta(guarantee: Guarantee, k: int) -> float:
    """Return the sum of e^(i epsilon) delta over i < k, at most 1."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if not delta or k * epsilon > 700:
        return 0.0 if not delta else 1.0
    grown = math.expm1(k * epsilon) / math.expm1(epsilon) if epsilon else k
    return min(1.0, grown * delta)


def _told(item: object) -> Guarantee:
    """Return the guarantee of one item; one that is released several times is added up."""
    cost, times = cost_of(item)
    if times == 1:
        return cost.guarantee
    return total({cost: times}, 0.0, "zcdp" if cost.guarantee.kind == "zcdp" else "basic")


def parallel(guarantees: Item | Iterable[Item]) -> Guarantee:
    """Return what holds for releases of disjoint parts of the data: the weakest of them.

    A unit is in one part alone, and which it is follows from the unit alone. It holds where a unit
    is added or removed; to replace one touches two parts, which is none here for guarantees that
    speak of it. They are given as `compose` takes them.

    Examples
    --------
    >>> parallel([Guarantee("dp", 0.5), Guarantee("dp", 1.0, delta=1e-6)]).epsilon
    1.0
    """
    parts = [_told(one) for one in listed(guarantees)]
    if not parts:
        raise ParameterError("Parallel composition takes guarantees, at least one.")
    whole = parts[0]
    for part in parts[1:]:
        whole = whole | part
    if len(parts) > 1 and whole.neighbours and "add or remove" not in whole.neighbours:
        return Guarantee("none", unit=whole.unit, caveat=whole.caveat).with_caveat(
            "Releases of disjoint parts go together where a unit is added or removed; to change or"
            " replace one touches two parts."
        )
    return whole
