"""The file of the ledger: one SQLite database that survives any end of the process."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from veil.core.errors import LedgerError
from veil.proxy.folder import private_folder, require_private
from veil.proxy.ledger._tables import FORMAT, is_damaged, make_tables, upgrade, was_used
from veil.proxy.ledger._values import hashed, moment, seconds
from veil.proxy.ledger.key import Key, Place, find_key, has_key, make_key

try:
    import fcntl
except ImportError:  # there are no such locks on this system
    fcntl = None  # type: ignore[assignment]

FILE = "ledger.sqlite"
LOCK = "ledger.lock"
_WAIT = 30.0  # seconds for another process to finish its writing
_MADE = b"A ledger was made here. To begin anew: veil ledger forget --all\n"
_ANEW = "or start anew, with nothing known of what was released before: veil ledger forget --all."
_BROKEN = ("no such", "decode", "malformed")  # what SQLite says of files that are not as they were


class Database:
    """One connection for all threads of a process; other processes may use the file, too.

    Every change is one transaction with a rollback journal and ``synchronous=FULL``: what was
    recorded is on the disk before anything is sent, and a process that is killed in the middle
    leaves nothing half written. What is deleted is overwritten in the file. `begun` is when the
    ledger was made: of what was released before it knows nothing.
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
        """Make the tables, then the key, or see that they are ones that can be used.

        A process that is killed between the two leaves tables without a key and without any
        entry; whoever comes next makes the key.
        """
        with self.writing() as db:
            if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                self._require_first()
                make_tables(db, time.time())
        with self.writing() as db:
            meta = dict(db.execute("SELECT name, value FROM meta"))
            if meta.get("format") == FORMAT and "sign" not in meta and not was_used(db):
                key = make_key(self.folder)
                made = {"key": key.place, "sign": key.sign}
                db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", made.items())
                self.begun = moment(meta.get("begun"))
            else:
                key = self._check(db, meta)
        if not os.fstat(self._used).st_size:
            os.pwrite(self._used, _MADE, 0)
        return key

    def _require_first(self) -> None:
        """Refuse to take an empty file for a new ledger where there was one before."""
        if has_key(self.folder) or os.fstat(self._used).st_size:
            raise LedgerError(
                f"The ledger {self.file} is gone or empty, but there was one, so that what was"
                f" released and spent cannot be told; put a copy of it back, {_ANEW}"
            )

    def _check(self, db: sqlite3.Connection, meta: dict[str, Any]) -> Key:
        """Bring the tables up to date, and see that they are whole and fit the key."""
        if meta.get("format") in (1, 2):
            upgrade(db, meta["format"], time.time())
            meta = dict(db.execute("SELECT name, value FROM meta"))
        elif "format" not in meta:
            raise sqlite3.DatabaseError
        elif meta["format"] != FORMAT:
            raise LedgerError(
                f"The ledger {self.file} is of another version of Veil; update, {_ANEW}"
            )
        place: Place = "keyring" if meta.get("key") == "keyring" else "file"
        sign = hashed(meta.get("sign"))
        self.begun = moment(meta.get("begun"))
        seconds(meta.get("clock"))
        if meta.get("key") != place or is_damaged(db):
            raise sqlite3.DatabaseError
        key = find_key(self.folder, place)
        if not key.fits(sign):
            raise LedgerError(
                f"The key found for {self.file} is not the one that it was made with; bring that"
                f" back, {_ANEW}"
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
            if any(words in str(error) for words in _BROKEN):
                raise LedgerError(self._damaged) from None
            reason = (
                "another program holds it"
                if "locked" in str(error)
                else "it cannot be read or written, or it is full"
            )
            raise LedgerError(f"The ledger {self.file} cannot be used: {reason}.") from None
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise  # a fault of the program, not of the file
            raise LedgerError(self._damaged) from None
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.file} cannot be used ({error.strerror})."
            ) from None

    @property
    def _damaged(self) -> str:
        return (
            f"The ledger {self.file} is damaged, so that what was released and spent cannot be"
            f" told; put a copy of it back, {_ANEW}"
        )


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
