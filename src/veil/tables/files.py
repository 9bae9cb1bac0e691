"""A released file beside the original that it was made of."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from veil.core.errors import InputError, VeilError
from veil.tables.methods import METHODS
from veil.tables.protect import protect
from veil.tables.release import Release
from veil.tables.save import Card, read_card
from veil.tables.source import Source
from veil.tables.table import Table

UNKNOWN = (
    "Which rows of {} are which of the original is not known: some were removed, or their order is"
    " random, and a link is never written. A method that draws nothing is applied again to find"
    " them: give the columns and --hierarchies it was made with. Or name the method instead of"
    ' the file, as in "ola(k=10, suppression=0.05)": it is then applied, and what it gives is'
    " looked at."
)


def released(path: Path, original: Table, source: Source) -> Release:
    """Read a release, and find which rows are whose, as far as that can be known.

    Row i is row i where there are as many rows in their order. Else the method of the card is
    applied again, if it draws nothing: where that gives the same table, its rows are known.
    """
    card = read_card(path)
    table = source.released(path, card.roles)
    made = card.release(table)
    if card.shuffled or card.synthetic or len(table) != len(original):
        return again(original, card, table) or made
    return replace(made, rows=np.arange(len(table)))


def again(original: Table, card: Card, table: Table) -> Release | None:
    """Return what the method of a card gives, if it draws nothing and gives that table."""
    try:
        steps = [METHODS.parse(spec) for spec in card.method.split(" | ")]
        if any(step.random for step in steps):
            return None
        found = protect(original, steps)
    except VeilError:  # of another version, or with other roles or columns
        return None
    return found if _rows(found.table) == _rows(table) else None


def _rows(table: Table) -> "Counter[tuple[object, ...]]":
    """Count rows, whatever their order; numbers are equal however they are written."""
    columns = [table.column(name) for name in sorted(table.columns)]
    listed = [
        np.where(column.missing, None, column.values).tolist()  # type: ignore[call-overload]
        for column in columns
    ]
    return Counter(zip(*listed, strict=True))


def made(given: str, original: Table, source: Source, seed: int | None) -> Release:
    """Return the release of a file, or the one that a method makes."""
    name = given.partition("(")[0].strip()
    if name in METHODS.names() and not Path(given).exists():
        return protect(original, given, rng=seed)
    path = Path(given)
    if not path.is_file():
        raise InputError("There is no such file, and no method of that name; see --help.")
    return released(path, original, source)


def require_rows(release: Release, given: str) -> None:
    """Raise where it is not known which released row is which."""
    if release.rows is None:
        raise InputError(UNKNOWN.format(Path(given).name))
