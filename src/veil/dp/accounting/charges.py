"""Charges of a budget, kept in memory or in one SQLite database.

The tables of a ledger, and its rows as they are written and read.

SQLite keeps whatever it is given, and a file can be changed by others than Veil: what is read is
checked, and anything that is never written is damage.

Charges in a file: one SQLite database that survives any end of the process.
Every use opens the file anew: a process that forks, or a file that is put back from a copy, needs
no care. What this process saw of a ledger it remembers: one that is gone, or that knows less than
it did, is refused, and never begun anew.
"""

import contextlib
import math
import os
import re
import secrets
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote

from veil.core.errors import LedgerError, ParameterError
from veil.core.formatting import number_of
from veil.core.guarantee import Guarantee
from veil.data.files import clear_stale, discard, open_part, settle_first
from veil.dp.accounting.cost import Cost

_LONGEST = 200  # letters of a note


@dataclass(frozen=True, slots=True)
class Event:
    """What was charged when, how many times, and the note of who charged it."""

    number: int
    at: datetime
    cost: Cost
    times: int = 1
    note: str = ""


def checked_note(note: object) -> str:
    """Return a note that is one short line."""
    if not isinstance(note, str) or len(note) > _LONGEST or not (note.isprintable() or not note):
        raise ParameterError(f"A note must be one line of at most {_LONGEST} letters.")
    return note


class Terms(NamedTuple):
    """What a budget was made for."""

    epsilon: float
    delta: float
    accountant: str


class Page(Protocol):
    """The charges as they stand, for one change that nobody else comes between."""

    @property
    def counts(self) -> Counter[Cost]:
        """How often each cost was charged."""

    def add(self, cost: Cost, times: int, note: str) -> None:
        """Charge a cost."""


class Book(Protocol):
    """Charges, in memory or in a file."""

    def counts(self) -> Counter[Cost]:
        """Return how often each cost was charged."""

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""

    def writing(self) -> AbstractContextManager[Page]:
        """Give a page for one change: all of it is kept afterwards, or nothing if it raises."""


class Memory:
    """A book that ends with its process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._counts: Counter[Cost] = Counter()
        self._events: list[Event] = []

    @property
    def _now(self) -> datetime:
        return datetime.now().astimezone()

    def counts(self) -> Counter[Cost]:
        """Return how often each cost was charged."""
        with self._lock:
            return self._counts.copy()

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""
        with self._lock:
            return tuple(self._events)

    @contextmanager
    def writing(self) -> Iterator["_MemoryPage"]:
        """Give a page; what was added to it counts when nothing was raised."""
        with self._lock:
            page = _MemoryPage(self._counts.copy())
            yield page
            for cost, times, note in page.added:
                self._counts[cost] += times
                number = len(self._events) + 1
                self._events.append(Event(number, self._now, cost, times, note))


class _MemoryPage:
    def __init__(self, counts: Counter[Cost]) -> None:
        self.counts = counts
        self.added: list[tuple[Cost, int, str]] = []

    def add(self, cost: Cost, times: int, note: str) -> None:
        self.added.append((cost, times, note))


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


_FORMER = re.compile(r"\.ledger-[a-z0-9_]{8}(-journal)?")
_FRESH = 60.0  # seconds
_WAIT = 60.0  # seconds for another process to finish its writing
_OTHERS = 0o077  # may be used in any way by the group or by all
_PRAGMAS = (
    "journal_mode=DELETE",
    "synchronous=EXTRA",  # FULL, and the folder is synced, too: a commit outlives a loss of power
    "fullfsync=ON",
    "temp_store=MEMORY",
    "trusted_schema=OFF",
)
_AGAIN = "put a copy of it back, or name another file, which will know nothing of what was spent."
_BROKEN = ("no such", "decode", "malformed")  # what SQLite says of files that are not as they were
_SEEN: dict[str, tuple[str, int]] = {}  # ledgers of this process: their name, and the last charge


def _empty_ledger(terms: Terms) -> bytes:
    """Return the bytes of a ledger without a charge, made in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        make_tables(db, terms, time.time())
        return db.serialize()


def _clear_former(folder: Path) -> None:
    """Remove ledgers that killed processes left unfinished until version 0.2.0.

    They were in use for an instant: those of the last minute stay.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _FORMER.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
                    fresh = time.time() - found.st_mtime <= _FRESH
                    if own and not fresh and stat.S_ISREG(found.st_mode):
                        Path(entry.path).unlink()


class File:
    """A book that all processes share which name its file."""

    def __init__(self, path: Path, terms: Terms, *, make: bool = True) -> None:
        self._path, self._terms = path, terms
        self._place = os.path.realpath(path)
        self._lock = threading.RLock()
        self._counts: Counter[Cost] = Counter()
        self._name, self._last = "", 0
        with self._explained():
            _clear_former(Path(self._place).parent)
            if make and not path.exists():
                self._make()
        with self._open("BEGIN IMMEDIATE") as db:  # a file that cannot be written is refused now
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise LedgerError(self._damaged)

    def counts(self) -> Counter[Cost]:
        """Return how often each cost was charged."""
        with self._open("BEGIN"):
            return self._counts.copy()

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""
        with self._open("BEGIN") as db:
            return tuple(read_events(db, 0))

    @contextmanager
    def writing(self) -> Iterator["_FilePage"]:
        """Give a page for one change: all of it is on the disk afterwards, or nothing."""
        with self._open("BEGIN IMMEDIATE") as db:
            page = _FilePage(db, self._counts.copy())
            yield page
            db.execute("COMMIT")
            self._see(page.last)
            self._require_private()  # and still there: what was charged elsewhere counts nowhere

    @contextmanager
    def _open(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Give a connection within a transaction that has read all charges."""
        with self._lock, self._explained():
            self._require_private()
            uri = f"file:{quote(self._place)}?mode=rw"
            with closing(
                sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)
            ) as db:
                for pragma in _PRAGMAS:
                    db.execute(f"PRAGMA {pragma}")
                db.execute(begin)
                try:
                    self._read(db)
                    yield db
                finally:
                    if db.in_transaction:
                        db.execute("ROLLBACK")

    def _read(self, db: sqlite3.Connection) -> None:
        """See that it is the ledger that it was, and count what others charged meanwhile."""
        form, name, terms = read_meta(db)
        if form != FORMAT:
            raise LedgerError(f"The ledger {self._path} is of another version of Veil; update.")
        if terms != self._terms:
            raise LedgerError(
                f"The ledger {self._path} was made for epsilon {number_of(terms.epsilon)}, delta"
                f" {terms.delta:g} and the accountant {terms.accountant}; open it with these, or"
                " name another file."
            )
        (last,) = db.execute("SELECT COALESCE(MAX(number), 0) FROM events").fetchone()
        seen, least = _SEEN.get(self._place, (name, 0))
        if seen != name or last < max(least, self._last) or self._name not in ("", name):
            raise LedgerError(
                f"The ledger {self._path} is not the one that this program used before, or has"
                f" lost charges since; {_AGAIN}"
            )
        for event in read_events(db, self._last):
            self._counts[event.cost] += event.times
            self._last = event.number
        self._name = name
        self._see(self._last)

    def _see(self, last: int) -> None:
        """Remember that charges up to a number were there."""
        _, least = _SEEN.get(self._place, ("", 0))
        _SEEN[self._place] = (self._name, max(least, last))

    def _make(self) -> None:
        """Make a ledger that appears whole, or not at all; another process may be faster."""
        if self._place in _SEEN:
            raise LedgerError(
                f"The ledger {self._path} is gone, and what was spent cannot be told; {_AGAIN}"
            )
        folder = Path(self._place).parent
        content = _empty_ledger(self._terms)
        clear_stale(folder)
        handle, part = open_part(folder)
        try:
            part.write_bytes(content)
            os.fsync(handle)
            settle_first(handle, part, Path(self._place))
            _sync(folder)
        finally:
            discard(handle, part)

    def _require_private(self) -> None:
        """Refuse what is no file of its owner alone, or cannot be written.

        The file is never opened for it: to close it again would drop the locks of SQLite.
        """
        try:
            state = Path(self._place).stat()
        except FileNotFoundError:
            raise LedgerError(
                f"The ledger {self._path} is gone, and what was spent cannot be told; {_AGAIN}"
            ) from None
        if not stat.S_ISREG(state.st_mode):
            raise LedgerError(f"The ledger {self._path} is no file; name another.")
        if not state.st_size:
            raise LedgerError(f"The ledger {self._path} is empty; {_AGAIN}")
        if os.name == "posix" and state.st_mode & _OTHERS:
            raise LedgerError(
                f"Others can use the ledger {self._path}; run: chmod go-rwx '{self._path}'."
            )
        if not state.st_mode & stat.S_IWUSR:
            raise LedgerError(
                f"The ledger {self._path} cannot be written; run: chmod u+w '{self._path}'."
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn faults of the file into one sentence; nothing is released without a ledger."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if any(words in str(error) for words in _BROKEN):
                raise LedgerError(self._damaged) from None
            held = "another program holds it" if "locked" in str(error) else ""
            reason = held or "it cannot be read or written, or the disk is full"
            raise LedgerError(f"The ledger {self._path} cannot be used: {reason}.") from None
        except sqlite3.Error:
            raise LedgerError(self._damaged) from None
        except OSError as error:
            raise LedgerError(
                f"The ledger {self._path} cannot be used ({error.strerror})."
            ) from None

    @property
    def _damaged(self) -> str:
        return (
            f"The ledger {self._path} is damaged, so that what was spent cannot be told; {_AGAIN}"
        )


class _FilePage:
    def __init__(self, db: sqlite3.Connection, counts: Counter[Cost]) -> None:
        self._db, self.counts, self.last = db, counts, 0

    def add(self, cost: Cost, times: int, note: str) -> None:
        event = Event(0, datetime.now().astimezone(), cost, times, note)
        self.last = write_event(self._db, event)


def _sync(folder: Path) -> None:
    """Have the name of a new file on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
