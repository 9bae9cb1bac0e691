"""The contract of SQL engines, and the parts of statements: names, bound values, times.

Everything that is not a name or keyword is bound to a parameter mark. While a statement is being
written, a value is a token between NULs, which no name can contain. Finally the tokens that remain
become marks in order, because engines reject values without a mark.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple, Protocol


def canonical(value: object) -> str | None:
    """Return a date or time (years 1 to 9999) in UTC, to the second; None for anything else.

    >>> canonical("2024-02-29"), canonical("2024-02-29T13:05:00.5+01:00")
    ('2024-02-29 00:00:00', '2024-02-29 12:05:00')
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        try:
            naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        except OverflowError:
            return None
        return f"{naive.year:04}-{naive:%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return f"{value.year:04}-{value:%m-%d} 00:00:00"
    return None


Kind = Literal["number", "text", "time"]
SECONDS = 300  # time limit of a statement, or of all statements of a query (files)
ANY = "any"  # `read` of a column without a declared type: the policy decides


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the database declares it.

    `whole` means 64-bit integers. `nullable` means that a value can be read as NULL, because it is
    missing or not representable (NaN, an infinite date). `read` is what the engine needs to know
    to read the column. Only units of the same `declared` type are joined: otherwise an engine
    might treat different values as equal, or fail on some.
    """

    name: str
    kind: Kind
    whole: bool = False
    nullable: bool = True
    read: str = ""
    declared: str = ""


class FoundTable(NamedTuple):
    """A table of the database: its full name, and its columns.

    A column of an unsupported type is None.
    """

    sql: str
    columns: Mapping[str, Column | None]


class Seed:
    """Placeholder for the secret seed of a sample among the values of a statement."""


SEED = Seed()


class Statement(NamedTuple):
    """A statement with numbered marks, and the values bound to them."""

    sql: str
    values: tuple[object, ...]


class Dialect(Protocol):
    """The SQL of an engine; no expression may fail on any row.

    Numbers are doubles, never NaN; unrepresentable values are NULL.
    """

    fast: bool  # whether sampling by joins is faster than by window functions

    def mark(self, number: int, kind: str) -> str:
        """Return the mark of a bound value, counted from 1; `kind` may be "whole" or "seed"."""

    def read(self, column: Column, sql: str) -> str:
        """Read a column as a value of its kind."""

    def key(self, column: Column, sql: str) -> str:
        """Read a column to group by; values that look the same are one group."""

    def unit(self, column: Column, sql: str) -> str:
        """Read the unit column, so that equal values are one unit."""

    def double(self, sql: str) -> str:
        """Convert an integer to a double."""

    def whole(self, sql: str) -> str:
        """Truncate a double from 0 to 2^52 to an integer."""

    def lower(self, sql: str) -> str:
        """Convert A to Z to lower case."""

    def upper(self, sql: str) -> str:
        """Convert a to z to upper case."""

    def length(self, sql: str) -> str:
        """Return the number of characters as a double."""

    def like(self, sql: str, pattern: str) -> str:
        """Match text against a pattern of % and _, case-sensitively."""

    def parsed(self, sql: str) -> str:
        """Convert text of at most 15 digits before and after the point to a double, else NULL."""

    def member(self, sql: str, mark: str) -> str:
        """Test whether a value is in a list that is bound as one value."""

    def listed(self, values: Sequence[object]) -> object:
        """Return a list in the form in which it is bound as one value."""

    def digest(self, seed: str, parts: Sequence[str]) -> str:
        """Hash values with a seed."""

    def least(self, a: str, b: str) -> str:
        """Return the smaller of two numbers that are not NULL."""

    def total(self, sql: str) -> Sequence[tuple[str, int]]:
        """Sum integers from 0 to 2^52: return partial sums and their factors."""


class Engine(Protocol):
    """A database opened read-only."""

    @property
    def speech(self) -> Dialect:
        """The SQL dialect."""

    def table(self, name: str) -> FoundTable | None:
        """Return the table of this name (not a view), or None."""

    def ready(self) -> None:
        """Raise EngineError unless the database can be queried."""

    def run(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each statement, all from the same state of the data."""

    def close(self) -> None:
        """Close the database."""


def quote_name(name: str) -> str:
    """Return a name as a quoted identifier.

    >>> quote_name('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def select(
    columns: Sequence[str], source: str, where: Sequence[str] = (), by: Sequence[str] = ()
) -> str:
    """Return a SELECT.

    >>> select(["a", "COUNT(*)"], "t", ["b > 1"], ["a"])
    'SELECT a, COUNT(*) FROM t WHERE b > 1 GROUP BY a'
    """
    words = ["SELECT", ", ".join(columns), "FROM", source]
    words += ["WHERE", " AND ".join(where)] if where else []
    words += ["GROUP BY", ", ".join(by)] if by else []
    return " ".join(words)


def within(query: str, name: str) -> str:
    """Return a query as a named subquery."""
    return f"({query}) AS {name}"


def part(name: str, query: str, *, materialised: bool = False) -> str:
    """Return a common table expression; one that is `materialised` is computed once."""
    return f"{name} AS {'MATERIALIZED ' if materialised else ''}({query})"


def ranked(function: str, parts: Sequence[str], order: Sequence[str], name: str) -> str:
    """Return the rank of a row within its partition, as a window function."""
    over = f"PARTITION BY {', '.join(parts)} ORDER BY {', '.join(order)}"
    return f"{function}() OVER ({over}) AS {name}"


def of(table: str, names: Sequence[str]) -> list[str]:
    """Return columns qualified by their table.

    >>> of("t", ["a", "b"])
    ['t.a', 't.b']
    """
    return [f"{table}.{name}" for name in names]


def same(first: str, second: str, names: Sequence[str]) -> list[str]:
    """Return tests that two tables agree in these columns; NULL equals NULL."""
    return [f"{first}.{name} IS NOT DISTINCT FROM {second}.{name}" for name in names]


_TOKEN = re.compile("\0([0-9]+)\0")


class Bindings:
    """Assigns tokens to values; equal values share a token."""

    def __init__(self, speech: Dialect) -> None:
        self.speech = speech
        self._values: list[tuple[str, object]] = []
        self._places: dict[tuple[str, str, str], int] = {}

    def bind(self, value: object, kind: str) -> str:
        """Return the token of a value; `kind` is number, whole, text or time."""
        bound = float(value) if kind == "number" else value  # type: ignore[arg-type]
        return self._placed((kind, type(bound).__name__, repr(bound)), bound, kind)

    def bind_list(self, values: Sequence[object], kind: str) -> str:
        """Return the token of a list that is bound as one value."""
        constants = [float(value) if kind == "number" else value for value in values]  # type: ignore[arg-type]
        several = f"{kind}s"
        return self._placed((several, "", repr(constants)), self.speech.listed(constants), several)

    def seed(self) -> str:
        """Return the token of the seed of a sample."""
        return self._placed(("seed", "", ""), SEED, "seed")

    def _placed(self, key: tuple[str, str, str], value: object, kind: str) -> str:
        if key not in self._places:
            self._places[key] = len(self._values)
            self._values.append((kind, value))
        return f"\0{self._places[key]}\0"

    def statement(self, sql: str) -> Statement:
        """Return the statement with a mark for each token in it."""
        used = list(dict.fromkeys(map(int, _TOKEN.findall(sql))))
        marks = {
            place: self.speech.mark(number, self._values[place][0])
            for number, place in enumerate(used, start=1)
        }
        text = _TOKEN.sub(lambda match: marks[int(match[1])], sql)
        return Statement(text, tuple(self._values[place][1] for place in used))
