"""A table in files: what can be done with counts of its rows, or block by block."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.studies.pool import Here
from veil.tables.blocks.partition import Key, Partition, check_few, counted, stamp
from veil.tables.column import Column
from veil.tables.counts.cells import Cells, cells_of
from veil.tables.hierarchy import Hierarchy
from veil.tables.measures.anonymity import Anonymity, anonymity_of
from veil.tables.reading import BLOCK
from veil.tables.source import Source
from veil.tables.table import Table, no_qi, unknown_column

_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Blocks:
    """A table that need not fit into memory.

    Attributes
    ----------
    files
        Files with the same columns; each is a partition of the rows.
    source
        What is said of the columns.
    rows
        How many are in memory at a time.
    executor
        Who works on the files, as the executor of a Dask client: its workers must have Veil, and
        the files at the same paths. None: this process, one file after the other.
    """

    files: tuple[Path, ...]
    source: Source
    rows: int = BLOCK
    executor: Executor = field(default_factory=Here)

    @classmethod
    def of(
        cls,
        path: str | Path,
        source: Source,
        rows: int = BLOCK,
        executor: Executor | None = None,
    ) -> "Blocks":
        """Open a file, or a folder whose files are the partitions of a table."""
        given = Path(path).resolve()
        files: tuple[Path, ...] = (given,)
        if given.is_dir():
            inside = (one for one in given.iterdir() if one.suffix.lower() in _SUFFIXES)
            files = tuple(sorted(inside))
        if not files:
            raise InputError(f"The folder {given.name} has no file of a table.")
        if rows < 1:
            raise InputError("A block must have at least one row.")
        made = cls(files, source, rows, Here() if executor is None else executor)
        if any(one.names != made.names for one in made.partitions[1:]):
            raise InputError("The files of a table must have the same columns, in one order.")
        return made

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The files."""
        missing = ("", *self.source.missing)
        sep, rows = self.source.sep, self.rows
        return tuple(Partition(one, sep, missing, rows, stamp(one)) for one in self.files)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.partitions[0].names

    def counts(self, groups: Sequence[Sequence[str]]) -> list["Counter[Key]"]:
        """Count the combinations of values of each group of columns, over all files."""
        for name in (name for names in groups for name in names):
            if name not in self.names:
                raise unknown_column(name, self.names)
        tasks = [self.executor.submit(counted, one, groups) for one in self.partitions]
        merged: list[Counter[Key]] = [Counter() for _ in groups]
        for task in tasks:
            for total, part in zip(merged, task.result(), strict=True):
                total.update(part)
                check_few(total)
        if groups and not merged[0]:
            raise InputError("The files have no rows.")
        return merged

    def distinct(self, names: Sequence[str]) -> tuple[Table, Ids]:
        """Return the different rows of some columns, and how many records each is of (m,)."""
        (found,) = self.counts([names])
        columns = zip(*found, strict=True)
        held = {name: _column(texts) for name, texts in zip(names, columns, strict=True)}
        counts = np.fromiter(found.values(), dtype=np.int64, count=len(found))
        return self._described(held), counts

    def values(self, names: Sequence[str]) -> Table:
        """Return a table with all values of some columns, which are in no relation there.

        Columns that are not named have no value in it.
        """
        found = self.counts([[name] for name in names])
        longest = max(map(len, found), default=1)
        held = {name: _column((None,) * longest) for name in self.names}
        for name, counts in zip(names, found, strict=True):
            held[name] = _column(list(islice(cycle(key[0] for key in counts), longest)))
        return self._described(held, names)

    def _described(self, held: Mapping[str, Column], known: Sequence[str] | None = None) -> Table:
        roles, given = self.source.declared(self.names)
        wanted = held if known is None else known
        made = {
            name: Hierarchy.of(one, held[name], name)
            for name, one in given.items()
            if name in wanted
        }
        return Table(held, {name: role for name, role in roles.items() if name in held}, made)

    def of_role(self, *roles: str) -> tuple[str, ...]:
        """Return the columns of some roles."""
        told, _ = self.source.declared(self.names)
        return tuple(name for name in self.names if told.get(name, "other") in roles)

    def anonymity(self, l: int = 3) -> Anonymity:  # noqa: E741 - the letter of the literature
        """Measure k, l, c and t, as `veil.tables.anonymity` does."""
        return self.measured(l)[1]

    def measured(self, l: int) -> tuple[int, Anonymity]:  # noqa: E741
        """Return how many rows there are, and how anonymous they are."""
        if not self.of_role("qi"):
            raise no_qi()
        table, counts = self.distinct(self.of_role("qi", "confidential"))
        found = anonymity_of(table, table.confidential, l, table, counts)
        return int(counts.sum()), found

    def tabulate(self, by: Sequence[str], *, nested: Sequence[str] = ()) -> Cells:
        """Count the records of each combination of values, as `veil.tables.tabulate` does."""
        table, counts = self.distinct(tuple(dict.fromkeys(by)))
        return cells_of(table, by, None, None, nested, counts)


def _column(texts: Sequence[str | None]) -> Column:
    return Column.of_texts(texts, missing=())
