"""Files of rows as columns: block by block, and every text kept once."""

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.data.rows import Layout, read_table
from veil.tables.column import MISSING, Column

BLOCK = 50_000  # rows
Block = tuple[Sequence[str], ...]  # the texts of each column
_WHOLE = re.compile(r"-?\d+\.0")


def read_blocks(
    path: Path, sep: str | None = None, rows: int = BLOCK
) -> tuple[tuple[str, ...], Iterator[Block]]:
    """Return the names of the columns of a file, and its rows, so many at a time.

    Whole numbers that a Parquet file holds as doubles are read as a table writes them: 39.
    """
    header, found = read_table(path, (), Layout(delimiter=sep, cased=True))
    doubles = path.suffix.lower() == ".parquet"

    def blocks() -> Iterator[Block]:
        while part := [row.values for row in islice(found, rows)]:
            columns = tuple(zip(*part, strict=True))
            yield tuple(map(_undoubled, columns)) if doubles else columns

    return header.names, blocks()


def read_columns(
    path: Path, sep: str | None = None, missing: Sequence[str] = ("",)
) -> dict[str, Column]:
    """Read a file whole; equal texts of a column are one object."""
    names, blocks = read_blocks(path, sep)
    gathered = [_Gathered(missing) for _ in names]
    for block in blocks:
        for one, texts in zip(gathered, block, strict=True):
            one.add(texts)
    if not gathered or not len(gathered[0]):
        raise InputError(f"{path.name} has no rows.")
    return {name: one.column() for name, one in zip(names, gathered, strict=True)}


class _Gathered(dict[str, int]):
    """Numbers the different texts of a column as they come, and keeps the numbers of its rows."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(dict.fromkeys(missing, MISSING))
        self._labels: list[str] = []
        self._codes = array("i")

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self._labels)
        self._labels.append(text)
        return number

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, texts: Sequence[str]) -> None:
        self._codes.extend(map(self.__getitem__, texts))

    def column(self) -> Column:
        codes, labels = np.frombuffer(self._codes, dtype=np.int32), self._labels
        self.clear()
        return Column.of_codes(codes.astype(np.int64), labels)


def _undoubled(texts: Sequence[str]) -> Sequence[str]:
    if not any(map(_WHOLE.fullmatch, texts)):
        return texts
    return [text[:-2] if _WHOLE.fullmatch(text) else text for text in texts]
