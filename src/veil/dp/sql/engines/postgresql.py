"""PostgreSQL: a server queried in read-only transactions.

The server returns exact sums, so a connection to another machine is encrypted unless its URL says
otherwise.
"""

import ipaddress
import os
from collections.abc import Sequence
from threading import Lock
from typing import Any

from veil.core.errors import EngineError, InputError, MissingExtraError
from veil.dp.sql.engine import SECONDS, Column, Dialect, FoundTable, Kind, Statement, quote_name

try:
    import psycopg
    from psycopg import conninfo
except ImportError as error:
    raise MissingExtraError(
        "A PostgreSQL database needs psycopg: pip install 'veil[postgres]'."
    ) from error


_TYPES: dict[str, tuple[Kind, bool, str]] = {
    **dict.fromkeys(("int2", "int4", "int8"), ("number", True, "whole")),
    "bool": ("number", True, "bool"),
    **dict.fromkeys(("float4", "float8"), ("number", False, "real")),
    "numeric": ("number", False, "numeric"),
    **dict.fromkeys(("text", "varchar", "bpchar", "uuid"), ("text", False, "text")),
    **dict.fromkeys(("date", "timestamp"), ("time", False, "time")),
    "timestamptz": ("time", False, "time"),
}
_ALIKE = ("whole", "bool", "text")  # joinable regardless of the declared type
_DIGITS = r"^[+-]?[0-9]{1,15}(\.[0-9]{1,15})?$"
_FIRST, _LAST = "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'"
_COLUMNS = """
SELECT a.attname, CASE a.attgenerated WHEN 'v' THEN '' ELSE t.typname END, t.typtype,
a.attnotnull
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_TABLE = """
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relname = $1 AND n.nspname = $2 AND c.relkind IN ('r', 'p')
AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
"""
_GONE = "Cannot query the database. Check that its server is running and accepts this user."


class PostgreSQLSpeech:
    """The SQL dialect of PostgreSQL."""

    fast: bool = False

    def mark(self, number: int, kind: str) -> str:
        """Return the mark of a bound value, with its type."""
        types = {"number": "float8", "whole": "int8", "seed": "int8"}
        several = "[]" if kind.endswith("s") else ""
        name = types.get(kind.removesuffix("s"), "text")
        compared = ' COLLATE "C"' if name == "text" and not several else ""
        return f"(CAST(${number} AS {name}{several}){compared})"

    def read(self, column: Column, sql: str) -> str:
        """Read a column as a value of its kind."""
        if column.read == "whole":
            return f"CAST({sql} AS int8)"
        if column.read == "bool":
            return f"CAST(CAST({sql} AS int4) AS int8)"
        if column.read == "real":
            return f"NULLIF(CAST({sql} AS float8), CAST('NaN' AS float8))"
        if column.read == "numeric":  # may exceed the range of doubles
            return (
                f"(CASE WHEN {sql} = 'NaN' THEN NULL WHEN {sql} > 1e300 THEN 'Infinity'"
                f" WHEN {sql} < -1e300 THEN '-Infinity' WHEN abs({sql}) < 1e-300 THEN 0"
                f" ELSE CAST({sql} AS float8) END)"
            )
        if column.read == "text":
            return f'(CAST({sql} AS text) COLLATE "C")'
        time = f"to_char({sql}, 'YYYY-MM-DD HH24:MI:SS') COLLATE \"C\""
        return f"(CASE WHEN {sql} BETWEEN {_FIRST} AND {_LAST} THEN {time} END)"

    def key(self, column: Column, sql: str) -> str:
        """Read a column to group by."""
        return self.read(column, sql)

    def unit(self, column: Column, sql: str) -> str:
        """Use values unchanged and unrounded; strings are equal only if all characters are."""
        return self.read(column, sql) if column.read == "text" else sql

    def double(self, sql: str) -> str:
        """Convert an integer to a double."""
        return f"CAST({sql} AS float8)"

    def whole(self, sql: str) -> str:
        """Truncate a double to an integer."""
        return f"CAST(floor({sql}) AS int8)"

    def lower(self, sql: str) -> str:
        """Convert A to Z to lower case."""
        return f'lower({sql} COLLATE "C")'

    def upper(self, sql: str) -> str:
        """Convert a to z to upper case."""
        return f'upper({sql} COLLATE "C")'

    def length(self, sql: str) -> str:
        """Return the number of characters as a double."""
        return f"CAST(length({sql}) AS float8)"

    def like(self, sql: str, pattern: str) -> str:
        """Match text against a pattern without escape character."""
        return f"({sql} LIKE {pattern} ESCAPE '')"

    def parsed(self, sql: str) -> str:
        """Convert text to a double, else NULL."""
        return f"(CASE WHEN {sql} ~ '{_DIGITS}' THEN CAST({sql} AS float8) END)"

    def member(self, sql: str, mark: str) -> str:
        """Test whether a value is in a bound list."""
        return f"({sql} = ANY ({mark}))"

    def listed(self, values: Sequence[object]) -> object:
        """Return a list in bindable form."""
        return list(values)

    def digest(self, seed: str, parts: Sequence[str]) -> str:
        """Hash values, as text, with a seed."""
        texts = ", ".join(f"coalesce(CAST({part} AS text), '')" for part in parts)
        return f"hashtextextended(concat_ws(':', {texts}) COLLATE \"C\", {seed})"

    def least(self, a: str, b: str) -> str:
        """Return the smaller of two numbers."""
        return f"least({a}, {b})"

    def total(self, sql: str) -> Sequence[tuple[str, int]]:
        """Sum with arbitrary precision."""
        return [(f"SUM({sql})", 1)]


class PostgreSQL:
    """A PostgreSQL database, over one connection at a time."""

    speech: Dialect = PostgreSQLSpeech()

    def __init__(self, url: str) -> None:
        self._url, self._lock = url, Lock()
        self._connection = self._connected()

    def _connected(self) -> Any:  # noqa: ANN401 - psycopg's
        try:
            settings = conninfo.conninfo_to_dict(self._url)
            mode = settings.get("sslmode") or ("prefer" if _is_here(settings) else "require")
            connection = psycopg.connect(
                self._url,
                sslmode=mode,
                connect_timeout=15,
                client_encoding="UTF8",
                application_name="veil",
                options=f"-c search_path=pg_catalog -c statement_timeout={SECONDS}s"
                " -c default_transaction_read_only=on -c timezone=UTC",
                cursor_factory=psycopg.RawCursor,
            )
        except (psycopg.Error, ValueError, TypeError):
            raise InputError(
                "Cannot connect to the PostgreSQL database. Check its URL, that its server is"
                " running, and that it accepts this user."
            ) from None
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
            connection.close()
            raise InputError(
                "The PostgreSQL database must have an encoding other than SQL_ASCII, such as UTF8."
            )
        return connection

    def table(self, name: str) -> FoundTable | None:
        """Return a table of the schema public, or of the schema before the dot."""
        schema, _, bare = name.rpartition(".")
        with self._connection.transaction():
            matches = self._connection.execute(_TABLE, [bare, schema or "public"]).fetchall()
            if len(matches) != 1:
                return None
            number, space, own = matches[0]
            rows = self._connection.execute(_COLUMNS, [number]).fetchall()
        columns = {
            field: _column(field, kind, family, not required)
            for field, kind, family, required in rows
        }
        return FoundTable(f"{quote_name(space)}.{quote_name(own)}", columns)

    def ready(self) -> None:
        """Check that the server responds; reconnect if the connection is lost."""
        with self._lock:
            try:
                with self._connection.transaction():
                    self._connection.execute("SELECT 1")
            except psycopg.Error:
                self._connection.close()
                try:
                    self._connection = self._connected()
                except InputError:
                    raise EngineError(_GONE) from None

    def run(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run statements in one transaction, on the state at its start."""
        with self._lock, self._connection.transaction():
            return [
                self._connection.execute(sql, list(values)).fetchall()
                for sql, values in statements
            ]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _column(name: str, kind: str, family: str, nullable: bool) -> Column | None:
    if family == "e":
        return Column(name, "text", False, nullable, "text", "text")
    if kind not in _TYPES:
        return None
    own, whole, read = _TYPES[kind]
    sure = read in _ALIKE and not nullable  # other types contain NaN or infinite dates
    return Column(name, own, whole, not sure, read, read if read in _ALIKE else kind)


def _is_here(settings: dict[str, Any]) -> bool:
    """Return whether a connection certainly stays on this machine."""
    if settings.get("service") or os.environ.get("PGSERVICE"):
        return False
    places = [
        str(settings.get(name) or os.environ.get(f"PG{name.upper()}") or "")
        for name in ("hostaddr", "host")
    ]
    hosts = [host for place in places for host in place.split(",") if host]
    return all(host.startswith(("/", "@")) or host == "localhost" or _is_loopback(host)
               for host in hosts)  # fmt: skip


def _is_loopback(place: str) -> bool:
    try:
        return ipaddress.ip_address(place).is_loopback
    except ValueError:
        return False
