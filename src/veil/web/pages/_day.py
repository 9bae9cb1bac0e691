"""The bar of the budget: what was spent, in the last 24 hours, of what may be spent."""

from veil.proxy.types import Budget
from veil.web.pages._bar import bar
from veil.web.pages._words import amount, count, moment
from veil.web.pages.markup import Markup, tag


def day(budget: Budget) -> Markup:
    """Show the state of the budget, as a bar and in words."""
    words = tag("span", told(budget), id="day-says")
    if budget.limit is None:
        return tag("p", words, class_="day")
    full = budget.spent / budget.limit if budget.limit > 0 else 1.0
    shown = bar(full, told(budget), labelled="day-says")
    return tag("p", words, shown, class_="day spent" if is_spent(budget) else "day")


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
