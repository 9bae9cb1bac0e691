"""What is done to every block of a table, and the files that come of it."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.rng import stream
from veil.data.files import whole_file
from veil.tables.blocks.partition import CHANGED, Key, Partition, Texts
from veil.tables.column import Column
from veil.tables.formats import safe, text_rows
from veil.tables.method import Method
from veil.tables.table import Table


class Work(Protocol):
    """What is done to a block."""

    def released(self, block: Texts, rng: Generator) -> Iterator[Sequence[str]]:
        """Yield the rows that leave."""


@dataclass(frozen=True)
class Lookup:
    """Looks values up that were found for all rows before; a row of which there is none goes.

    Attributes
    ----------
    columns
        What is released.
    labels
        For some columns together, what their values become; None if such rows are removed.
    """

    columns: tuple[str, ...]
    labels: Mapping[tuple[str, ...], Mapping[Key, Key | None]]

    def released(self, block: Texts, rng: Generator) -> Iterator[Sequence[str]]:
        """Yield the rows with their labels."""
        del rng
        held: dict[str, Sequence[str | None]] = {name: block[name] for name in self.columns}
        n = len(next(iter(held.values())))
        kept = np.ones(n, dtype=np.bool_)
        for names, labels in self.labels.items():
            try:
                found = [labels[key] for key in zip(*(block[one] for one in names), strict=True)]
            except KeyError:
                raise InputError(CHANGED) from None
            kept &= np.array([one is not None for one in found], dtype=np.bool_)
            blank = (None,) * len(names)
            by_column = zip(*(one or blank for one in found), strict=True)
            held |= dict(zip(names, by_column, strict=True))
        for at in np.flatnonzero(kept).tolist():
            yield [held[name][at] or "" for name in self.columns]


@dataclass(frozen=True)
class Drawing:
    """Masks each block by a method that takes each row by itself."""

    method: Method
    chosen: tuple[str, ...]
    like: Table  # the columns that are released: what they are, and no row of the table

    def released(self, block: Texts, rng: Generator) -> Iterator[Sequence[str]]:
        """Yield the rows as the method makes them."""
        held = {name: self._column(name, block[name]) for name in self.like.columns}
        table = Table(held, self.like.roles, self.like.hierarchies)
        yield from text_rows(self.method.mask(table, self.chosen, rng).table)

    def _column(self, name: str, texts: Sequence[str | None]) -> Column:
        made = np.empty(len(texts), dtype=object)
        made[:] = texts
        if not self.like.column(name).numeric:
            return Column(made)
        try:
            numbers = [np.nan if text is None else float(text) for text in texts]
        except ValueError:
            raise InputError(CHANGED) from None
        return Column(np.array(numbers, dtype=np.float64), made)


def written(
    partition: Partition,
    target: Path,
    work: Work,
    names: Sequence[str],
    draws: tuple[int | None, int],
    excel_safe: bool = False,
) -> int:
    """Write what is released of a file, whole or not at all; return how many rows.

    `draws` are a seed, or None, and the number of the file: each has a stream of its own.
    """
    rng, count = stream(*draws), 0
    with (
        whole_file(target, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([safe(name) if excel_safe else name for name in names])
        for block in partition.blocks():
            for row in work.released(block, rng):
                writer.writerow([_safe(text) for text in row] if excel_safe else row)
                count += 1
    return count


def _safe(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return safe(text)
    return text
