"""Numbers, times and budgets as shown on pages; every function here is a template filter."""

import math
from datetime import datetime

from veil.drawing.markup import number, percent
from veil.proxy.settings import Budget

_SPACE = "\N{NO-BREAK SPACE}"


def amount(value: float) -> str:
    """Format an amount of epsilon.

    >>> amount(720.0), amount(10000.0), amount(0.25), amount(float("inf"))
    ('720', '10,000', '0.25', 'without bound')
    """
    if not math.isfinite(value):
        return "without bound"
    text = f"{value:,.2f}".rstrip("0").rstrip(".")
    return text if text not in ("-0", "0") or not value else "less than 0.01"


def bits(value: float) -> str:
    """Format an amount of leakage.

    >>> bits(6.4919), bits(0.0), bits(300.0), bits(1.0), bits(float("inf"))
    ('6.49 bits', 'no bits', '300 bits', '1 bit', 'bits without bound')
    """
    if not math.isfinite(value):
        return "bits without bound"
    text = amount(value)
    return "no bits" if not value else f"{text} bit{'' if text == '1' else 's'}"


def count(value: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun.

    >>> count(1, "variant"), count(12345, "query", "queries"), count(0, "word")
    ('1 variant', '12,345 queries', 'no words')
    """
    words = noun if value == 1 else plural or f"{noun}s"
    return f"{value:,} {words}" if value else f"no {words}"


def ordinal(value: int) -> str:
    """Format a rank.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 112, 1023)]
    ['1st', '2nd', '3rd', '4th', '11th', '112th', '1,023rd']
    """
    teen = value % 100 in (11, 12, 13)
    return f"{value:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def share(value: float) -> str:
    """Format a share so that it is not broken across lines.

    >>> share(0.15).replace(_SPACE, " "), share(0.0312).replace(_SPACE, " ")
    ('15 %', '3.1 %')
    """
    return percent(value).replace(" %", f"{_SPACE}%")


def share_at_most(value: float) -> str:
    """Format an upper bound of a share, rounded up.

    >>> share_at_most(0.2401).replace(_SPACE, " "), share_at_most(2.0).replace(_SPACE, " ")
    ('25 %', '100 %')
    """
    if not math.isfinite(value):
        return "–"
    return f"{min(100, math.ceil(100 * value - 1e-9))}{_SPACE}%"


def shares(low: float, high: float) -> str:
    """Format an interval of shares; "" if it is unknown.

    >>> shares(0.0812, 0.24).replace(_SPACE, " "), shares(float("nan"), 1.0)
    ('8.1–24 %', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{share(low).removesuffix(f'{_SPACE}%')}–{share(high)}"


def figures(low: float, high: float) -> str:
    """Format an interval of figures from 0 to 1; "" if it is unknown.

    >>> figures(0.5, 0.625)
    '0.50–0.62'
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{number(low, 2)}–{number(high, 2)}"


def moment(when: datetime) -> str:
    """Format a time in the time zone of this machine.

    >>> moment(datetime(2026, 11, 16, 9, 5))
    '2026-11-16 09:05'
    """
    return (when.astimezone() if when.tzinfo else when).strftime("%Y-%m-%d %H:%M")


def listed(names: tuple[str, ...]) -> str:
    """Join names in a sentence.

    >>> listed(("bayes",)), listed(("a", "b", "c"))
    ('bayes', 'a, b and c')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def leaked_text(budget: Budget) -> str:
    """Return how many bits were spent, and the limit.

    >>> leaked_text(Budget("2026-11-16", 0.0, 10000.0, bits=6.5, bits_limit=300.0))
    '6.5 of 300 bits'
    >>> leaked_text(Budget("2026-11-16", 0.0, 10000.0, bits=6.5))
    '6.5 bits, no limit is set'
    """
    if budget.bits_limit is None:
        return f"{bits(budget.bits)}, no limit is set"
    if not budget.bits_left:
        return f"all of {bits(budget.bits_limit)}"
    return f"{amount(budget.bits)} of {bits(budget.bits_limit)}"


def spent_text(budget: Budget) -> str:
    """Return how much epsilon was spent, and the limit.

    >>> spent_text(Budget("2026-11-16", 720.0, 10000.0))
    'Last 24 hours: 720 of 10,000 spent'
    >>> spent_text(Budget("2026-11-16", 720.0, None))
    'Last 24 hours: 720 spent, no limit is set'
    >>> spent_text(Budget("2026-11-16", 0.0, 10000.0, 2))
    'Last 24 hours: 0 of 10,000 spent, and 2 releases without a bound'
    """
    unproved = (
        f", and {count(budget.unproved, 'release')} without a bound" if budget.unproved else ""
    )
    if budget.limit is None:
        return f"Last 24 hours: {amount(budget.spent)} spent{unproved}, no limit is set"
    if is_spent(budget):
        free = f"; some of it comes free at {moment(budget.free)}" if budget.free else ""
        return f"Last 24 hours: all of {amount(budget.limit)} spent{unproved}{free}"
    return f"Last 24 hours: {amount(budget.spent)} of {amount(budget.limit)} spent{unproved}"


def is_spent(budget: Budget) -> bool:
    """Return whether nothing is left."""
    return budget.left is not None and budget.left <= 0
