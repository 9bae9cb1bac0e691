"""Compose the costs of several releases: of the same data, for groups, and of disjoint data."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee, Kind
from veil.core.registry import unknown_name
from veil.dp.accounting.bounds import Bound, Counts, advanced, basic, sum_amounts, zcdp
from veil.dp.accounting.cost import Item, as_list, cost_of, costs_of, whole_times
from veil.dp.accounting.pld import pld
from veil.dp.inputs import share
from veil.dp.mechanism import ADD_REMOVE, REPLACED
from veil.dp.mechanisms.gaussian import REPLACED as REPLACED_RHO

_GROUP = (
    "Replacing a record is removing one and adding one: epsilon is then twice as large, and"
    " delta 1 + e^epsilon times as large."
)


def without_replaced(caveat: str) -> str:
    """Remove the sentence of a caveat on replacing a record."""
    return caveat.replace(REPLACED, "").replace(REPLACED_RHO, "").strip()


def join_caveats(guarantees: Iterable[Guarantee], bound: Bound) -> str:
    """Join the caveats of the releases and of the bound, with a new sentence on replacing.

    The factor by which epsilon or rho grows when a record is replaced is different for the
    composition unless it is pure DP or zCDP.
    """
    sentences: dict[str, None] = {}
    replaced = False
    for guarantee in guarantees:
        rest = without_replaced(guarantee.caveat)
        replaced |= rest != guarantee.caveat.strip()
        sentences |= {rest: None} if rest else {}
    sentences |= dict.fromkeys(bound.caveats)
    if replaced:
        pure = REPLACED if not bound.delta else _GROUP
        sentences[REPLACED_RHO if bound.rho < float("inf") else pure] = None
    counted = f"Counted by {bound.by}." if bound.by and bound.by != "the sum" else ""
    return " ".join([*sentences, *filter(None, [counted])])


ACCOUNTANTS: dict[str, Callable[[Counts, float], Bound]] = {
    "advanced": advanced,
    "basic": basic,
    "pld": pld,
    "zcdp": zcdp,
}
_KINDS: tuple[set[Kind], ...] = ({"dp", "zcdp"}, {"local-dp"})  # that are composed here
_SAMPLE = (
    "No gain by sampling is proved for zCDP: releases of a sample are counted as releases of all"
    " records. The accountant pld accounts for sampling, with a far smaller epsilon."
)
_NONE = "Nothing is proved for a composition that includes a release without a guarantee."


def compose(
    items: Item | Iterable[Item], delta: float = 0.0, accountant: str = "basic"
) -> Guarantee:
    """Return the guarantee of releasing all items from the same data.

    Parameters
    ----------
    items
        Mechanisms, oracles, their specs, guarantees, ``sampled(mechanism, q)``, or pairs
        ``(item, times)``.
    delta
        Delta of the total. `basic` needs it only to convert zCDP; with the others it buys a
        smaller epsilon.
    accountant
        ``basic`` adds epsilons and deltas. ``advanced`` takes the best of several theorems, and is
        never worse. ``zcdp`` adds rho and converts it once; with a delta of 0 the result is zCDP.
        ``pld`` composes the privacy loss distributions (dp-accounting, extra `accounting`;
        if all are Gaussian, it is exact without it). Use it for sampled ``gaussian`` and
        ``discrete_gaussian``: the others count them as if no sample was taken.

    Notes
    -----
    The list must not depend on what was released. If each epsilon is chosen based on earlier
    answers, the bound holds for ``basic`` if no item is zCDP, and for ``zcdp`` if none has a delta
    of its own. Queries at costs fixed in advance may always depend on earlier answers.

    If a release has no guarantee, or two releases define neighbours differently, the result is
    `none`, and the caveat gives the reason.

    Examples
    --------
    >>> compose([("geometric(epsilon=0.1)", 10)]).epsilon
    1.0
    >>> round(compose([("geometric(epsilon=0.1)", 100)], 1e-6, "advanced").epsilon, 6)
    4.774568
    """
    return total(costs_of(items), delta, accountant)


def total(counts: Counts, delta: float, accountant: str) -> Guarantee:
    """Return the composition of counted costs."""
    rule = rule_of(accountant)
    allowed = share("delta", delta, zero=True)
    if not counts:
        return Guarantee("dp", 0.0, unit="record", neighbours=ADD_REMOVE)
    guarantees = sorted({cost.guarantee for cost in counts}, key=repr)
    first, kinds = guarantees[0], {guarantee.kind for guarantee in guarantees}
    if not any(kinds <= family for family in _KINDS):
        return _folded(counts)
    if len({terms_of(guarantee) for guarantee in guarantees}) > 1:
        return _none(guarantees, "Releases that differ in unit or neighbours do not add up.")
    if any(_is_unbounded(guarantee) for guarantee in guarantees):
        return _none(guarantees, _NONE)
    bound = rule(counts, allowed)
    return Guarantee(
        "zcdp" if bound.rho < float("inf") else "local-dp" if "local-dp" in kinds else "dp",
        bound.epsilon,
        metric=first.metric,
        unit=first.unit,
        caveat=" ".join(filter(None, [_unsampled(counts, rule), join_caveats(guarantees, bound)])),
        passed=sum(cost.guarantee.passed * times for cost, times in counts.items()),
        delta=bound.delta,
        rho=bound.rho,
        neighbours=first.neighbours,
    )


def _unsampled(counts: Counts, rule: Callable[[Counts, float], Bound]) -> str:
    """Return a hint at pld if the accountant ignores the gain of sampling."""
    missed = any(cost.rate < 1 and cost.guarantee.kind == "zcdp" and cost.spec for cost in counts)
    return _SAMPLE if missed and rule is not pld else ""


def terms_of(guarantee: Guarantee) -> tuple[object, ...]:
    """Return the properties that guarantees must share to be composed."""
    local = guarantee.kind == "local-dp"
    return local, guarantee.metric, guarantee.unit.partition(" (")[0], guarantee.neighbours


def rule_of(accountant: str) -> Callable[[Counts, float], Bound]:
    """Return the accountant of this name."""
    if not isinstance(accountant, str) or accountant not in ACCOUNTANTS:
        raise unknown_name("accountant", str(accountant), tuple(ACCOUNTANTS))
    return ACCOUNTANTS[accountant]


def _is_unbounded(guarantee: Guarantee) -> bool:
    return (guarantee.rho if guarantee.kind == "zcdp" else guarantee.epsilon) == float(
        "inf"
    ) or guarantee.delta >= 1


def _none(guarantees: Iterable[Guarantee], why: str) -> Guarantee:
    caveats = dict.fromkeys(guarantee.caveat for guarantee in guarantees if guarantee.caveat)
    unit = next(iter(guarantees)).unit
    return Guarantee("none", unit=unit, caveat=" ".join([*caveats, why]))


def _folded(counts: Counts) -> Guarantee:
    """Compose guarantees of other kinds by their own operators: the result is none, or a sum."""
    merged: Counter[Guarantee] = Counter()
    for cost, times in counts.items():
        merged[cost.guarantee] += times
    parts = [
        guarantee.compose(times, guarantee.unit)
        for guarantee, times in sorted(merged.items(), key=repr)
    ]
    if any(guarantee.kind == "none" for guarantee in parts):
        return _none(parts, _NONE)
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def group(guarantee: Item, k: int) -> Guarantee:
    r"""Return the guarantee if up to k units differ instead of one.

    .. math:: (k\varepsilon, \frac{e^{k\varepsilon} - 1}{e^\varepsilon - 1}\,\delta), \quad k^2\rho

    Parameters
    ----------
    guarantee
        The release: any item that `compose` accepts.
    k
        Number of units.

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
    single, count = _single_guarantee(guarantee), whole_times(k)
    if count == 1 or single.kind == "none":
        return single
    if single.kind not in ("dp", "local-dp", "zcdp"):
        raise ParameterError(
            f"A group needs a guarantee of kind dp, local-dp or zcdp. Got {single.kind} instead."
        )
    whole = replace(
        single,
        unit=f"group of {count:,} {single.unit}s",
        neighbours=single.neighbours and f"{single.neighbours}, up to {count:,} times",
        caveat=without_replaced(single.caveat),
    )
    if single.kind == "zcdp":
        return replace(whole, rho=single.rho * count**2)
    epsilon = sum_amounts([(single.epsilon, count)]) if math.isfinite(single.epsilon) else math.inf
    return replace(whole, epsilon=epsilon, delta=_delta(single, count))


def _delta(guarantee: Guarantee, k: int) -> float:
    """Return the sum of e^(i epsilon) delta over i < k, at most 1."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if not delta or k * epsilon > 700:
        return 0.0 if not delta else 1.0
    grown = math.expm1(k * epsilon) / math.expm1(epsilon) if epsilon else k
    return min(1.0, grown * delta)


def _single_guarantee(item: object) -> Guarantee:
    """Return the guarantee of one item, composed if it is released several times."""
    cost, times = cost_of(item)
    if times == 1:
        return cost.guarantee
    return total({cost: times}, 0.0, "zcdp" if cost.guarantee.kind == "zcdp" else "basic")


def parallel(guarantees: Item | Iterable[Item]) -> Guarantee:
    """Return the guarantee of releases of disjoint parts of the data: the weakest of them.

    Each unit must be in only one part, determined by the unit alone. The bound holds for adding or
    removing a unit. Replacing a unit affects two parts, so guarantees with other neighbours give
    `none`. Items are those that `compose` accepts.

    Examples
    --------
    >>> parallel([Guarantee("dp", 0.5), Guarantee("dp", 1.0, delta=1e-6)]).epsilon
    1.0
    """
    parts = [_single_guarantee(item) for item in as_list(guarantees)]
    if not parts:
        raise ParameterError("Parallel composition needs at least one guarantee.")
    whole = parts[0]
    for part in parts[1:]:
        whole = whole | part
    if len(parts) > 1 and whole.neighbours and "add or remove" not in whole.neighbours:
        return Guarantee("none", unit=whole.unit, caveat=whole.caveat).with_caveat(
            "Parallel composition holds only for adding or removing a unit, because changing or"
            " replacing one affects two parts."
        )
    return whole
