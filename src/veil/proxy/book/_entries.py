"""The rows of the ledger: read and written inside of somebody else's transaction."""

import math
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from veil.core.errors import BudgetError
from veil.proxy.types import Release

Draws = Mapping[bytes, tuple[str, ...]]  # of each word, by its hash


@dataclass(frozen=True, slots=True)
class Entry:
    """One release as the ledger keeps it.

    `query` and the keys of `draws` are keyed hashes, `draws[word][j]` what was drawn for variant
    j; the words are in the order that they have in the variants, and `form` is the layout there.
    `spent` is what was paid for the entry in all, `cost` what its variants add up to, also
    where draws were shared and paid before.
    """

    query: bytes
    setting: str
    variants: tuple[str, ...] = ()
    draws: Draws = field(default_factory=dict)
    shared: int = 0
    spent: float = 0.0
    cost: float = 0.0
    chosen: bool = False
    words: int = 0
    form: str = ""
    number: int = 0


def draws_of(db: sqlite3.Connection, number: int) -> Draws:
    found: dict[bytes, list[str]] = {}
    rows = db.execute(
        "SELECT word, drawn FROM draws WHERE release = ? ORDER BY spot, place", (number,)
    )
    for word, drawn in rows:
        found.setdefault(bytes(word), []).append(drawn)
    return {word: tuple(drawn) for word, drawn in found.items()}


def check_budget(spent: float, fresh: float, limit: float | None) -> None:
    if limit is None or fresh <= 0:
        return
    if not math.isfinite(fresh):
        raise BudgetError(
            "What the mechanism releases has no bound that a budget could count; nothing was sent."
            " Choose another mechanism, or do without a budget."
        )
    if spent + fresh > limit * (1 + 1e-12):
        raise BudgetError(
            f"The query would cost {_amount(fresh)}, and {_amount(max(0.0, limit - spent))} of"
            f" today's {_amount(limit)} are left; nothing was sent. Ask something that was asked"
            " before, choose a more private setting, or wait for tomorrow."
        )


def _amount(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


def write_entry(db: sqlite3.Connection, entry: Entry, number: int | None, at: datetime) -> int:
    moment = at.timestamp()
    if number is None:
        made = db.execute(
            "INSERT INTO releases"
            " (query, setting, made, last, asked, words, shared, spent, cost, chosen, form)"
            " VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)",
            (entry.query, entry.setting, moment, moment, entry.words, entry.shared, entry.spent,
             entry.cost, entry.chosen, entry.form),
        )  # fmt: skip
        number = int(made.lastrowid or 0)
    else:
        db.execute(
            "UPDATE releases SET last = ?, asked = asked + 1, words = ?, shared = ?, spent = ?,"
            " cost = ?, chosen = MAX(chosen, ?) WHERE number = ?",
            (moment, entry.words, entry.shared, entry.spent, entry.cost, entry.chosen, number),
        )
    db.executemany(
        "INSERT OR IGNORE INTO variants VALUES (?, ?, ?)",
        ((number, place, str(text)) for place, text in enumerate(entry.variants)),
    )
    db.executemany(
        "INSERT OR IGNORE INTO draws VALUES (?, ?, ?, ?, ?)",
        (
            (number, word, place, spot, drawn)
            for spot, (word, column) in enumerate(entry.draws.items())
            for place, drawn in enumerate(column)
        ),
    )
    return number


def count_day(db: sqlite3.Connection, at: datetime, spent: float) -> None:
    proved = math.isfinite(spent)
    db.execute(
        "INSERT INTO days VALUES (?, ?, ?) ON CONFLICT (day) DO UPDATE SET"
        " spent = spent + excluded.spent, unproved = unproved + excluded.unproved",
        (day_of(at), spent if proved else 0.0, int(not proved)),
    )


def spent_on(db: sqlite3.Connection, at: datetime) -> tuple[float, int]:
    """Return what was spent on a day, and how many releases no sum covers."""
    row = db.execute("SELECT spent, unproved FROM days WHERE day = ?", (day_of(at),)).fetchone()
    return (float(row[0]), int(row[1])) if row else (0.0, 0)


def release_of(
    db: sqlite3.Connection, row: tuple[int, float, float, int, str, int, int, float, int]
) -> Release:
    number, made, last, asked, setting, words, shared, spent, chosen = row
    texts = db.execute("SELECT text FROM variants WHERE release = ? ORDER BY place", (number,))
    return Release(
        number, _moment(made), _moment(last), asked, setting,
        tuple(text for (text,) in texts), words, shared, spent, bool(chosen),
    )  # fmt: skip


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds).astimezone()


def day_of(at: datetime) -> str:
    return at.date().isoformat()
