"""What rows are made of: the names of their columns, and the values at those asked for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from veil.core.errors import InputError

T = TypeVar("T")
# named: by the format itself; cut: by a delimiter; bare: no header line; plain: no table at all
Kind = Literal["named", "cut", "bare", "plain"]


def normal(name: str) -> str:
    """Return the name of a column as it is compared: without regard to case and blanks."""
    return name.strip().casefold()


def place(name: str, row: int, line: int) -> str:
    """Return how messages call a row."""
    return f"Row {row:,}{f' (line {line:,})' if line else ''} of {name}"


@dataclass(frozen=True, slots=True)
class Header:
    """Names of columns, as they are written; `where` they stand, for messages.

    Without a header line the columns are called by their positions: "1", "2" and so on.
    """

    names: tuple[str, ...]
    where: str
    kind: Kind = "named"

    @classmethod
    def of(
        cls, names: Iterable[object], where: str, kind: Kind = "named", *, cased: bool = False
    ) -> "Header":
        """Check that no name stands there twice; `cased` tells x and X apart."""
        written = tuple(str(name).strip() for name in names)
        told = [name if cased else normal(name) for name in written if name]
        if len(set(told)) < len(told):
            why = "" if cased else " (case does not count)"
            raise InputError(f"{where} has two columns of one name{why}; rename one.")
        return cls(written, where, kind)

    @classmethod
    def bare(cls, width: int, where: str) -> "Header":
        """Call columns by their positions."""
        return cls(tuple(map(str, range(1, width + 1))), where, "bare")

    def find(self, names: Sequence[str]) -> int:
        """Return the position of the first of these names that there is, or -1."""
        known = list(map(normal, self.names))
        return next((known.index(name) for name in map(normal, names) if name in known), -1)

    def __len__(self) -> int:
        return len(self.names)


class Row(NamedTuple, Generic[T]):
    """Values of a row, at the positions that were picked (None at -1)."""

    number: int
    line: int  # 0: the file has no lines
    values: list[T]

    def where(self, name: str) -> str:
        """Return how messages call this row."""
        return place(name, self.number, self.line)


Pick = Callable[[Header], Sequence[int]]  # positions of the columns of interest, or an InputError


def taken(values: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """Return the values at some positions, None at -1."""
    return [values[at] if at >= 0 else None for at in positions]
