"""Charges in a file: one SQLite database that survives any end of the process.

Every use opens the file anew: a process that forks, or a file that is put back from a copy, needs
no care. What this process saw of a ledger it remembers: one that is gone, or that knows less than
it did, is refused, and never begun anew.
"""

import contextlib
import os
import sqlite3
import stat
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from veil.core.errors import LedgerError
from veil.core.formatting import number_of
from veil.dp.accounting._book import Terms
from veil.dp.accounting._rows import FORMAT, make_tables, read_events, read_meta, write_event
from veil.dp.accounting.cost import Cost
from veil.dp.accounting.event import Event

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


class File:
    """A book that all processes share which name its file."""

    def __init__(self, path: Path, terms: Terms, *, make: bool = True) -> None:
        self._path, self._terms = path, terms
        self._place = os.path.realpath(path)
        self._lock = threading.RLock()
        self._counts: Counter[Cost] = Counter()
        self._name, self._last = "", 0
        with self._explained():
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
    def writing(self) -> Iterator["_Page"]:
        """Give a page for one change: all of it is on the disk afterwards, or nothing."""
        with self._open("BEGIN IMMEDIATE") as db:
            page = _Page(db, self._counts.copy())
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
        handle, part = tempfile.mkstemp(prefix=".ledger-", dir=folder)  # for its owner alone
        os.close(handle)
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as db:
                for pragma in _PRAGMAS:
                    db.execute(f"PRAGMA {pragma}")
                db.execute("BEGIN IMMEDIATE")
                make_tables(db, self._terms, time.time())
                db.execute("COMMIT")
            with contextlib.suppress(FileExistsError):
                os.link(part, self._place)
            _sync(folder)
        finally:
            Path(part).unlink()

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


class _Page:
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
