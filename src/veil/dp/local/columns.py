"""Values and users from files: a column of a table, or the lines of a text, one by one."""

from collections.abc import Callable, Iterator
from itertools import tee
from pathlib import Path
from typing import Literal

from veil.core.errors import InputError
from veil.data.lines import read_lines, require_file, suffix_of
from veil.data.rows import Row, read_table
from veil.dp.local.oracle import Value

Takes = Literal["texts", "codes", "reals"]
_READ: dict[Takes, tuple[Callable[[str], Value], str]] = {
    "texts": (str, "a text"),
    "codes": (int, "a whole number"),
    "reals": (float, "a number"),
}


def read_values(
    path: Path, takes: Takes, column: str | None = None, user: str | None = None
) -> tuple[Iterator[Value], Iterator[str] | None]:
    """Read values as an oracle takes them, and whose they are if a column of users is named.

    Plain text has a value in each line; of a table with several columns one must be named.
    """
    require_file(path, "values")
    if suffix_of(path) in (".txt", ""):
        if column is not None or user is not None:
            raise InputError(f"{path.name} is plain text and has no columns; leave them out.")
        return (_value(row, takes, path.name) for row in _lines(path)), None
    name = path.name  # once: a path takes its time to tell it
    wanted = [one for one in (column, user) if one is not None]
    header, rows = read_table(path, wanted if column is not None else ())
    if column is None and (len(header) > 1 or user is not None):
        raise InputError(
            f"{path.name} has {len(header)} columns; name that of the values with --column."
        )
    if user is None:
        return (_value(row, takes, name) for row in rows), None
    one, other = tee(rows)  # a block is read for the values, and again for the users
    return (_value(row, takes, name) for row in one), (row.values[1] for row in other)


def _lines(path: Path) -> Iterator[Row[str]]:
    for number, line in enumerate(read_lines(path), start=1):
        yield Row(number, number, [line.rstrip("\r\n")])


def _value(row: Row[str], takes: Takes, name: str) -> Value:
    kind, noun = _READ[takes]
    try:
        return kind(row.values[0])
    except ValueError:
        raise InputError(f"{row.where(name)} must have {noun}; repair or leave it out.") from None
