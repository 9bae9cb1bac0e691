"""What several releases cost together: of the same data, of groups, and of disjoint data."""

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
    "To replace a record is to remove one and to add one: epsilon is then twice as large, and"
    " delta 1 + e^epsilon times as large."
)


def without_replaced(caveat: str) -> str:
    """Leave out what a release says of replacing a record."""
    return caveat.replace(REPLACED, "").replace(REPLACED_RHO, "").strip()


def join_caveats(guarantees: Iterable[Guarantee], bound: Bound) -> str:
    """Join the caveats of the releases and of the bound; what replacing costs is told anew.

    A release says by what its own epsilon or rho grows then; together it is something else, unless
    all of it is pure, or zCDP.
    """
    sentences: dict[str, None] = {}
    replaced = False
    for one in guarantees:
        rest = without_replaced(one.caveat)
        replaced |= rest != one.caveat.strip()
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
_KINDS: tuple[set[Kind], ...] = ({"dp", "zcdp"}, {"local-dp"})  # that are added up here
_SAMPLE = (
    "Of zCDP no gain by sampling is proved: what is released of a sample is counted as if it were"
    " of all records. The accountant pld counts the sample, with a far smaller epsilon."
)
_NONE = "Together with a release of which nothing is proved, nothing is."


def compose(
    items: Item | Iterable[Item], delta: float = 0.0, accountant: str = "basic"
) -> Guarantee:
    """Return what holds when all items are released of the same data.

    Parameters
    ----------
    items
        Mechanisms, oracles, their specs, guarantees, ``sampled(mechanism, q)``, or pairs
        ``(item, times)``.
    delta
        The delta that everything together may have. `basic` needs it only to convert zCDP; with
        the others it buys a smaller epsilon.
    accountant
        ``basic`` adds epsilons and deltas. ``advanced`` takes the best of several theorems, and is
        never worse. ``zcdp`` adds rho, and converts it once; with a delta of 0 the result is zCDP.
        ``pld`` follows the law of the losses itself (dp-accounting, extra `accounting`; Gaussians
        alone are exact without it). It is the one to take for samples of ``gaussian`` and
        ``discrete_gaussian``: the others count them as if no sample was taken.

    Notes
    -----
    The list must not depend on what was released. Whoever chooses the next epsilon by the last
    answer has a bound from ``basic`` where no item is zCDP, and from ``zcdp`` where none has a
    delta of its own. What is asked at a cost that is settled may always depend on earlier answers.

    A release of which nothing is proved, or two that differ in what a neighbour is, make the
    result `none`, with a caveat that says why.

    Examples
    --------
    >>> compose([("geometric(epsilon=0.1)", 10)]).epsilon
    1.0
    >>> round(compose([("geometric(epsilon=0.1)", 100)], 1e-6, "advanced").epsilon, 6)
    4.774568
    """
    return total(costs_of(items), delta, accountant)


def total(counts: Counts, delta: float, accountant: str) -> Guarantee:
    """Return what costs that were counted add up to."""
    rule = rule_of(accountant)
    allowed = share("delta", delta, zero=True)
    if not counts:
        return Guarantee("dp", 0.0, unit="record", neighbours=ADD_REMOVE)
    guarantees = sorted({cost.guarantee for cost in counts}, key=repr)
    first, kinds = guarantees[0], {one.kind for one in guarantees}
    if not any(kinds <= known for known in _KINDS):
        return _folded(counts)
    if len({terms_of(one) for one in guarantees}) > 1:
        return _none(guarantees, "Releases that differ in unit or neighbours do not add up.")
    if any(_is_unbounded(one) for one in guarantees):
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
    """Return where to look for the gain of a sample, if the accountant has none."""
    missed = any(cost.rate < 1 and cost.guarantee.kind == "zcdp" and cost.spec for cost in counts)
    return _SAMPLE if missed and rule is not pld else ""


def terms_of(one: Guarantee) -> tuple[object, ...]:
    """Return what two guarantees must have in common to be added up."""
    local = one.kind == "local-dp"
    return local, one.metric, one.unit.partition(" (")[0], one.neighbours


def rule_of(accountant: str) -> Callable[[Counts, float], Bound]:
    """Return an accountant by its name."""
    if not isinstance(accountant, str) or accountant not in ACCOUNTANTS:
        raise unknown_name("accountant", str(accountant), tuple(ACCOUNTANTS))
    return ACCOUNTANTS[accountant]


def _is_unbounded(one: Guarantee) -> bool:
    return (one.rho if one.kind == "zcdp" else one.epsilon) == float("inf") or one.delta >= 1


def _none(guarantees: Iterable[Guarantee], why: str) -> Guarantee:
    caveats = dict.fromkeys(one.caveat for one in guarantees if one.caveat)
    unit = next(iter(guarantees)).unit
    return Guarantee("none", unit=unit, caveat=" ".join([*caveats, why]))


def _folded(counts: Counts) -> Guarantee:
    """Add up guarantees of other kinds as they do it themselves: they become none, or a sum."""
    merged: Counter[Guarantee] = Counter()
    for cost, times in counts.items():
        merged[cost.guarantee] += times
    parts = [one.compose(times, one.unit) for one, times in sorted(merged.items(), key=repr)]
    if any(one.kind == "none" for one in parts):
        return _none(parts, _NONE)
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


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
    epsilon = sum_amounts([(one.epsilon, count)]) if math.isfinite(one.epsilon) else math.inf
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
    parts = [_told(one) for one in as_list(guarantees)]
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
