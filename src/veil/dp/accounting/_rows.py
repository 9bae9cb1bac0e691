"""The tables of a ledger, and its rows as they are written and read.

SQLite keeps whatever it is given, and a file can be changed by others than Veil: what is read is
checked, and anything that is never written is damage.
"""

import math
import secrets
import sqlite3
from collections.abc import Iterator
from datetime import datetime

from veil.core.guarantee import Guarantee
from veil.dp.accounting._book import Terms
from veil.dp.accounting.cost import Cost
from veil.dp.accounting.event import Event

FORMAT = 1  # of the tables; a change of layout needs a new number
_LATEST = 2.5e11  # seconds since 1970: what comes after has no date
_KINDS = ("dp", "local-dp", "zcdp")
_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
    "CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL,"
    " times INTEGER NOT NULL, kind TEXT NOT NULL, epsilon REAL, delta REAL NOT NULL, rho REAL,"
    " unit TEXT NOT NULL, neighbours TEXT NOT NULL, caveat TEXT NOT NULL, spec TEXT NOT NULL,"
    " rate REAL NOT NULL, note TEXT NOT NULL)",
)
_COLUMNS = "at, times, kind, epsilon, delta, rho, unit, neighbours, caveat, spec, rate, note"


def make_tables(db: sqlite3.Connection, terms: Terms, now: float) -> None:
    """Make the tables of a new ledger; its name tells it from any other in the same place."""
    for statement in _TABLES:
        db.execute(statement)
    meta = {"format": FORMAT, "name": secrets.token_hex(16), "begun": now, **terms._asdict()}
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())


def read_meta(db: sqlite3.Connection) -> tuple[int, str, Terms]:
    """Return the format of a ledger, its name, and what it was made for."""
    meta = dict(db.execute("SELECT name, value FROM meta"))
    terms = Terms(
        _amount(meta.get("epsilon")), _amount(meta.get("delta")), _text(meta.get("accountant"))
    )
    return _count(meta.get("format")), _text(meta.get("name")), terms


def write_event(db: sqlite3.Connection, event: Event) -> int:
    """Write a charge down, and return its number; what is infinite is NULL."""
    told, cost = event.cost.guarantee, event.cost
    made = db.execute(
        f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - fixed names
        (event.at.timestamp(), event.times, told.kind, _null(told.epsilon), told.delta,
         _null(cost.rho), told.unit, told.neighbours, told.caveat, cost.spec, cost.rate,
         event.note),
    )  # fmt: skip
    return int(made.lastrowid or 0)


def read_events(db: sqlite3.Connection, after: int) -> Iterator[Event]:
    """Yield the charges after a number; a gap in the numbers is damage."""
    rows = db.execute(
        f"SELECT number, {_COLUMNS} FROM events WHERE number > ? ORDER BY number",  # noqa: S608 - fixed names
        (after,),
    )
    for expected, row in enumerate(rows, after + 1):
        (
            number,
            at,
            times,
            kind,
            epsilon,
            delta,
            rho,
            unit,
            neighbours,
            caveat,
            spec,
            rate,
            note,
        ) = row
        if number != expected or kind not in _KINDS or _count(times) < 1:
            raise sqlite3.DatabaseError
        own = _amount(rho, math.inf)
        told = Guarantee(
            kind, _amount(epsilon, math.inf), unit=_text(unit), caveat=_text(caveat),
            delta=_share(delta), rho=own if kind == "zcdp" else math.inf,
            neighbours=_text(neighbours),
        )  # fmt: skip
        if math.isinf(told.rho if kind == "zcdp" else told.epsilon):
            raise sqlite3.DatabaseError
        cost = Cost(told, _text(spec), _share(rate), own)
        yield Event(number, _moment(at), cost, times, _text(note))


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _amount(value: object, missing: float | None = None) -> float:
    if value is None and missing is not None:
        return missing
    if isinstance(value, int | float) and 0 <= value < math.inf:
        return float(value)
    raise sqlite3.DatabaseError


def _share(value: object) -> float:
    if (found := _amount(value)) <= 1:
        return found
    raise sqlite3.DatabaseError


def _moment(value: object) -> datetime:
    if (found := _amount(value)) < _LATEST:
        return datetime.fromtimestamp(found).astimezone()
    raise sqlite3.DatabaseError


def _count(value: object) -> int:
    if isinstance(value, int) and value >= 0:
        return value
    raise sqlite3.DatabaseError


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise sqlite3.DatabaseError
