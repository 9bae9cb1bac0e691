"""DuckDB: a database file read by this process."""

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError
from veil.dp.sql.engine import (
    SECONDS,
    Column,
    Dialect,
    FoundTable,
    Kind,
    Statement,
    quote_name,
    select,
)

try:
    import duckdb
except ImportError as error:
    raise MissingExtraError("A DuckDB file needs duckdb: pip install 'veil[sql]'.") from error


# Set at connect: all connections of a process must have the same settings.
_SETTINGS = {
    "enable_external_access": "false",
    "lock_configuration": "true",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_WHOLE = r"(TINY|SMALL|BIG|UTINY|USMALL)INT|INTEGER|UINTEGER"
_REAL = r"UBIGINT|U?HUGEINT|DECIMAL\(.*\)|FLOAT|DOUBLE"
_TIME = r"DATE|TIMESTAMP(_S|_MS|_NS)?"
_TYPES: tuple[tuple[str, Kind, bool, str], ...] = (
    (_WHOLE, "number", True, "whole"),
    ("BOOLEAN", "number", True, "whole"),
    (_REAL, "number", False, "real"),
    (r"VARCHAR|UUID|ENUM\(.*\)", "text", False, "text"),
    (_TIME, "time", False, "time"),
    (r"TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ", "time", False, "zoned"),
)
_ALIKE = ("whole", "text")  # joinable regardless of the declared type
_FIRST, _LAST = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59'"
_SMALL, _LARGE = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?"


class DuckDBSpeech:
    """The SQL dialect of DuckDB."""

    fast: bool = True

    def mark(self, number: int, kind: str) -> str:
        """Return the mark of a bound value."""
        types = {"number": "DOUBLE", "whole": "BIGINT", "seed": "BIGINT"}
        several = "[]" if kind.endswith("s") else ""
        return f"CAST(${number} AS {types.get(kind.removesuffix('s'), 'VARCHAR')}{several})"

    def read(self, column: Column, sql: str) -> str:
        """Read a column as a value of its kind."""
        if column.read == "whole":
            return f"CAST({sql} AS BIGINT)"
        if column.read == "real":
            return f"NULLIF(CAST({sql} AS DOUBLE), CAST('nan' AS DOUBLE))"
        if column.read == "text":
            return f'(CAST({sql} AS VARCHAR) COLLATE "binary")'
        time = f"TRY_CAST({sql} AS TIMESTAMP)"
        if column.read == "zoned":
            time = f"CASE WHEN isfinite({sql}) THEN make_timestamp(epoch_us({sql})) END"
        return (
            f"CASE WHEN {time} BETWEEN {_FIRST} AND {_LAST}"
            f" THEN strftime({time}, '%Y-%m-%d %H:%M:%S') END"
        )

    def key(self, column: Column, sql: str) -> str:
        """Read a column to group by."""
        return self.read(column, sql)

    def unit(self, column: Column, sql: str) -> str:
        """Use values unchanged; strings are equal only if all characters are."""
        return self.read(column, sql) if column.read == "text" else sql

    def double(self, sql: str) -> str:
        """Convert an integer to a double."""
        return f"CAST({sql} AS DOUBLE)"

    def whole(self, sql: str) -> str:
        """Truncate a double to an integer."""
        return f"CAST(floor({sql}) AS BIGINT)"

    def lower(self, sql: str) -> str:
        """Convert A to Z to lower case; the built-in function converts all letters."""
        return f"translate({sql}, '{_LARGE}', '{_SMALL}')"

    def upper(self, sql: str) -> str:
        """Convert a to z to upper case."""
        return f"translate({sql}, '{_SMALL}', '{_LARGE}')"

    def length(self, sql: str) -> str:
        """Return the number of characters as a double."""
        return f"CAST(length({sql}) AS DOUBLE)"

    def like(self, sql: str, pattern: str) -> str:
        """Match text against a pattern."""
        return f"({sql} LIKE {pattern})"

    def parsed(self, sql: str) -> str:
        """Convert text to a double, else NULL."""
        right = f"regexp_full_match({sql}, '{_DIGITS}')"
        return f"CASE WHEN {right} THEN TRY_CAST({sql} AS DOUBLE) END"

    def member(self, sql: str, mark: str) -> str:
        """Test whether a value is in a bound list."""
        return f"({sql} IN (SELECT unnest({mark})))"

    def listed(self, values: Sequence[object]) -> object:
        """Return a list in bindable form."""
        return list(values)

    def digest(self, seed: str, parts: Sequence[str]) -> str:
        """Hash twice, because a single hash of several values is far from uniform."""
        return f"hash(hash({', '.join([seed, *parts])}))"

    def least(self, a: str, b: str) -> str:
        """Return the smaller of two numbers."""
        return f"least({a}, {b})"

    def total(self, sql: str) -> Sequence[tuple[str, int]]:
        """Sum in 128 bits."""
        return [(f"SUM({sql})", 1)]


class DuckDB:
    """A DuckDB file, opened read-only."""

    speech: Dialect = DuckDBSpeech()

    def __init__(self, path: str) -> None:
        path = str(Path(path).expanduser())
        if not Path(path).is_file():
            raise InputError(f"DuckDB file {path} does not exist. Check the database URL.")
        try:
            self._connection = duckdb.connect(path, read_only=True, config=dict(_SETTINGS))
        except duckdb.Error:
            raise InputError(
                f"Cannot open {path} as a DuckDB file: it has another format, or another program"
                " or connection has it open for writing."
            ) from None

    def table(self, name: str) -> FoundTable | None:
        """Return a table of the schema main, or of the schema before the dot."""
        schema, _, bare = name.rpartition(".")
        where = "table_catalog = current_database() AND table_schema = $1 AND table_name = $2"
        values = [schema or "main", bare]
        kinds = self._ask(select(["table_type"], "information_schema.tables", [where]), values)
        if kinds != [("BASE TABLE",)]:
            return None
        columns = ["column_name", "data_type", "is_nullable", "is_generated"]
        rows = self._ask(select(columns, "information_schema.columns", [where]), values)
        fields = {
            field: None if generated == "ALWAYS" else _column(field, kind, nullable != "NO")
            for field, kind, nullable, generated in rows
        }
        return FoundTable(f"{quote_name(schema or 'main')}.{quote_name(bare)}", fields)

    def ready(self) -> None:
        """Do nothing: a local file stays available."""

    def run(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run statements in one transaction, with a time limit for all of them."""
        cursor = self._connection.cursor()
        timer = threading.Timer(SECONDS, cursor.interrupt)
        timer.daemon = True
        timer.start()
        try:
            cursor.execute("BEGIN TRANSACTION")
            return [cursor.execute(sql, list(values)).fetchall() for sql, values in statements]
        finally:
            timer.cancel()
            cursor.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _ask(self, sql: str, values: list[str]) -> list[tuple[Any, ...]]:
        return list(self._connection.cursor().execute(sql, values).fetchall())


def _column(name: str, declared: str, nullable: bool) -> Column | None:
    for pattern, kind, whole, read in _TYPES:
        if re.fullmatch(pattern, declared, re.DOTALL):
            sure = read in _ALIKE and not nullable  # other types contain NaN or infinite dates
            return Column(name, kind, whole, not sure, read, read if read in _ALIKE else declared)
    return None
