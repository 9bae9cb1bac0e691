"""What a database must offer: its columns, a way to say things, and answers to statements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

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


class Found(NamedTuple):
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


class Speech(Protocol):
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
    def speech(self) -> Speech:
        """How it says things."""

    def table(self, name: str) -> Found | None:
        """Find a table, and not a view; None if there is none of that name."""

    def ready(self) -> None:
        """See that the database can be asked, or say that it cannot."""

    def run(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Answer statements, all of the same state of the data."""

    def close(self) -> None:
        """Let go of the database."""


def quoted(name: str) -> str:
    """Return a name as an identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'
