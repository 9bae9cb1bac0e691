"""SQLite: a database file read by this process.

SQLite has no reliable types, and few functions that work as in other engines. Text goes through
Python functions, as bytes, because text in a file need not be valid Unicode.
"""

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from veil.core.errors import InputError
from veil.dp.sql.engine import (
    ANY,
    SECONDS,
    Column,
    Dialect,
    FoundTable,
    Kind,
    Statement,
    canonical,
    quote_name,
    select,
)

_HALF = 2**26  # sums have two parts, because SQLite fails on 64-bit overflow
_COMPUTED = 2  # value of `hidden` for computed columns, which can fail on a row
_STEPS = 10_000  # of the virtual machine between checks of the time limit
_DIGITS = re.compile(rb"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
# The first of these words in the declared type of a column determines its kind.
_TYPES: tuple[tuple[str, Kind, str], ...] = (
    ("BOOL", "number", "whole"),
    ("INT", "number", "whole"),
    ("CHAR", "text", "text"),
    ("CLOB", "text", "text"),
    ("TEXT", "text", "text"),
    ("DATE", "time", "time"),
    ("TIME", "time", "time"),
    ("REAL", "number", "real"),
    ("FLOA", "number", "real"),
    ("DOUB", "number", "real"),
    ("NUM", "number", "real"),
    ("DEC", "number", "real"),
)
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_TRANSACTION)
_FUNCTIONS = frozenset(
    "abs coalesce count dense_rank hex json_each min nullif row_number substr sum typeof"
    " veil_digest veil_length veil_like veil_lower veil_parsed veil_text veil_time"
    " veil_upper".split()
)


class SQLiteSpeech:
    """The SQL dialect of SQLite."""

    fast: bool = False

    def mark(self, number: int, kind: str) -> str:
        """Return the mark of a bound value; its type is that of the Python value."""
        del kind
        return f"?{number}"

    def read(self, column: Column, sql: str) -> str:
        """Read a column as a value of its kind; values of other types are NULL."""
        if column.kind == "number":
            number = f"CASE typeof({sql}) WHEN 'integer' THEN {sql} WHEN 'real' THEN {sql} END"
            return f"({number})" if column.whole else f"CAST(({number}) AS REAL)"
        text = f"CASE typeof({sql}) WHEN 'text' THEN {sql} END"
        return f"({text})" if column.kind == "text" else f"veil_time(CAST(({text}) AS BLOB))"

    def key(self, column: Column, sql: str) -> str:
        """Read a column to group by; text is converted to Unicode first."""
        read = self.read(column, sql)
        return f"veil_text(CAST({read} AS BLOB))" if column.kind == "text" else read

    def unit(self, column: Column, sql: str) -> str:
        """Use values unchanged, regardless of the collation of the column."""
        del column
        return f"{sql} COLLATE BINARY"

    def double(self, sql: str) -> str:
        """Convert an integer to a double."""
        return f"CAST({sql} AS REAL)"

    def whole(self, sql: str) -> str:
        """Truncate a double to an integer."""
        return f"CAST({sql} AS INTEGER)"

    def lower(self, sql: str) -> str:
        """Convert A to Z to lower case."""
        return f"veil_lower(CAST({sql} AS BLOB))"

    def upper(self, sql: str) -> str:
        """Convert a to z to upper case."""
        return f"veil_upper(CAST({sql} AS BLOB))"

    def length(self, sql: str) -> str:
        """Count characters; the built-in function stops at NUL."""
        return f"veil_length(CAST({sql} AS BLOB))"

    def like(self, sql: str, pattern: str) -> str:
        """Match text against a pattern; the built-in operator ignores case."""
        return f"veil_like(CAST({sql} AS BLOB), {pattern})"

    def parsed(self, sql: str) -> str:
        """Convert text to a double, else NULL."""
        return f"veil_parsed(CAST({sql} AS BLOB))"

    def member(self, sql: str, mark: str) -> str:
        """Test whether a value is in a list bound as JSON."""
        return f"({sql} IN ({select(['value'], f'json_each({mark})')}))"

    def listed(self, values: Sequence[object]) -> object:
        """Return a list as JSON."""
        return json.dumps(list(values))

    def digest(self, seed: str, parts: Sequence[str]) -> str:
        """Hash values with BLAKE2b."""
        return f"veil_digest({', '.join([seed, *(f'hex({part})' for part in parts)])})"

    def least(self, a: str, b: str) -> str:
        """Return the smaller of two numbers."""
        return f"min({a}, {b})"

    def total(self, sql: str) -> Sequence[tuple[str, int]]:
        """Sum the upper and the lower half of the bits separately."""
        return [(f"SUM({sql} / {_HALF})", _HALF), (f"SUM({sql} % {_HALF})", 1)]


def _text(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", "replace")


def _lower(text: bytes | None) -> str | None:
    return None if text is None else text.lower().decode("utf-8", "replace")  # of bytes: ASCII


def _upper(text: bytes | None) -> str | None:
    return None if text is None else text.upper().decode("utf-8", "replace")


def _length(text: bytes | None) -> float | None:
    return None if text is None else float(len(text.decode("utf-8", "replace")))


def _parsed(text: bytes | None) -> float | None:
    return float(text) if text is not None and _DIGITS.fullmatch(text) else None


def _time(text: bytes | None) -> str | None:
    return None if text is None else canonical(text.decode("utf-8", "replace"))


def _digest(seed: int, *parts: str) -> int:
    """Return the hash of hexadecimal values joined by colons."""
    hashed = hashlib.blake2b(":".join(parts).encode(), digest_size=8, key=b"%d" % seed)
    return int.from_bytes(hashed.digest(), "big", signed=True)


def _like(text: bytes | None, pattern: str) -> bool | None:
    """Match text against a pattern, piece by piece from the left, without backtracking."""
    if text is None:
        return None
    rest = text.decode("utf-8", "replace")
    first, middle, last = _pieces(pattern)
    begun = first.match(rest)
    if begun is None:
        return False
    if last is None:
        return begun.end() == len(rest)
    at = begun.end()
    for piece in middle:
        match = piece.search(rest, at)
        if match is None:
            return False
        at = match.end()
    start = len(rest) - last[1]
    return start >= at and last[0].match(rest, start) is not None


@lru_cache(maxsize=256)
def _pieces(
    pattern: str,
) -> tuple[re.Pattern[str], list[re.Pattern[str]], tuple[re.Pattern[str], int] | None]:
    """Split a pattern at %; the last piece has its length, and is None without %."""
    texts = pattern.split("%")
    first, *others = [
        re.compile("".join("." if x == "_" else re.escape(x) for x in text), re.DOTALL)
        for text in texts
    ]
    return (first, others[:-1], (others[-1], len(texts[-1]))) if others else (first, [], None)


class SQLite:
    """A SQLite file, opened read-only."""

    speech: Dialect = SQLiteSpeech()

    def __init__(self, path: str) -> None:
        path = str(Path(path).expanduser())
        if not Path(path).is_file():
            raise InputError(f"SQLite file {path} does not exist. Check the database URL.")
        address = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
        self._lock = Lock()
        self._until = float("inf")
        try:
            self._connection = sqlite3.connect(
                address, uri=True, check_same_thread=False, isolation_level=None
            )
            self._harden()
            self._connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchall()
        except sqlite3.Error:
            raise InputError(f"Cannot open {path} as a SQLite file.") from None

    def _harden(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.create_function("veil_digest", -1, _digest, deterministic=True)
        connection.create_function("veil_like", 2, _like, deterministic=True)
        for name, function in (("lower", _lower), ("upper", _upper), ("length", _length),
                               ("parsed", _parsed), ("text", _text), ("time", _time)):  # fmt: skip
            connection.create_function(f"veil_{name}", 1, function, deterministic=True)
        connection.execute(
            "SELECT value FROM json_each('[]')"
        )  # registers the table before the authorizer forbids it
        connection.set_progress_handler(lambda: time.monotonic() > self._until, _STEPS)

    def table(self, name: str) -> FoundTable | None:
        """Return a table; virtual tables are rejected."""
        kinds = self._connection.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", [name]
        ).fetchall()
        if len(kinds) != 1 or re.match(r"\s*CREATE\s+VIRTUAL", str(kinds[0][0]), re.IGNORECASE):
            return None
        rows = self._connection.execute(
            "SELECT name, type, hidden FROM pragma_table_xinfo(?)", [name]
        ).fetchall()
        fields = {
            field: None if hidden == _COMPUTED else _column(field, declared)
            for field, declared, hidden in rows
        }
        return FoundTable(f'"main".{quote_name(name)}', fields)

    def ready(self) -> None:
        """Do nothing: a local file stays available."""

    def run(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run statements in one transaction, with a time limit for all of them."""
        with self._lock:
            self._until = time.monotonic() + SECONDS
            self._connection.set_authorizer(_allowed)
            try:
                self._connection.execute("BEGIN")
                return [
                    self._connection.execute(*statement).fetchall() for statement in statements
                ]
            finally:
                self._until = float("inf")
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.set_authorizer(None)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _allowed(action: int, table: str | None, function: str | None, *where: str | None) -> int:
    """Authorise only reading tables and calling listed functions."""
    del table, where
    permitted = action == sqlite3.SQLITE_FUNCTION and str(function).lower() in _FUNCTIONS
    return sqlite3.SQLITE_OK if action in _READS or permitted else sqlite3.SQLITE_DENY


def _column(name: str, declared: str) -> Column | None:
    """Return the column of a declared type; values of other types are read as NULL."""
    words = declared.upper()
    for word, kind, read in _TYPES:
        if word in words:
            return Column(name, kind, read == "whole", read=read, declared=read)
    return None if words.strip() else Column(name, "number", read=ANY)
