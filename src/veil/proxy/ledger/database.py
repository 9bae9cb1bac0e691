"""The ledger's file: an SQLite database that survives a killed process.

SQLite stores values of any type, and other programs can change the file. Values are checked when
they are read; a value of the wrong type is damage.
"""

import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from veil.core.errors import LedgerError
from veil.corpus.tokens import Case
from veil.proxy.folder import private_folder, require_private
from veil.proxy.ledger.key import Key, Place, find_key, has_key, make_key

try:
    import fcntl
except ImportError:  # not available on this system
    fcntl = None  # type: ignore[assignment]


LATEST = 2.5e11  # seconds since 1970; later times have no date
_LAYOUT = re.compile(r"(?:[^%]|%%|%s)*", re.DOTALL)
_HASH = 16  # bytes


def read_amount(value: object) -> float:
    """Return a sum >= 0, possibly infinite; reject nan."""
    if isinstance(value, int | float) and value >= 0:
        return float(value)
    raise sqlite3.DatabaseError


def read_seconds(value: object) -> float:
    """Return a time in seconds since 1970; reject anything else."""
    if (seconds := read_amount(value)) < LATEST:
        return seconds
    raise sqlite3.DatabaseError


def read_moment(value: object) -> datetime:
    """Return a time in the user's time zone."""
    return datetime.fromtimestamp(read_seconds(value)).astimezone()


def read_count(value: object) -> int:
    """Return an integer >= 0."""
    if isinstance(value, int) and value >= 0:
        return value
    raise sqlite3.DatabaseError


def read_text(value: object) -> str:
    """Return a string."""
    if isinstance(value, str):
        return value
    raise sqlite3.DatabaseError


def read_hash(value: object) -> bytes:
    """Return a hash of 16 bytes."""
    if isinstance(value, bytes) and len(value) == _HASH:
        return value
    raise sqlite3.DatabaseError


def read_form(value: object) -> str:
    """Return the layout and the capitals of a text, see `Draft.form`; "" if there is none."""
    form = read_text(value)
    try:
        layout, cases = json.loads(form or '["", []]')
        words = len([Case(case) for case in cases])
        fits = _LAYOUT.fullmatch(layout) and layout.replace("%%", "").count("%s") == words
    except (ValueError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise sqlite3.DatabaseError
    return form


FORMAT = 3  # version of the tables; increase it when they change
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


_GOOD = {  # conditions that every row meets
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
_GAPS = (  # variants and samples are numbered from 0, without a gap
    "SELECT 1 FROM variants GROUP BY release HAVING MAX(place) <> COUNT(*) - 1",
    "SELECT 1 FROM draws GROUP BY release, word HAVING MAX(place) <> COUNT(*) - 1",
)


def make_tables(db: sqlite3.Connection, now: float) -> None:
    """Create the tables of a new ledger, without a key."""
    for statement in _TABLES.split(";"):
        db.execute(statement)
    meta = {"format": FORMAT, "begun": now, "clock": now}
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())


def was_used(db: sqlite3.Connection) -> bool:
    """Return whether anything was ever written to the tables."""
    tables = ("sqlite_sequence", "releases", "spendings", "choices")
    return any(db.execute(f"SELECT 1 FROM {table}").fetchone() for table in tables)  # noqa: S608 - fixed names


def upgrade(db: sqlite3.Connection, format: int, now: float) -> None:  # noqa: A002 - as in meta
    """Upgrade the tables of an older format."""
    if format == 1:
        _from_days(db, now)
    else:  # format 2 had no bits
        db.execute("ALTER TABLE spendings ADD COLUMN bits REAL NOT NULL DEFAULT 0.0")
    db.execute("ALTER TABLE releases ADD COLUMN bits REAL NOT NULL DEFAULT 0.0")
    db.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", (FORMAT,))


def _from_days(db: sqlite3.Connection, now: float) -> None:
    """Upgrade the tables of format 1, which had sums per calendar day.

    Spending is dated as late as possible: at the end of that day in the last time zone, or now
    if that is earlier. A day entirely in the future keeps its date.
    """
    spendings = []
    for day, spent, unproved in db.execute("SELECT day, spent, unproved FROM days").fetchall():
        start, end = _around(day)
        at = end if start > now else min(end, now)
        spendings.append((at, read_amount(spent), read_count(unproved)))
    db.execute(_SPENDINGS)
    db.executemany("INSERT INTO spendings (at, spent, unproved) VALUES (?, ?, ?)", spendings)
    db.execute("DROP TABLE days")
    # In these releases, the decoy of an out-of-vocabulary word depends only on the word.
    db.execute("ALTER TABLE releases ADD COLUMN tied INTEGER NOT NULL DEFAULT 0")
    (first,) = db.execute("SELECT MIN(made) FROM releases").fetchone()
    latest = max([now, *(at for at, _, _ in spendings)])
    changed = {"begun": now if first is None else first, "clock": latest}
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", changed.items())


def _around(day: object) -> tuple[float, float]:
    """Return the earliest start and the latest end of a calendar day in any time zone."""
    try:
        start = datetime.fromisoformat(read_text(day)).replace(tzinfo=UTC)
        first, last = start - timedelta(hours=14), start + timedelta(days=1, hours=12)
    except (ValueError, OverflowError):
        raise sqlite3.DatabaseError from None
    return first.timestamp(), last.timestamp()


def is_damaged(db: sqlite3.Connection) -> bool:
    """Return whether the file is corrupt, or a row holds values Veil never writes."""
    if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        return True
    if db.execute("PRAGMA foreign_key_check").fetchone():
        return True
    return any(db.execute(bad).fetchone() for bad in (*_BAD, *_GAPS))


FILE = "ledger.sqlite"
LOCK = "ledger.lock"
_WAIT = 30.0  # seconds to wait for the lock of another process
_MADE = b"A ledger was made here. To begin anew: veil ledger forget --all\n"
_ANEW = "or start over without any record of earlier releases: veil ledger forget --all."
_BROKEN = ("no such", "decode", "malformed")  # SQLite's messages about corrupt files


class Database:
    """One connection for all threads of a process; other processes may use the file, too.

    Every change is a transaction with a rollback journal and ``synchronous=FULL``: releases are
    on disk before anything is sent, and a killed process leaves no partial change. Deleted
    data is overwritten in the file. `begun` is when the ledger was created; it knows nothing of
    earlier releases.
    """

    begun: datetime

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)
        self.file = folder / FILE
        self._lock = threading.RLock()
        with self._explained():
            _make_private(self.file)
            self._used = in_use(self.folder)
            self._db = sqlite3.connect(
                self.file, timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
            try:
                for pragma in (
                    "journal_mode=DELETE",
                    "synchronous=FULL",
                    "foreign_keys=ON",
                    "secure_delete=ON",
                    "temp_store=MEMORY",
                    "trusted_schema=OFF",
                ):
                    self._db.execute(f"PRAGMA {pragma}")
                self.key = self._open()
            except BaseException:
                self._db.close()
                os.close(self._used)
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()
            os.close(self._used)

    def _open(self) -> Key:
        """Create the tables and then the key, or check the existing ones.

        A process killed in between leaves tables without a key or entries; the next process
        creates the key.
        """
        with self.writing() as db:
            if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                self._require_first()
                make_tables(db, time.time())
        with self.writing() as db:
            meta = dict(db.execute("SELECT name, value FROM meta"))
            if meta.get("format") == FORMAT and "sign" not in meta and not was_used(db):
                key = make_key(self.folder)
                rows = {"key": key.place, "sign": key.sign}
                db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows.items())
                self.begun = read_moment(meta.get("begun"))
            else:
                key = self._check(db, meta)
        if not os.fstat(self._used).st_size:
            os.pwrite(self._used, _MADE, 0)
        return key

    def _require_first(self) -> None:
        """Reject an empty file if there was a ledger before."""
        if has_key(self.folder) or os.fstat(self._used).st_size:
            raise LedgerError(
                f"The ledger {self.file} is missing or empty although there was one, so past"
                f" releases and spending are unknown. Restore a copy, {_ANEW}"
            )

    def _check(self, db: sqlite3.Connection, meta: dict[str, Any]) -> Key:
        """Upgrade the tables and check that they are intact and match the key; return the key."""
        if meta.get("format") in (1, 2):
            upgrade(db, meta["format"], time.time())
            meta = dict(db.execute("SELECT name, value FROM meta"))
        elif "format" not in meta:
            raise sqlite3.DatabaseError
        elif meta["format"] != FORMAT:
            raise LedgerError(
                f"The ledger {self.file} was written by another version of Veil. Update Veil,"
                f" {_ANEW}"
            )
        place: Place = "keyring" if meta.get("key") == "keyring" else "file"
        sign = read_hash(meta.get("sign"))
        self.begun = read_moment(meta.get("begun"))
        read_seconds(meta.get("clock"))
        if meta.get("key") != place or is_damaged(db):
            raise sqlite3.DatabaseError
        key = find_key(self.folder, place)
        if not key.fits(sign):
            raise LedgerError(
                f"The key of {self.file} must be its original key. Got another key instead."
                f" Restore the original key, {_ANEW}"
            )
        return key

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for several reads of the same state."""
        with self._lock, self._explained():
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for a change that is written to disk completely or not at all."""
        with self._lock, self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def shrink(self) -> None:
        """Return the space of deleted rows to the file system."""
        with self._lock, self._explained():
            self._db.execute("VACUUM")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn database errors into one-sentence errors; nothing is sent without a ledger."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if any(words in str(error) for words in _BROKEN):
                raise LedgerError(self._damaged) from None
            reason = (
                "another program has locked it"
                if "locked" in str(error)
                else "it cannot be read or written, or the disk is full"
            )
            raise LedgerError(f"The ledger {self.file} cannot be used: {reason}.") from None
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise  # a bug, not a damaged file
            raise LedgerError(self._damaged) from None
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.file} cannot be used ({error.strerror})."
            ) from None

    @property
    def _damaged(self) -> str:
        return (
            f"The ledger {self.file} is damaged, so past releases and spending are unknown."
            f" Restore a copy, {_ANEW}"
        )


def in_use(folder: Path, *, alone: bool = False) -> int:
    """Return a file handle whose shared lock marks the ledger as in use until it is closed.

    With `alone`, the lock is exclusive and fails while others use the ledger.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise LedgerError(
            "Another program uses the ledger. Stop 'veil serve', then try again."
        ) from None
    return handle


def _make_private(file: Path) -> None:
    """Create the file readable by its owner only; SQLite gives its journal the same mode."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        require_private(file, os.fstat(handle).st_mode)
    finally:
        os.close(handle)
