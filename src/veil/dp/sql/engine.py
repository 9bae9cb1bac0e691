"""The contract of engines, and the pieces of statements: names, bound values, times.

The values of a statement: everything that is not a name or a keyword is bound to a mark.
While a statement is written, a value is a number between NULs, which no name can hold. At the end
those that are in it get marks, in their order: no engine takes a value that no mark asks for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple, Protocol


def canonical(value: object) -> str | None:
    """Return a day or a time of the years 1 to 9999 in UTC, to the second; None if it is none.

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
            plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        except OverflowError:
            return None
        return f"{plain.year:04}-{plain:%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return f"{value.year:04}-{value:%m-%d} 00:00:00"
    return None


Kind = Literal["number", "text", "time"]
SECONDS = 300  # that one statement may take
ANY = "any"  # how a column is read that is of no type: as the policy says


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the database declares it.

    `whole` says that its numbers are whole and fit 64 bits; `nullable`, that a value can be read
    as NULL: it is missing, or one that the kind cannot hold (NaN, a day without end). `read` is
    what the engine needs to know to read it. Only units of the same `declared` type are joined:
    between others an engine may take several values for one, or fail on some.
    """

    name: str
    kind: Kind
    whole: bool = False
    nullable: bool = True
    read: str = ""
    declared: str = ""


class FoundTable(NamedTuple):
    """A table of the database: how it is named in full, and its columns.

    A column of a type that is not read is None.
    """

    sql: str
    columns: Mapping[str, Column | None]


class Seed:
    """Stands for the secret seed of a sample among the values of a statement."""


SEED = Seed()


class Statement(NamedTuple):
    """A statement with numbered marks, and what is bound to them."""

    sql: str
    values: tuple[object, ...]


class Dialect(Protocol):
    """How an engine says things; nothing it says can fail on any row.

    Numbers are doubles, never NaN; what a type cannot hold is NULL.
    """

    fast: bool  # whether bounding by joins is faster than by windows

    def mark(self, number: int, kind: str) -> str:
        """Name a bound value, counted from 1: of a kind, "whole" or "seed"."""

    def read(self, column: Column, sql: str) -> str:
        """Read a column as a value of its kind."""

    def key(self, column: Column, sql: str) -> str:
        """Read a column whose values become groups: two that are told alike are one."""

    def unit(self, column: Column, sql: str) -> str:
        """Read a column that says whose a row is, so that equal values are one unit."""

    def double(self, sql: str) -> str:
        """Turn a whole number into a double."""

    def whole(self, sql: str) -> str:
        """Cut a double of 0 to 2^52 to a whole number."""

    def lower(self, sql: str) -> str:
        """Make the letters A to Z of a text small."""

    def upper(self, sql: str) -> str:
        """Make the letters a to z of a text large."""

    def length(self, sql: str) -> str:
        """Count the characters of a text, as a double."""

    def like(self, sql: str, pattern: str) -> str:
        """Compare a text with a pattern of % and _; letters count as they are."""

    def parsed(self, sql: str) -> str:
        """Read a text of at most 15 digits before and after a point as a double, else NULL."""

    def member(self, sql: str, mark: str) -> str:
        """Tell whether a value is in a list that is bound as one value."""

    def listed(self, values: Sequence[object]) -> object:
        """Return a list as it is bound as one value."""

    def digest(self, seed: str, parts: Sequence[str]) -> str:
        """Hash values with a seed."""

    def least(self, one: str, other: str) -> str:
        """Return the smaller of two numbers that are not NULL."""

    def total(self, sql: str) -> Sequence[tuple[str, int]]:
        """Add up whole numbers of 0 to 2^52: sums, and what each is multiplied by."""


class Engine(Protocol):
    """A database that is open for reading, and for nothing else."""

    @property
    def speech(self) -> Dialect:
        """How it says things."""

    def table(self, name: str) -> FoundTable | None:
        """Find a table, and not a view; None if there is none of that name."""

    def ready(self) -> None:
        """See that the database can be asked, or say that it cannot."""

    def run(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Answer statements, all of the same state of the data."""

    def close(self) -> None:
        """Let go of the database."""


def quote_name(name: str) -> str:
    """Return a name as an identifier.

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
    """Return a query as a source of rows."""
    return f"({query}) AS {name}"


def part(name: str, query: str, *, kept: bool = False) -> str:
    """Return a part of a WITH; one that is `kept` is computed once."""
    return f"{name} AS {'MATERIALIZED ' if kept else ''}({query})"


def ranked(function: str, parts: Sequence[str], order: Sequence[str], name: str) -> str:
    """Return a place of a row among those that are alike in `parts`."""
    over = f"PARTITION BY {', '.join(parts)} ORDER BY {', '.join(order)}"
    return f"{function}() OVER ({over}) AS {name}"


def of(table: str, names: Sequence[str]) -> list[str]:
    """Return columns of a table.

    >>> of("t", ["a", "b"])
    ['t.a', 't.b']
    """
    return [f"{table}.{name}" for name in names]


def same(one: str, other: str, names: Sequence[str]) -> list[str]:
    """Return that two tables agree in columns, NULL included."""
    return [f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in names]


_TOKEN = re.compile("\0([0-9]+)\0")


class Bindings:
    """Gives places to values; equal ones share a place."""

    def __init__(self, speech: Dialect) -> None:
        self.speech = speech
        self._values: list[tuple[str, object]] = []
        self._places: dict[tuple[str, str, str], int] = {}

    def bind(self, value: object, kind: str) -> str:
        """Return the place of a value of a kind: number, whole, text or time."""
        bound = float(value) if kind == "number" else value  # type: ignore[arg-type]
        return self._placed((kind, type(bound).__name__, repr(bound)), bound, kind)

    def bind_list(self, values: Sequence[object], kind: str) -> str:
        """Return the place of a list of a kind that is bound as one value."""
        plain = [float(one) if kind == "number" else one for one in values]  # type: ignore[arg-type]
        several = f"{kind}s"
        return self._placed((several, "", repr(plain)), self.speech.listed(plain), several)

    def seed(self) -> str:
        """Return the place of the seed of a sample."""
        return self._placed(("seed", "", ""), SEED, "seed")

    def _placed(self, key: tuple[str, str, str], value: object, kind: str) -> str:
        if key not in self._places:
            self._places[key] = len(self._values)
            self._values.append((kind, value))
        return f"\0{self._places[key]}\0"

    def statement(self, sql: str) -> Statement:
        """Return a statement with a mark for each value that is in it."""
        used = list(dict.fromkeys(map(int, _TOKEN.findall(sql))))
        marks = {
            place: self.speech.mark(number, self._values[place][0])
            for number, place in enumerate(used, start=1)
        }
        told = _TOKEN.sub(lambda found: marks[int(found[1])], sql)
        return Statement(told, tuple(self._values[place][1] for place in used))
