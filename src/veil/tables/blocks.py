"""Tables in files that need not fit into memory, on one machine or on a cluster."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.rng import generator, stream
from veil.core.types import Ids
from veil.data.fetch import Report, no_progress
from veil.data.files import (
    clear_stale,
    discard,
    open_folder,
    require_folder,
    whole_file,
    whole_folder,
)
from veil.data.lines import Progress, require_file
from veil.data.releases import CsvWriter
from veil.studies.pool import InlineExecutor
from veil.tables.cells.cells import Cells, cells_of
from veil.tables.column import Column, Kind, canonical, read_number, read_text
from veil.tables.files import card_content, card_of, claim_of, safe, scales_of, text_rows
from veil.tables.hierarchy import Hierarchy
from veil.tables.measures.anonymity import Anonymity, anonymity_of
from veil.tables.mechanism import Mechanism, Release, top_columns
from veil.tables.mechanisms import mechanism as named
from veil.tables.mechanisms.lattice import LatticeMethod
from veil.tables.mechanisms.randomise import PRAM, RandomResponse
from veil.tables.recount import Recount, require_claim
from veil.tables.schema import BLOCK, Source, own_types, read_blocks
from veil.tables.table import Table, declared, no_qi, unknown_column

Key = tuple[str | None, ...]  # values of some columns
_NOBODY = np.empty(0, dtype=np.int64)  # no rows
Texts = dict[str, list[str | None]]  # by column
CHANGED = "The file changed while it was read. Try again."
MOST = 20_000_000  # distinct combinations of values in memory


@dataclass(frozen=True)
class Partition:
    """A file with some of the rows of a table.

    Attributes
    ----------
    path
        Its path, which must exist for every worker of a cluster.
    sep, missing
        Column separator, if it cannot be detected; strings that mean a missing value.
    rows
        Number of rows to read at a time.
    stamp
        Its size and modification time: it is read twice, and must not change in between.
    numeric
        Columns of numbers; all values are then in their canonical form. None if unknown: values
        are as in the file.
    """

    path: Path
    sep: str | None
    missing: tuple[str, ...]
    rows: int
    stamp: tuple[int, int]
    numeric: frozenset[str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return read_blocks(self.path, self.sep, 1)[0]

    def blocks(self, progress: Progress = lambda _: None) -> Iterator[Texts]:
        """Yield blocks of rows; missing values are None."""
        names, blocks = read_blocks(self.path, self.sep, self.rows, progress)
        blank = set(self.missing)
        for block in blocks:
            yield {
                name: self._formed(name, [None if text in blank else text for text in texts])
                for name, texts in zip(names, block, strict=True)
            }
        if stamp(self.path) != self.stamp:
            raise InputError(CHANGED)

    def _formed(self, name: str, texts: list[str | None]) -> list[str | None]:
        if self.numeric is None:
            return texts
        numeric = name in self.numeric
        forms = {text: canonical(text, numeric=numeric) for text in set(texts)}
        return [forms[text] for text in texts]


def stamp(path: Path) -> tuple[int, int]:
    """Return the size and modification time of a file."""
    require_file(path, "a table")
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class Contents:
    """Combinations of values in a file, columns with any value, and columns with text."""

    counts: list["Counter[Key]"]
    nonempty: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def add(self, other: "Contents") -> None:
        """Add the contents of another file."""
        self.nonempty.update(other.nonempty)
        self.texts.update(other.texts)
        for total, part in zip(self.counts, other.counts, strict=True):
            total.update(part)
            check_few(total)

    def look(self, name: str, texts: Sequence[str | None], *, padded: bool) -> None:
        """Record whether a column has text."""
        if name in self.texts:
            return
        forms = {read_text(text) for text in set(texts) if text is not None} - {None}
        if forms:
            self.nonempty.add(name)
        if any(read_number(form, padded=padded) is None for form in forms if form is not None):
            self.texts.add(name)


def count_combinations(
    partition: Partition,
    groups: Sequence[Sequence[str]],
    padded: frozenset[str] = frozenset(),
    progress: Progress = lambda _: None,
) -> Contents:
    """Count the combinations of values of each group of columns in a file.

    In columns that are `padded` a number may have leading zeros.
    """
    contents = Contents([Counter() for _ in groups])
    for block in partition.blocks(progress):
        for name, texts in block.items():
            contents.look(name, texts, padded=name in padded)
        for counts, names in zip(contents.counts, groups, strict=True):
            counts.update(zip(*(block[name] for name in names), strict=True))
            check_few(counts)
    return contents


def check_few(counts: "Counter[Key]") -> None:
    """Raise if there are more combinations of values than fit into memory."""
    if len(counts) > MOST:
        raise InputError(
            f"These columns have more than {MOST:,} distinct combinations of values, which is too"
            " many to count. Use fewer columns, or generalise them first."
        )


_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Blocks:
    """A table that need not fit into memory.

    Attributes
    ----------
    files
        Files with the same columns; each is a partition of the rows.
    source
        Roles and other facts about the columns.
    rows
        Number of rows to read at a time.
    executor
        Executor for the files, such as that of a Dask client, whose workers need Veil and the
        files at the same paths. By default this process, file by file.
    verbatim
        Whether it is a released file, in which two spellings are two values.
    report
        Progress callback: what is done, bytes read, and total bytes.
    """

    files: tuple[Path, ...]
    source: Source
    rows: int = BLOCK
    executor: Executor = field(default_factory=InlineExecutor)
    verbatim: bool = False
    report: Report = no_progress

    @classmethod
    def of(
        cls,
        path: str | Path,
        source: Source,
        rows: int = BLOCK,
        executor: Executor | None = None,
        *,
        verbatim: bool = False,
        report: Report = no_progress,
    ) -> "Blocks":
        """Open a file, or a folder whose files are the partitions of a table."""
        location = Path(path).resolve()
        files: tuple[Path, ...] = (location,)
        if location.is_dir():
            inside = (file for file in location.iterdir() if file.suffix.lower() in _SUFFIXES)
            files = tuple(sorted(inside))
        if not files:
            raise InputError(f"The folder {location.name} contains no table files.")
        if rows < 1:
            raise InputError("A block must have at least one row.")
        inline = InlineExecutor() if executor is None else executor
        blocks = cls(files, source, rows, inline, verbatim, report)
        if any(partition.names != blocks.names for partition in blocks.partitions[1:]):
            raise InputError("The files of a table must have the same columns, in the same order.")
        return blocks

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The files as partitions."""
        missing = ("", *self.source.missing)
        sep, rows = self.source.sep, self.rows
        return tuple(Partition(file, sep, missing, rows, stamp(file)) for file in self.files)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.partitions[0].names

    def counts(self, groups: Sequence[Sequence[str]]) -> list["Counter[Key]"]:
        """Return the counts of combinations of values per group of columns, over all files."""
        for name in (name for names in groups for name in names):
            if name not in self.names:
                raise unknown_column(name, self.names)
        contents = self._contents(groups)
        if groups and not contents.counts[0]:
            raise InputError("The files have no rows.")
        if self.verbatim:
            return contents.counts
        return [
            _formed_keys(counts, [name in self.numeric for name in names])
            for counts, names in zip(contents.counts, groups, strict=True)
        ]

    @cached_property
    def types(self) -> dict[str, Kind]:
        """Types by column, as declared by the files or their owner."""
        types: dict[str, Kind] = {}
        for file in self.files:
            types |= own_types(file)
        return types | self.source.types

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns of numbers."""
        return self._numeric(self._contents(()))

    def _contents(self, groups: Sequence[Sequence[str]]) -> Contents:
        padded = frozenset(name for name, kind in self.types.items() if kind == "number")
        contents = Contents([Counter() for _ in groups])
        tasks = [
            self.executor.submit(
                count_combinations,
                partition,
                groups,
                padded,
                **self.watched(partition, "Counting"),
            )
            for partition in self.partitions
        ]
        for task in tasks:
            contents.add(task.result())
        vars(self).setdefault("numeric", self._numeric(contents))  # saves reading the files again
        return contents

    def watched(self, partition: Partition, what: str) -> dict[str, Progress]:
        """Return the progress argument for a file, if it is read in this process."""
        if not isinstance(self.executor, InlineExecutor):
            return {}
        name, size = partition.path.name, partition.stamp[0]
        return {"progress": lambda done: self.report(f"{what} {name}", done, size)}

    def _numeric(self, contents: Contents) -> frozenset[str]:
        numbers = {name for name, kind in self.types.items() if kind == "number"}
        if numbers & contents.texts and not self.verbatim:
            raise InputError("A column of type number must contain only numbers.")
        texts = {name for name, kind in self.types.items() if kind == "text"}
        return frozenset(contents.nonempty - contents.texts - texts)

    @property
    def formed(self) -> tuple[Partition, ...]:
        """The files, with values in their canonical form."""
        return tuple(replace(partition, numeric=self.numeric) for partition in self.partitions)

    def distinct(self, names: Sequence[str]) -> tuple[Table, Ids]:
        """Return the distinct rows of these columns, and the number of records of each (m,)."""
        (combinations,) = self.counts([names])
        columns = zip(*combinations, strict=True)
        table_columns = {
            name: self._column(name, texts) for name, texts in zip(names, columns, strict=True)
        }
        counts = np.fromiter(combinations.values(), dtype=np.int64, count=len(combinations))
        return self._described(table_columns), counts

    def values(self, names: Sequence[str]) -> Table:
        """Return a table with all values of these columns, without relations between columns.

        All other columns are missing.
        """
        value_counts = self.counts([[name] for name in names])
        longest = max(map(len, value_counts), default=1)
        table_columns = {name: self._column(name, (None,) * longest) for name in self.names}
        for name, counts in zip(names, value_counts, strict=True):
            table_columns[name] = self._column(
                name, list(islice(cycle(key[0] for key in counts), longest))
            )
        return self._described(table_columns, names)

    def _column(self, name: str, texts: Sequence[str | None]) -> Column:
        kind: Kind = "number" if name in self.numeric else "text"
        if self.verbatim:
            return Column.verbatim_of(texts, kind)
        return Column.of_texts(texts, (), kind)

    def empty(self, name: str) -> Column:
        """Return an empty column, of numbers or text."""
        return Column(np.empty(0, dtype=np.float64 if name in self.numeric else object))

    def _described(
        self, columns: Mapping[str, Column], named: Sequence[str] | None = None
    ) -> Table:
        roles, sources = self.source.declared(self.names)
        described = columns if named is None else named
        hierarchies = {
            name: Hierarchy.of(hierarchy, columns[name], name)
            for name, hierarchy in sources.items()
            if name in described
        }
        return Table(
            columns, {name: role for name, role in roles.items() if name in columns}, hierarchies
        )

    def of_role(self, *roles: str) -> tuple[str, ...]:
        """Return the columns with these roles."""
        declared_roles, _ = self.source.declared(self.names)
        return tuple(name for name in self.names if declared_roles.get(name, "other") in roles)

    def anonymity(self, l: int = 3) -> Anonymity:  # noqa: E741 - the letter of the literature
        """Return k, l, c and t, as `veil.tables.anonymity` does."""
        return self.measured(l)[1]

    def measured(self, l: int) -> tuple[int, Anonymity]:  # noqa: E741
        """Return the number of rows, and their anonymity."""
        if not self.of_role("qi"):
            raise no_qi()
        table, counts = self.distinct(self.of_role("qi", "confidential"))
        figures = anonymity_of(table, table.confidential, l, table, counts)
        return int(counts.sum()), figures

    def tabulate(self, by: Sequence[str], *, nested: Sequence[str] = ()) -> Cells:
        """Return the counts of each combination of values, as `veil.tables.tabulate` does."""
        if self.of_role("weight"):
            raise InputError(
                "Files that are read in blocks are counted row by row, without sampling weights."
                " Leave the weight out, or count without blocks."
            )
        table, counts = self.distinct(tuple(dict.fromkeys(by)))
        return cells_of(table, by, None, None, nested, counts)


def _formed_keys(counts: "Counter[Key]", numeric: Sequence[bool]) -> "Counter[Key]":
    forms: list[dict[str | None, str | None]] = [{} for _ in numeric]
    merged: Counter[Key] = Counter()
    for key, count in counts.items():
        form = []
        for text, by_text, number in zip(key, forms, numeric, strict=True):
            if text not in by_text:
                by_text[text] = canonical(text, numeric=number)
            form.append(by_text[text])
        merged[tuple(form)] += count
    return merged


class Work(Protocol):
    """The masking of a block."""

    def released(self, block: Texts, rng: Generator) -> Iterator[Sequence[str]]:
        """Yield the rows to release."""


@dataclass(frozen=True)
class Lookup:
    """Looks up labels that were computed for all rows before.

    Attributes
    ----------
    columns
        Columns to release.
    labels
        By group of columns, the labels of their values; None if such rows are removed.
    """

    columns: tuple[str, ...]
    labels: Mapping[tuple[str, ...], Mapping[Key, Key | None]]

    def released(self, block: Texts, rng: Generator) -> Iterator[Sequence[str]]:
        """Yield the remaining rows with their labels."""
        del rng
        texts: dict[str, Sequence[str | None]] = {name: block[name] for name in self.columns}
        n = len(next(iter(texts.values())))
        remaining = np.ones(n, dtype=np.bool_)
        for names, labels in self.labels.items():
            try:
                keys = [labels[key] for key in zip(*(block[name] for name in names), strict=True)]
            except KeyError:
                raise InputError(CHANGED) from None
            remaining &= np.array([key is not None for key in keys], dtype=np.bool_)
            blank = (None,) * len(names)
            by_column = zip(*(key or blank for key in keys), strict=True)
            texts |= dict(zip(names, by_column, strict=True))
        for at in np.flatnonzero(remaining).tolist():
            yield [texts[name][at] or "" for name in self.columns]


@dataclass(frozen=True)
class Drawing:
    """Masks blocks with a mechanism that masks each row separately."""

    method: Mechanism
    masked: tuple[str, ...]
    like: Table  # the columns to release, without rows

    def released(self, block: Texts, rng: Generator) -> Iterator[Sequence[str]]:
        """Yield the masked rows."""
        columns = {name: self._column(name, block[name]) for name in self.like.columns}
        table = Table(columns, self.like.roles, self.like.hierarchies)
        yield from text_rows(self.method.mask(table, self.masked, rng).table)

    def _column(self, name: str, texts: Sequence[str | None]) -> Column:
        kind: Kind = "number" if self.like.column(name).numeric else "text"
        try:
            return Column.of_texts(texts, (), kind)
        except InputError:
            raise InputError(CHANGED) from None


def write_partition(
    partition: Partition,
    target: Path,
    work: Work,
    names: Sequence[str],
    draws: tuple[int | None, int],
    excel_safe: bool = False,
    progress: Progress = lambda _: None,
) -> int:
    """Write the release of a file atomically, and return its number of rows.

    `draws` are a seed, or None, and the number of the file, so that each has its own random
    stream.
    """
    rng, count = stream(*draws), 0
    with (
        whole_file(target, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = CsvWriter(file)
        writer.writerow([safe(name) if excel_safe else name for name in names])
        for block in partition.blocks(progress):
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


@dataclass(frozen=True)
class Written:
    """A release that was written; the fields are those of `veil.tables.mechanism.Release`."""

    method: str
    guarantee: Guarantee
    seeded: bool
    levels: Mapping[str, int]
    suppressed: int
    rows: int  # number of rows
    roles: Mapping[str, str] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plan:
    work: Work
    guarantee: Guarantee
    levels: Mapping[str, int]
    suppressed: int
    table: Table  # released columns, roles, and known hierarchies


def protect_blocks(
    blocks: Blocks,
    method: str | Mechanism,
    out: str | Path,
    columns: Sequence[str] | None = None,
    seed: int | None = None,
    *,
    excel_safe: bool = False,
) -> Written:
    """Mask a table in files, and write it with its card: the same release as in memory.

    Lattice mechanisms (`ola`, `incognito`, `exhaustive`) need only the counts of each combination
    of quasi-identifiers and confidential values. `generalise`, `recode`, `top` and `bottom` with a
    value need the distinct values of a column. `rounding`, `pram` and `random_response` mask each
    row separately, the last two with declared categories. All others need all rows at once, and
    are rejected. A folder of files becomes a folder of files with the same names. Claims are
    checked before the files get their final names.
    """
    step, out = named(method), Path(out).resolve()
    several = len(blocks.files) > 1
    _check_out(out, several=several)
    plan = _planned(blocks, step, columns)
    released = tuple(name for name in blocks.names if name not in blocks.of_role("identifier"))
    seeded = seed is not None and step.random
    with _unfinished(out, several=several) as folder:
        targets = [
            folder / (f"{partition.path.stem}.csv" if several else out.name)
            for partition in blocks.formed
        ]
        if len(set(targets)) < len(targets):
            raise InputError("Two files of the folder have the same name. Rename one.")
        tasks = [
            blocks.executor.submit(
                write_partition,
                partition,
                target,
                plan.work,
                released,
                (seed, number),
                excel_safe,
                **blocks.watched(partition, "Protecting"),
            )
            for number, (partition, target) in enumerate(zip(blocks.formed, targets, strict=True))
        ]
        rows = sum(task.result() for task in tasks)
        written = Written(
            str(step), plan.guarantee, seeded, plan.levels, plan.suppressed, rows,
            plan.table.roles, top_columns(plan.table, plan.levels),
        )  # fmt: skip
        _check_claim(blocks, written, plan.table, targets, excel_safe=excel_safe)
        _write_card(written, plan.table, out)
    return written


@contextmanager
def _unfinished(out: Path, *, several: bool) -> Iterator[Path]:
    """Yield a folder to write to; on success it, or its single file, is renamed to `out`."""
    if several:
        with whole_folder(out, private=True) as folder:
            yield folder
        return
    clear_stale(out.parent)
    handle, folder = open_folder(out.parent)
    try:
        yield folder
        (folder / out.name).replace(out)
    finally:
        discard(handle, folder)


def _check_claim(
    blocks: Blocks, written: Written, table: Table, files: Sequence[Path], *, excel_safe: bool
) -> None:
    claim = claim_of(written.method, written.guarantee, written.roles)
    if claim is None:
        return
    tasks = [
        blocks.executor.submit(Recount.of_file, file, claim, ".csv", excel_safe=excel_safe)
        for file in files
    ]
    total = Recount()
    for task in tasks:
        total.add(task.result())
    require_claim(total, claim, scales_of(table, claim))


def _check_out(out: Path, *, several: bool) -> None:
    if several and out.exists():
        raise InputError(f"{out.name} exists already. Name another folder.")
    require_folder(out)
    if not several and out.suffix.lower() != ".csv":
        raise InputError(f"{out.name} must end in .csv: blocks are written as CSV.")


def _planned(blocks: Blocks, step: Mechanism, columns: Sequence[str] | None) -> _Plan:
    if isinstance(step, LatticeMethod):
        return _by_counts(blocks, step, columns)
    if not step.alone:
        raise InputError(
            f"{step.name} needs all rows at once, and cannot work block by block. Read the table"
            " without blocks, or use a lattice mechanism, generalise, recode, rounding, top or"
            " bottom with a value, pram or random_response."
        )
    names = dict.fromkeys((*blocks.of_role("qi", "confidential"), *(columns or ())))
    table = blocks.values(tuple(names)).without(blocks.of_role("identifier"))
    masked_columns = step.chosen(table, columns)
    _check_declared(step, table, masked_columns)
    masked = step.mask(table, masked_columns, generator())
    proved = masked.guarantee or step.guarantee
    if step.alone == "row":
        like = replace(
            table,
            held={name: Column(table.column(name).values[:0]) for name in table.columns},
        )
        work: Work = Drawing(step, masked_columns, like)
    else:
        changed = [
            name for name in masked_columns if masked.table.column(name) is not table.column(name)
        ]
        if masked.levels:
            changed = list(masked.levels)
        work = Lookup(
            table.columns,
            {(name,): _labels(table, masked.table, (name,)) for name in changed},
        )
    return _Plan(work, proved, masked.levels, 0, table)


def _by_counts(blocks: Blocks, step: LatticeMethod, columns: Sequence[str] | None) -> _Plan:
    """Plan a lattice mechanism: search by counts, and look up each combination's labels."""
    quasi = dict.fromkeys((*blocks.of_role("qi"), *(columns or ())))
    secret = blocks.of_role("confidential") if step.l is not None or step.t is not None else ()
    dropped = blocks.of_role("identifier")
    names = tuple(name for name in (*quasi, *secret) if name not in dropped)
    table, counts = blocks.distinct(names)
    masked_columns = step.chosen(table, columns)
    masked = step.masked(table, masked_columns, counts)
    assert masked.rows is not None  # noqa: S101 - a lattice method removes rows and makes none
    labels: dict[Key, Key | None] = dict.fromkeys(_keys(table, masked_columns))
    before = _keys(table.take(masked.rows), masked_columns)
    labels |= dict(zip(before, _keys(masked.table, masked_columns), strict=True))
    proved = masked.guarantee or step.guarantee
    released = tuple(name for name in blocks.names if name not in dropped)
    roles = {name: role for name, role in blocks.source.declared(blocks.names)[0].items()
             if name in released}  # fmt: skip
    nobody = {name: blocks.empty(name) for name in released}
    like = Table(nobody, roles, table.hierarchies)
    return _Plan(
        Lookup(released, {masked_columns: labels}), proved, masked.levels, masked.suppressed, like
    )


def _labels(table: Table, masked: Table, names: tuple[str, ...]) -> dict[Key, Key | None]:
    return dict(zip(_keys(table, names), _keys(masked, names), strict=True))


def _keys(table: Table, names: Sequence[str]) -> list[Key]:
    return list(zip(*(table.column(name).texts.tolist() for name in names), strict=True))


def _check_declared(step: Mechanism, table: Table, columns: Sequence[str]) -> None:
    if isinstance(step, PRAM | RandomResponse):
        for name in columns:
            if not declared(table, name, step.domain)[1]:
                raise InputError(
                    f"The categories of '{name}' must be declared to work block by block, by a"
                    " hierarchy that lists them, or domain=."
                )


def _write_card(written: Written, table: Table, out: Path) -> None:
    like = replace(table, held={name: column.take(_NOBODY) for name, column in table.held.items()})
    release = Release(
        like, written.method, written.guarantee, written.seeded, written.levels,
        written.suppressed, np.empty(0, dtype=np.int64),
    )  # fmt: skip
    with whole_file(card_of(out), private=True) as part:
        content = card_content(release) | {"rows": written.rows}
        part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
