"""Read a secret of each record from a file: a bit, or a number."""

from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.data.rows import read_table

_BITS = {"0": 0, "1": 1, "false": 0, "true": 1}


def source_of(text: str) -> tuple[Path, str, str | None]:
    """Split ``FILE:COLUMN`` or ``FILE:COLUMN=VALUE``.

    >>> source_of("pums.csv:educ=13")[1:]
    ('educ', '13')
    """
    file, colon, column = text.rpartition(":")
    if not (colon and file and column):
        raise InputError(
            "A secret is named by its file and column, as pums.csv:married, or pums.csv:educ=13"
            " for those who have that value."
        )
    name, equals, value = column.partition("=")
    return Path(file), name, value if equals else None


def read_texts(path: Path, column: str) -> list[str]:
    """Read a column as it stands in the file; at least one row."""
    _, rows = read_table(path, [column])
    texts = [row.values[0].strip() for row in rows]
    if not texts:
        raise InputError(f"{path.name} has no rows.")
    return texts


def read_bits(path: Path, column: str, equals: str | None = None) -> Ids:
    """Read who has a secret (n,): 1 in the column, or true, or the value that is named."""
    texts = read_texts(path, column)
    if equals is not None:
        return np.array([text == equals for text in texts], dtype=np.int64)
    found = [_BITS.get(text.casefold(), -1) for text in texts]
    if -1 in found:
        raise InputError(
            f"Row {found.index(-1) + 1:,} of {path.name}, column {column}, must be 0 or 1; name"
            f" the value that is the secret, as {column}=VALUE."
        )
    return np.array(found, dtype=np.int64)


def read_numbers(path: Path, column: str) -> Floats | Ids:
    """Read a number of each record (n,); whole numbers stay whole."""
    texts = read_texts(path, column)
    try:
        found = np.array([float(text) for text in texts])
    except ValueError:
        found = np.array([np.nan])
    if not np.isfinite(found).all():
        raise InputError(f"The column {column} of {path.name} must hold finite numbers.")
    whole = (found == np.floor(found)).all() and np.abs(found).max() < 2**53
    return found.astype(np.int64) if whole else found
