"""What several releases of the same data cost together."""

from collections import Counter
from collections.abc import Callable, Iterable

from veil.core.guarantee import Guarantee, Kind
from veil.core.registry import unknown_name
from veil.dp.accounting.advanced import advanced
from veil.dp.accounting.basic import basic
from veil.dp.accounting.bound import Bound, Counts
from veil.dp.accounting.caveats import told
from veil.dp.accounting.cost import Item, costs_of
from veil.dp.accounting.pld import pld
from veil.dp.accounting.zcdp import zcdp
from veil.dp.arguments import share
from veil.dp.mechanism import ADD_REMOVE

ACCOUNTANTS: dict[str, Callable[[Counts, float], Bound]] = {
    "advanced": advanced,
    "basic": basic,
    "pld": pld,
    "zcdp": zcdp,
}
_KINDS: tuple[set[Kind], ...] = ({"dp", "zcdp"}, {"local-dp"})  # that are added up here
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
        alone are exact without it).

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
        caveat=told(guarantees, bound),
        passed=sum(cost.guarantee.passed * times for cost, times in counts.items()),
        delta=bound.delta,
        rho=bound.rho,
        neighbours=first.neighbours,
    )


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
