"""The bars of the budget: what was spent, in the last 24 hours, of what may be spent."""

from veil.proxy.types import Budget
from veil.web.pages._bar import bar
from veil.web.pages._words import amount, bits, count, moment
from veil.web.pages.markup import Markup, tag


def day(budget: Budget) -> Markup:
    """Show the state of the budget, as bars and in words: of epsilons, and of bits beside it."""
    first = _shown("day", told(budget), budget.spent, budget.limit, budget.left)
    if not budget.bits and budget.bits_limit is None:
        return tag("div", first, class_="days")
    words = leaked(budget)
    second = _shown("bits", words, budget.bits, budget.bits_limit, budget.bits_left)
    return tag("div", first, second, class_="days")


def _shown(name: str, says: str, spent: float, limit: float | None, left: float | None) -> Markup:
    words = tag("span", says, id=f"{name}-says")
    if limit is None:
        return tag("p", words, class_="day")
    full = spent / limit if limit > 0 else 1.0
    shown = bar(full, says, labelled=f"{name}-says")
    return tag("p", words, shown, class_="day" if left else "day spent")


def leaked(budget: Budget) -> str:
    """Say how many bits were given away of how many.

    >>> leaked(Budget("2026-11-16", 0.0, 10000.0, bits=6.5, bits_limit=300.0))
    '6.5 of 300 bits'
    >>> leaked(Budget("2026-11-16", 0.0, 10000.0, bits=6.5))
    '6.5 bits, no limit is set'
    """
    if budget.bits_limit is None:
        return f"{bits(budget.bits)}, no limit is set"
    if not budget.bits_left:
        return f"all of {bits(budget.bits_limit)}"
    return f"{amount(budget.bits)} of {bits(budget.bits_limit)}"


def told(budget: Budget) -> str:
    """Say what was spent of what.

    >>> told(Budget("2026-11-16", 720.0, 10000.0))
    'Last 24 hours: 720 of 10,000 spent'
    >>> told(Budget("2026-11-16", 720.0, None))
    'Last 24 hours: 720 spent, no limit is set'
    >>> told(Budget("2026-11-16", 0.0, 10000.0, 2))
    'Last 24 hours: 0 of 10,000 spent, and 2 releases without a bound'
    """
    besides = (
        f", and {count(budget.unproved, 'release')} without a bound" if budget.unproved else ""
    )
    if budget.limit is None:
        return f"Last 24 hours: {amount(budget.spent)} spent{besides}, no limit is set"
    if is_spent(budget):
        free = f"; some of it comes free at {moment(budget.free)}" if budget.free else ""
        return f"Last 24 hours: all of {amount(budget.limit)} spent{besides}{free}"
    return f"Last 24 hours: {amount(budget.spent)} of {amount(budget.limit)} spent{besides}"


def is_spent(budget: Budget) -> bool:
    """Whether nothing is left."""
    return budget.left is not None and budget.left <= 0
