"""The tables of the ledger: how they are made, brought up to date, and looked through."""

import sqlite3
from datetime import UTC, datetime, timedelta

from veil.proxy.ledger._values import LATEST, amount, count, text

FORMAT = 3  # of the tables; a change of layout needs a new number
_SPENDINGS = """
CREATE TABLE spendings (
  number INTEGER PRIMARY KEY, at REAL NOT NULL, spent REAL NOT NULL, unproved INTEGER NOT NULL,
  bits REAL NOT NULL DEFAULT 0.0
)"""
_TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE releases (
  number INTEGER PRIMARY KEY AUTOINCREMENT, query BLOB NOT NULL, setting TEXT NOT NULL,
  made REAL NOT NULL, last REAL NOT NULL, asked INTEGER NOT NULL, words INTEGER NOT NULL,
  shared INTEGER NOT NULL, spent REAL NOT NULL, cost REAL NOT NULL, chosen INTEGER NOT NULL,
  form TEXT NOT NULL, tied INTEGER NOT NULL, bits REAL NOT NULL DEFAULT 0.0,
  UNIQUE (query, setting)
);
CREATE TABLE variants (
  release INTEGER NOT NULL REFERENCES releases (number) ON DELETE CASCADE,
  place INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (release, place)
) WITHOUT ROWID;
CREATE TABLE draws (
  release INTEGER NOT NULL REFERENCES releases (number) ON DELETE CASCADE,
  word BLOB NOT NULL, place INTEGER NOT NULL, spot INTEGER NOT NULL, drawn TEXT NOT NULL,
  PRIMARY KEY (release, word, place)
) WITHOUT ROWID;
CREATE INDEX draws_of_a_word ON draws (word, release) WHERE place = 0;
{_SPENDINGS};
CREATE TABLE choices (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


def _hash(name: str) -> str:
    return f"typeof({name}) = 'blob' AND length({name}) = 16"


def _time(name: str) -> str:
    return f"typeof({name}) = 'real' AND {name} >= 0 AND {name} < {LATEST}"


def _sum(name: str) -> str:
    return f"typeof({name}) = 'real' AND {name} >= 0"


def _count(name: str) -> str:
    return f"typeof({name}) = 'integer' AND {name} >= 0"


def _text(name: str) -> str:
    return f"typeof({name}) = 'text'"


_GOOD = {  # what holds for every row
    "releases": [
        _hash("query"), _text("setting"), _time("made"), _time("last"), _count("asked"),
        _count("words"), _count("shared"), _sum("spent"), _sum("cost"), _count("chosen"),
        _text("form"), _count("tied"), _sum("bits"),
    ],
    "variants": [_count("release"), _count("place"), _text("text")],
    "draws": [
        _count("release"), _hash("word"), _count("place"), _count("spot"), _text("drawn"),
    ],
    "spendings": [_time("at"), _sum("spent"), _count("unproved"), _sum("bits")],
    "choices": [_text("name"), _text("value")],
}  # fmt: skip
_BAD = [
    f"SELECT 1 FROM {table} WHERE NOT ({' AND '.join(good)})"  # noqa: S608 - fixed texts
    for table, good in _GOOD.items()
]
_GAPS = (  # what was released is numbered from 0 on, without a gap
    "SELECT 1 FROM variants GROUP BY release HAVING MAX(place) <> COUNT(*) - 1",
    "SELECT 1 FROM draws GROUP BY release, word HAVING MAX(place) <> COUNT(*) - 1",
)


def make_tables(db: sqlite3.Connection, now: float) -> None:
    """Make the tables of a new ledger; it has no key yet."""
    for statement in _TABLES.split(";"):
        db.execute(statement)
    made = {"format": FORMAT, "begun": now, "clock": now}
    db.executemany("INSERT INTO meta VALUES (?, ?)", made.items())


def was_used(db: sqlite3.Connection) -> bool:
    """Whether anything was ever written into the tables."""
    tables = ("sqlite_sequence", "releases", "spendings", "choices")
    return any(db.execute(f"SELECT 1 FROM {table}").fetchone() for table in tables)  # noqa: S608 - fixed names


def upgrade(db: sqlite3.Connection, format: int, now: float) -> None:  # noqa: A002 - as in meta
    """Bring tables of an older format up to date."""
    if format == 1:
        _from_days(db, now)
    else:  # 2: it knew no bits
        db.execute("ALTER TABLE spendings ADD COLUMN bits REAL NOT NULL DEFAULT 0.0")
    db.execute("ALTER TABLE releases ADD COLUMN bits REAL NOT NULL DEFAULT 0.0")
    db.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", (FORMAT,))


def _from_days(db: sqlite3.Connection, now: float) -> None:
    """Bring tables of format 1 up to date: it had sums of the days of the user's calendar.

    What was spent on a day is dated as late as it can have been: at the end of that day wherever
    on earth that is last, or now. A day that lies in the future as a whole keeps its date.
    """
    spendings = []
    for day, spent, unproved in db.execute("SELECT day, spent, unproved FROM days").fetchall():
        start, end = _around(day)
        at = end if start > now else min(end, now)
        spendings.append((at, amount(spent), count(unproved)))
    db.execute(_SPENDINGS)
    db.executemany("INSERT INTO spendings (at, spent, unproved) VALUES (?, ?, ?)", spendings)
    db.execute("DROP TABLE days")
    # The decoys of unknown words in these releases are those of the words alone.
    db.execute("ALTER TABLE releases ADD COLUMN tied INTEGER NOT NULL DEFAULT 0")
    (first,) = db.execute("SELECT MIN(made) FROM releases").fetchone()
    latest = max([now, *(at for at, _, _ in spendings)])
    changed = {"begun": now if first is None else first, "clock": latest}
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", changed.items())


def _around(day: object) -> tuple[float, float]:
    """Return when a day of the calendar begins and ends, in whatever time zone."""
    try:
        start = datetime.fromisoformat(text(day)).replace(tzinfo=UTC)
        first, last = start - timedelta(hours=14), start + timedelta(days=1, hours=12)
    except (ValueError, OverflowError):
        raise sqlite3.DatabaseError from None
    return first.timestamp(), last.timestamp()


def is_damaged(db: sqlite3.Connection) -> bool:
    """Whether the file is broken, or a row holds what Veil never writes."""
    if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        return True
    if db.execute("PRAGMA foreign_key_check").fetchone():
        return True
    return any(db.execute(bad).fetchone() for bad in (*_BAD, *_GAPS))
