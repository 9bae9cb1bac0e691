"""Charges of a budget, in memory or in a SQLite database (the ledger).

SQLite stores any value, and other programs can change the file, so everything read is checked, and
values that Veil never writes count as damage.

A ledger survives any end of the process. Every use reopens the file, so a fork, or a file that was
restored from a copy, needs no special care. The process remembers the state of each ledger that it
used: one that has disappeared or lost charges is refused, never recreated.
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

_LONGEST = 200  # characters of a note


@dataclass(frozen=True, slots=True)
class Event:
    """One charge: its time, cost, multiplicity and note."""

    number: int
    at: datetime
    cost: Cost
    times: int = 1
    note: str = ""


def checked_note(note: object) -> str:
    """Return the note if it is one short line, else raise ParameterError."""
    if not isinstance(note, str) or len(note) > _LONGEST or not (note.isprintable() or not note):
        raise ParameterError(f"A note must be one line of at most {_LONGEST} characters.")
    return note


class Terms(NamedTuple):
    """Totals and accountant of a budget."""

    epsilon: float
    delta: float
    accountant: str


class Page(Protocol):
    """The charges during one exclusive change."""

    @property
    def counts(self) -> Counter[Cost]:
        """Number of charges of each cost."""

    def add(self, cost: Cost, times: int, note: str) -> None:
        """Charge a cost."""


class Book(Protocol):
    """Charges, in memory or in a file."""

    def counts(self) -> Counter[Cost]:
        """Return the number of charges of each cost."""

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""

    def writing(self) -> AbstractContextManager[Page]:
        """Yield a page for one change, which is stored entirely, or not at all if it raises."""


class Memory:
    """Charges in memory, which end with the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._counts: Counter[Cost] = Counter()
        self._events: list[Event] = []

    @property
    def _now(self) -> datetime:
        return datetime.now().astimezone()

    def counts(self) -> Counter[Cost]:
        """Return the number of charges of each cost."""
        with self._lock:
            return self._counts.copy()

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""
        with self._lock:
            return tuple(self._events)

    @contextmanager
    def writing(self) -> Iterator["_MemoryPage"]:
        """Yield a page whose additions are stored if nothing was raised."""
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
_LATEST = 2.5e11  # seconds since 1970: beyond the range of dates
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
    """Create the tables of a ledger, with a name that distinguishes it from later ones."""
    for statement in _TABLES:
        db.execute(statement)
    meta = {"format": FORMAT, "name": secrets.token_hex(16), "begun": now, **terms._asdict()}
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())


def read_meta(db: sqlite3.Connection) -> tuple[int, str, Terms]:
    """Return the format, name and terms of a ledger."""
    meta = dict(db.execute("SELECT name, value FROM meta"))
    terms = Terms(
        _amount(meta.get("epsilon")), _amount(meta.get("delta")), _text(meta.get("accountant"))
    )
    return _count(meta.get("format")), _text(meta.get("name")), terms


def write_event(db: sqlite3.Connection, event: Event) -> int:
    """Store a charge and return its number; infinity is stored as NULL."""
    guarantee, cost = event.cost.guarantee, event.cost
    cursor = db.execute(
        f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - fixed names
        (event.at.timestamp(), event.times, guarantee.kind, _null(guarantee.epsilon),
         guarantee.delta, _null(cost.rho), guarantee.unit, guarantee.neighbours,
         guarantee.caveat, cost.spec, cost.rate,
         event.note),
    )  # fmt: skip
    return int(cursor.lastrowid or 0)


def read_events(db: sqlite3.Connection, after: int) -> Iterator[Event]:
    """Yield the charges after a number; a gap in the numbers counts as damage."""
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
        guarantee = Guarantee(
            kind, _amount(epsilon, math.inf), unit=_text(unit), caveat=_text(caveat),
            delta=_share(delta), rho=own if kind == "zcdp" else math.inf,
            neighbours=_text(neighbours),
        )  # fmt: skip
        if math.isinf(guarantee.rho if kind == "zcdp" else guarantee.epsilon):
            raise sqlite3.DatabaseError
        cost = Cost(guarantee, _text(spec), _share(rate), own)
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
    if (number := _amount(value)) <= 1:
        return number
    raise sqlite3.DatabaseError


def _moment(value: object) -> datetime:
    if (seconds := _amount(value)) < _LATEST:
        return datetime.fromtimestamp(seconds).astimezone()
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
_WAIT = 60.0  # seconds to wait for a writing process
_OTHERS = 0o077  # any access by the group or others
_PRAGMAS = (
    "journal_mode=DELETE",
    "synchronous=EXTRA",  # FULL, plus a sync of the folder: commits survive a loss of power
    "fullfsync=ON",
    "temp_store=MEMORY",
    "trusted_schema=OFF",
)
_AGAIN = "Restore it from a copy, or choose another file, which knows nothing of earlier spending."
_BROKEN = ("no such", "decode", "malformed")  # parts of SQLite's messages about damaged files
_SEEN: dict[str, tuple[str, int]] = {}  # ledgers used by this process: name and last charge


def _empty_ledger(terms: Terms) -> bytes:
    """Return the bytes of a new ledger without charges."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        make_tables(db, terms, time.time())
        return db.serialize()


def _clear_former(folder: Path) -> None:
    """Remove temporary ledgers that killed processes left behind (until version 0.2.0).

    They were used only briefly, but those of the last minute stay.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _FORMER.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    state = entry.stat(follow_symlinks=False)
                    own = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
                    fresh = time.time() - state.st_mtime <= _FRESH
                    if own and not fresh and stat.S_ISREG(state.st_mode):
                        Path(entry.path).unlink()


class File:
    """Charges in a file that is shared by all processes that use it."""

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
        with self._open("BEGIN IMMEDIATE") as db:  # raises now if the file cannot be written
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise LedgerError(self._damaged)

    def counts(self) -> Counter[Cost]:
        """Return the number of charges of each cost."""
        with self._open("BEGIN"):
            return self._counts.copy()

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""
        with self._open("BEGIN") as db:
            return tuple(read_events(db, 0))

    @contextmanager
    def writing(self) -> Iterator["_FilePage"]:
        """Yield a page for one change, which is then on disk entirely, or not at all."""
        with self._open("BEGIN IMMEDIATE") as db:
            page = _FilePage(db, self._counts.copy())
            yield page
            db.execute("COMMIT")
            self._see(page.last)
            self._require_private()  # still in place: charges to a moved file would be lost

    @contextmanager
    def _open(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction, after reading all charges."""
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
        """Check that the ledger is the same as before, and count charges by other processes."""
        form, name, terms = read_meta(db)
        if form != FORMAT:
            raise LedgerError(
                f"The ledger {self._path} was written by another version of Veil. Update Veil."
            )
        if terms != self._terms:
            raise LedgerError(
                f"The ledger {self._path} was created for epsilon {number_of(terms.epsilon)},"
                f" delta {terms.delta:g} and the accountant {terms.accountant}. Use these, or"
                " choose another file."
            )
        (last,) = db.execute("SELECT COALESCE(MAX(number), 0) FROM events").fetchone()
        previous, least = _SEEN.get(self._place, (name, 0))
        if previous != name or last < max(least, self._last) or self._name not in ("", name):
            raise LedgerError(
                f"The ledger {self._path} is not the one that this program used before, or has"
                f" lost charges since. {_AGAIN}"
            )
        for event in read_events(db, self._last):
            self._counts[event.cost] += event.times
            self._last = event.number
        self._name = name
        self._see(self._last)

    def _see(self, last: int) -> None:
        """Remember that the ledger had charges up to this number."""
        _, least = _SEEN.get(self._place, ("", 0))
        _SEEN[self._place] = (self._name, max(least, last))

    def _make(self) -> None:
        """Create the ledger atomically, unless another process was faster."""
        if self._place in _SEEN:
            raise LedgerError(
                f"The ledger {self._path} is missing, so the budget spent so far is unknown."
                f" {_AGAIN}"
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
        """Raise LedgerError unless the file is writable and private to its owner.

        The file is not opened for this check: closing it would release the locks of SQLite.
        """
        try:
            state = Path(self._place).stat()
        except FileNotFoundError:
            raise LedgerError(
                f"The ledger {self._path} is missing, so the budget spent so far is unknown."
                f" {_AGAIN}"
            ) from None
        if not stat.S_ISREG(state.st_mode):
            raise LedgerError(f"The ledger {self._path} is not a file. Choose another path.")
        if not state.st_size:
            raise LedgerError(f"The ledger {self._path} is empty. {_AGAIN}")
        if os.name == "posix" and state.st_mode & _OTHERS:
            raise LedgerError(
                f"Other users can access the ledger {self._path}. Run: chmod go-rwx"
                f" '{self._path}'."
            )
        if not state.st_mode & stat.S_IWUSR:
            raise LedgerError(
                f"The ledger {self._path} is not writable. Run: chmod u+w '{self._path}'."
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise file errors as LedgerError; nothing is released without a ledger."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if any(words in str(error) for words in _BROKEN):
                raise LedgerError(self._damaged) from None
            busy = "another program has locked it" if "locked" in str(error) else ""
            reason = busy or "it cannot be read or written, or the disk is full"
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
            f"The ledger {self._path} is damaged, so the budget spent so far is unknown. {_AGAIN}"
        )


class _FilePage:
    def __init__(self, db: sqlite3.Connection, counts: Counter[Cost]) -> None:
        self._db, self.counts, self.last = db, counts, 0

    def add(self, cost: Cost, times: int, note: str) -> None:
        event = Event(0, datetime.now().astimezone(), cost, times, note)
        self.last = write_event(self._db, event)


def _sync(folder: Path) -> None:
    """Sync the folder, so that the name of a new file is on disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
