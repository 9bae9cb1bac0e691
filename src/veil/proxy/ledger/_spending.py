"""What was spent in the last 24 hours, by a clock that never goes back."""

import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from veil.core.accounting import Account
from veil.core.errors import BudgetError
from veil.core.formatting import bits_of
from veil.proxy.ledger._values import amount, count, moment, seconds
from veil.proxy.ledger.price import Limits, Price

DAY = 24 * 3600.0
_ROUNDING = 1e-12  # of sums of what was spent


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent in 24 hours, how many releases no sum covers, and when some of it ends.

    `until` is the end of the 24 hours, in seconds since 1970; `free` is when the oldest of the
    sums is out of them, or None where there is none. `bits` are those of releases whose leakage is
    bounded, and `free_bits` is when the oldest of these is out.
    """

    until: float
    spent: float
    unproved: int
    free: datetime | None
    bits: float = 0.0
    free_bits: datetime | None = None


def spent_until(db: sqlite3.Connection, at: float) -> Spent:
    """Return what was spent in the 24 hours before a moment.

    A moment before the latest that the ledger has seen is taken for that one: a clock that is set
    back makes nothing free. What is dated later than the moment counts, too.
    """
    until = latest(db, at)
    rows = [
        (seconds(when), amount(spent), count(unproved), amount(bits))
        for when, spent, unproved, bits in db.execute(
            "SELECT at, spent, unproved, bits FROM spendings"
        )
    ]
    inside = [row for row in rows if row[0] > until - DAY]
    return Spent(
        until,
        math.fsum(spent for _, spent, _, _ in inside),
        sum(unproved for _, _, unproved, _ in inside),
        _free(when for when, spent, _, _ in inside if spent),
        math.fsum(bits for _, _, _, bits in inside),
        _free(when for when, _, _, bits in inside if bits),
    )


def _free(moments: Iterator[float]) -> datetime | None:
    first = min(moments, default=None)
    return None if first is None else moment(first + DAY)


def latest(db: sqlite3.Connection, at: float) -> float:
    """Return a moment, or the latest that the ledger has seen, if that is later."""
    (seen,) = db.execute("SELECT value FROM meta WHERE name = 'clock'").fetchone() or (None,)
    return max(seconds(at), seconds(seen))


def see(db: sqlite3.Connection, at: float) -> float:
    """Keep the latest moment, and return it."""
    now = latest(db, at)
    db.execute("UPDATE meta SET value = ? WHERE name = 'clock'", (now,))
    return now


def spend(db: sqlite3.Connection, at: float, price: Price) -> None:
    """Count what is spent now; what is older than 24 hours is not needed any more."""
    now = see(db, at)
    db.execute("DELETE FROM spendings WHERE at <= ?", (now - DAY,))
    if price.epsilon > 0 or price.bits > 0:
        proved = math.isfinite(price.epsilon)
        db.execute(
            "INSERT INTO spendings (at, spent, unproved, bits) VALUES (?, ?, ?, ?)",
            (now, price.epsilon if proved else 0.0, int(not proved), price.bits),
        )


def check_budget(state: Spent, price: Price, limits: Limits) -> None:
    """Refuse what costs more than is left."""
    _check_bits(state, price.bits, limits.bits)
    fresh, limit = price.epsilon, limits.epsilon
    if limit is None or fresh <= 0:
        return
    if not math.isfinite(fresh):
        raise BudgetError(
            "What the mechanism releases has no bound that a budget could count; nothing was sent."
            " Choose another mechanism, or do without a budget (--budget none)."
        )
    account = Account({"epsilon": limit * (1 + _ROUNDING)}, {"epsilon": state.spent})
    try:
        account.check({"epsilon": fresh})
    except BudgetError:
        free = state.free
        wait = f", or wait: some of it comes free at {free:%Y-%m-%d %H:%M}" if free else ""
        raise BudgetError(
            f"The query would cost {_amount(fresh)}, and"
            f" {_amount(max(0.0, limit - state.spent))} of the {_amount(limit)} for 24 hours are"
            " left; nothing was sent. Ask something that was asked before, or choose a more"
            f" private setting{wait}."
        ) from None


def _check_bits(state: Spent, fresh: float, limit: float | None) -> None:
    if limit is None or fresh <= 0 or state.bits + fresh <= limit * (1 + _ROUNDING):
        return
    free = state.free_bits
    wait = f", or wait: some of it comes free at {free:%Y-%m-%d %H:%M}" if free else ""
    raise BudgetError(
        f"The query would cost {bits_of(fresh)}, and"
        f" {_amount(max(0.0, limit - state.bits))} of the {bits_of(limit)} for 24 hours are"
        " left; nothing was sent. Ask for something that you asked before, or raise the"
        f" limit (--bits){wait}."
    )


def _amount(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")
