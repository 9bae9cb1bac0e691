"""The store of a study: one SQLite file, which survives a crash or kill of the process."""

import io
import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.outcome import Outcome

FILE = "study.sqlite"
FORMAT = 1  # version of the tables
_RANKS = ("ranks", "candidates", "subjects", "prior", "left", "ties", "prior_ties", "unanswered")
_WAIT = 60.0  # seconds to wait for another process that is writing
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS steps (
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, spec TEXT NOT NULL, made TEXT NOT NULL,
  seconds REAL NOT NULL, data TEXT NOT NULL, arrays BLOB NOT NULL
);
"""


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a step: arrays with numbers per subject, and JSON values."""

    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(cls, outcome: Outcome) -> "Result":
        """Return the ranks of an attack, which determine its other figures."""
        arrays = {name: getattr(outcome, name) for name in _RANKS}
        present = {name: array for name, array in arrays.items() if array is not None}
        return cls(present, {"unit": outcome.unit})

    def outcome(self) -> Outcome:
        """Return the stored outcome of an attack."""
        arrays: dict[str, Any] = dict(self.arrays)
        if "texts" in arrays:  # the name in older stores
            arrays["subjects"] = arrays.pop("texts")
        return Outcome(**arrays, unit=self.data["unit"])


class Store:
    """Results of steps, by the digest of their inputs.

    Every result is one transaction with a rollback journal and ``synchronous=FULL``: once `put`
    returns it is on the disk, and a process that is killed leaves nothing half written. Steps take
    seconds, so the milliseconds of a full sync do not matter; unlike a write-ahead log, a journal
    leaves a single file. Several processes may use one store.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE
        with self._explained():
            _make_private(folder, self.file)
            # We begin transactions ourselves: those of the module do not cover CREATE TABLE.
            self._db = sqlite3.connect(self.file, timeout=_WAIT, isolation_level=None)
            try:
                self._db.execute("PRAGMA journal_mode=DELETE")
                self._db.execute("PRAGMA synchronous=FULL")
                self._open()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._db.close()

    def _open(self) -> None:
        """Create the tables, or check that their format is readable."""
        from veil.core.version import __version__

        with self._writing():
            for statement in filter(str.strip, _TABLES.split(";")):
                self._db.execute(statement)
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            if not meta:
                rows = [("format", str(FORMAT)), ("written by", f"veil {__version__}")]
                self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        written = meta.get("format", str(FORMAT))
        if not written.isdecimal() or int(written) > FORMAT:
            raise InputError(
                f"{self.file} was written by a newer version ({meta.get('written by', '?')[:40]})"
                " than this one. Update Veil or choose another folder."
            )

    def put(self, key: str, kind: str, spec: str, result: Result) -> None:
        """Store the result of a step; it is on the disk when this returns."""
        row = (key, kind, spec, datetime.now(UTC).isoformat(timespec="seconds"), result.seconds)
        data = json.dumps(result.data)
        with self._explained(), self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, data, _packed(result.arrays)),
            )

    def get(self, key: str) -> Result | None:
        """Return the result of a step, or None if it is missing or damaged."""
        with self._explained():
            row = self._db.execute(
                "SELECT data, arrays, seconds FROM steps WHERE key = ?", (key,)
            ).fetchone()
        try:
            return None if row is None else _unpacked(*row)
        except (ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile):
            return None

    def keys(self) -> set[str]:
        """Return the keys of all stored steps."""
        with self._explained():
            return {key for (key,) in self._db.execute("SELECT key FROM steps")}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write everything inside or nothing; other processes wait."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has already rolled it back
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise errors of SQLite and the disk as an InputError."""
        try:
            yield
        except OSError as error:
            raise InputError(f"Cannot write {self.file} ({error.strerror}).") from None
        except sqlite3.DatabaseError as error:
            if _passing(error):
                raise InputError(
                    f"Cannot read or write {self.file} ({error}). Its contents are kept. Free some"
                    " space or close other programs that use it, and start again."
                ) from None
            raise InputError(
                f"{self.file} is damaged or is not the store of a study. Move it away and start"
                " again."
            ) from None


def _passing(error: sqlite3.DatabaseError) -> bool:
    """Return whether the cause is outside the file: a full disk, a lock, a missing permission."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
    )


def _packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays as the bytes of an .npz file without pickles."""
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w") as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return blob.getvalue()


def _unpacked(data: str, arrays: bytes, seconds: float) -> Result:
    with np.load(io.BytesIO(arrays), allow_pickle=False) as archive:
        return Result({name: archive[name] for name in archive}, json.loads(data), seconds)


def _make_private(folder: Path, file: Path) -> None:
    """Create the folder and the file, if missing, accessible only to the owner."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
