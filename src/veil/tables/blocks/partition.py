"""One file of a table, read so many rows at a time, and what is counted of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from veil.core.errors import InputError
from veil.data.lines import require_file
from veil.tables.reading import read_blocks

Key = tuple[str | None, ...]  # values of some columns
Texts = dict[str, list[str | None]]  # by column
CHANGED = "The file changed while it was read; begin again."
MOST = 20_000_000  # different combinations of values that are held


@dataclass(frozen=True)
class Partition:
    """A file with some of the rows of a table.

    Attributes
    ----------
    path
        Where it is; on a cluster it must be there for every worker.
    sep, missing
        What separates its columns, where it does not tell; texts that mean that there is no value.
    rows
        How many are in memory at a time.
    stamp
        Its size and time when it was opened: it is read twice, and must not change between.
    """

    path: Path
    sep: str | None
    missing: tuple[str, ...]
    rows: int
    stamp: tuple[int, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it has."""
        return read_blocks(self.path, self.sep, 1)[0]

    def blocks(self) -> Iterator[Texts]:
        """Read the rows, so many at a time; None is what is missing."""
        names, blocks = read_blocks(self.path, self.sep, self.rows)
        blank = set(self.missing)
        for block in blocks:
            yield {
                name: [None if text in blank else text for text in texts]
                for name, texts in zip(names, block, strict=True)
            }
        if stamp(self.path) != self.stamp:
            raise InputError(CHANGED)


def stamp(path: Path) -> tuple[int, int]:
    """Return the size of a file, and when it was written."""
    require_file(path, "a table")
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def counted(partition: Partition, groups: Sequence[Sequence[str]]) -> list["Counter[Key]"]:
    """Count the combinations of values that each group of columns has in a file."""
    found: list[Counter[Key]] = [Counter() for _ in groups]
    for block in partition.blocks():
        for counts, names in zip(found, groups, strict=True):
            counts.update(zip(*(block[name] for name in names), strict=True))
            check_few(counts)
    return found


def check_few(counts: "Counter[Key]") -> None:
    """Raise where values can be combined in more ways than are held."""
    if len(counts) > MOST:
        raise InputError(
            f"These columns have more than {MOST:,} different combinations of values, too many to"
            " be counted; take fewer columns, or generalise them first."
        )
