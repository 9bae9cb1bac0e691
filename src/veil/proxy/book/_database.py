"""The file of the ledger: one SQLite database that survives any end of the process."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veil.core.errors import LedgerError
from veil.proxy.book.key import Key, Place, find_key, make_key
from veil.proxy.folder import private_folder, require_private

try:
    import fcntl
except ImportError:  # there are no such locks on this system
    fcntl = None  # type: ignore[assignment]

FILE = "ledger.sqlite"
LOCK = "ledger.lock"
FORMAT = 1  # of the tables; a change of layout needs a new number
_WAIT = 30.0  # seconds for another process to finish its writing
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE releases (
  number INTEGER PRIMARY KEY AUTOINCREMENT, query BLOB NOT NULL, setting TEXT NOT NULL,
  made REAL NOT NULL, last REAL NOT NULL, asked INTEGER NOT NULL, words INTEGER NOT NULL,
  shared INTEGER NOT NULL, spent REAL NOT NULL, cost REAL NOT NULL, chosen INTEGER NOT NULL,
  form TEXT NOT NULL,
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
CREATE TABLE days (day TEXT PRIMARY KEY, spent REAL NOT NULL, unproved INTEGER NOT NULL);
CREATE TABLE choices (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Database:
    """One connection for all threads of a process; other processes may use the file, too.

    Every change is one transaction with a rollback journal and ``synchronous=FULL``: what was
    recorded is on the disk before anything is sent, and a process that is killed in the middle
    leaves nothing half written. What is deleted is overwritten in the file.
    """

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
        """Make the tables and the key, or see that they are ones that can be used."""
        with self.writing() as db:
            if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                key = make_key(self.folder)
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                made = {"format": FORMAT, "key": key.place, "sign": key.sign}
                db.executemany("INSERT INTO meta VALUES (?, ?)", made.items())
                return key
            damaged = db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok"
            meta = dict(db.execute("SELECT name, value FROM meta"))
        if damaged or not {"format", "key", "sign"} <= meta.keys():
            raise sqlite3.DatabaseError
        if meta["format"] != FORMAT:
            raise LedgerError(
                f"The ledger {self.file} is of another version of Veil; update, or start anew"
                " with: veil ledger forget --all."
            )
        place: Place = "keyring" if meta["key"] == "keyring" else "file"
        key = find_key(self.folder, place)
        if not key.fits(bytes(meta["sign"])):
            raise LedgerError(
                f"The key found for {self.file} is not the one that it was made with; bring that"
                " back, or start anew with: veil ledger forget --all."
            )
        return key

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to read several things of one state."""
        with self._lock, self._explained():
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for one change: all of it is on the disk afterwards, or nothing."""
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
        """Give back the room of what was deleted."""
        with self._lock, self._explained():
            self._db.execute("VACUUM")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn faults of the file into one sentence; nothing is sent without a ledger."""
        try:
            yield
        except sqlite3.OperationalError as error:
            busy = "locked" in str(error)
            reason = (
                "another program holds it"
                if busy
                else "it cannot be read or written, or it is full"
            )
            raise LedgerError(f"The ledger {self.file} cannot be used: {reason}.") from None
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise  # a fault of the program, not of the file
            raise LedgerError(
                f"The ledger {self.file} is damaged, so that what was released cannot be told; put"
                " a copy of it back, or start anew with: veil ledger forget --all."
            ) from None
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.file} cannot be used ({error.strerror})."
            ) from None


def in_use(folder: Path, *, alone: bool = False) -> int:
    """Return a handle that says, as long as it is open, that somebody uses the ledger.

    `alone` is refused while others do.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise LedgerError(
            "Another program uses the ledger; end 'veil serve' first, then try again."
        ) from None
    return handle


def _make_private(file: Path) -> None:
    """Make the file owner-only before a byte is in it; SQLite gives its journal the same."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        require_private(file, os.fstat(handle).st_mode)
    finally:
        os.close(handle)
