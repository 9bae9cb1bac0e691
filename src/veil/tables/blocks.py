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
_NOBODY = np.empty(0, dtype=np.int64)  # rows
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
    numeric
        Columns of numbers, whose values are then in their canonical form, as are texts; None while
        that is not known: values are as they were read.
    """

    path: Path
    sep: str | None
    missing: tuple[str, ...]
    rows: int
    stamp: tuple[int, int]
    numeric: frozenset[str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it has."""
        return read_blocks(self.path, self.sep, 1)[0]

    def blocks(self, progress: Progress = lambda _: None) -> Iterator[Texts]:
        """Read the rows, so many at a time; None is what is missing."""
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
    """Return the size of a file, and when it was written."""
    require_file(path, "a table")
    found = path.stat()
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class Seen:
    """What a file has: combinations of values, columns with values, and those that have texts."""

    counts: list["Counter[Key]"]
    filled: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def add(self, other: "Seen") -> None:
        """Add what another file has."""
        self.filled.update(other.filled)
        self.texts.update(other.texts)
        for total, part in zip(self.counts, other.counts, strict=True):
            total.update(part)
            check_few(total)

    def look(self, name: str, texts: Sequence[str | None], *, padded: bool) -> None:
        """Find out whether a column has texts."""
        if name in self.texts:
            return
        forms = {read_text(text) for text in set(texts) if text is not None} - {None}
        if forms:
            self.filled.add(name)
        if any(read_number(form, padded=padded) is None for form in forms if form is not None):
            self.texts.add(name)


def count_combinations(
    partition: Partition,
    groups: Sequence[Sequence[str]],
    padded: frozenset[str] = frozenset(),
    progress: Progress = lambda _: None,
) -> Seen:
    """Count the combinations of values that each group of columns has in a file.

    In columns that are `padded` a number may have leading zeros.
    """
    found = Seen([Counter() for _ in groups])
    for block in partition.blocks(progress):
        for name, texts in block.items():
            found.look(name, texts, padded=name in padded)
        for counts, names in zip(found.counts, groups, strict=True):
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
    verbatim
        Whether it is a released file, in which what is spelled in two ways is two values.
    report
        Who is told what is going on, how many bytes were read and of how many.
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
        given = Path(path).resolve()
        files: tuple[Path, ...] = (given,)
        if given.is_dir():
            inside = (one for one in given.iterdir() if one.suffix.lower() in _SUFFIXES)
            files = tuple(sorted(inside))
        if not files:
            raise InputError(f"The folder {given.name} has no file of a table.")
        if rows < 1:
            raise InputError("A block must have at least one row.")
        inline = InlineExecutor() if executor is None else executor
        made = cls(files, source, rows, inline, verbatim, report)
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
        seen = self._seen(groups)
        if groups and not seen.counts[0]:
            raise InputError("The files have no rows.")
        if self.verbatim:
            return seen.counts
        return [
            _formed_keys(counts, [name in self.numeric for name in names])
            for counts, names in zip(seen.counts, groups, strict=True)
        ]

    @cached_property
    def types(self) -> dict[str, Kind]:
        """Columns that are said to have texts, or numbers: by the files, or by their owner."""
        made: dict[str, Kind] = {}
        for file in self.files:
            made |= own_types(file)
        return made | self.source.types

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns of numbers."""
        return self._numeric(self._seen(()))

    def _seen(self, groups: Sequence[Sequence[str]]) -> Seen:
        padded = frozenset(name for name, kind in self.types.items() if kind == "number")
        seen = Seen([Counter() for _ in groups])
        tasks = [
            self.executor.submit(
                count_combinations, one, groups, padded, **self.watched(one, "Counting")
            )
            for one in self.partitions
        ]
        for task in tasks:
            seen.add(task.result())
        vars(self).setdefault("numeric", self._numeric(seen))  # so that no file is read for it
        return seen

    def watched(self, partition: Partition, what: str) -> dict[str, Progress]:
        """Return how a file that is read in this process says how far it is; else nothing."""
        if not isinstance(self.executor, InlineExecutor):
            return {}
        name, size = partition.path.name, partition.stamp[0]
        return {"progress": lambda done: self.report(f"{what} {name}", done, size)}

    def _numeric(self, seen: Seen) -> frozenset[str]:
        numbers = {name for name, kind in self.types.items() if kind == "number"}
        if numbers & seen.texts and not self.verbatim:
            raise InputError("A column that is said to have numbers must have no other texts.")
        texts = {name for name, kind in self.types.items() if kind == "text"}
        return frozenset(seen.filled - seen.texts - texts)

    @property
    def formed(self) -> tuple[Partition, ...]:
        """The files, with values in their canonical forms."""
        return tuple(replace(one, numeric=self.numeric) for one in self.partitions)

    def distinct(self, names: Sequence[str]) -> tuple[Table, Ids]:
        """Return the different rows of some columns, and how many records each is of (m,)."""
        (found,) = self.counts([names])
        columns = zip(*found, strict=True)
        held = {
            name: self._column(name, texts) for name, texts in zip(names, columns, strict=True)
        }
        counts = np.fromiter(found.values(), dtype=np.int64, count=len(found))
        return self._described(held), counts

    def values(self, names: Sequence[str]) -> Table:
        """Return a table with all values of some columns, which are in no relation there.

        Columns that are not named have no value in it.
        """
        found = self.counts([[name] for name in names])
        longest = max(map(len, found), default=1)
        held = {name: self._column(name, (None,) * longest) for name in self.names}
        for name, counts in zip(names, found, strict=True):
            held[name] = self._column(name, list(islice(cycle(key[0] for key in counts), longest)))
        return self._described(held, names)

    def _column(self, name: str, texts: Sequence[str | None]) -> Column:
        kind: Kind = "number" if name in self.numeric else "text"
        if self.verbatim:
            return Column.verbatim_of(texts, kind)
        return Column.of_texts(texts, (), kind)

    def empty(self, name: str) -> Column:
        """Return a column of no rows, of numbers or of texts."""
        return Column(np.empty(0, dtype=np.float64 if name in self.numeric else object))

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
        if self.of_role("weight"):
            raise InputError(
                "A file that is read in blocks is counted row by row, without sampling weights;"
                " leave the weight out, or count it without blocks."
            )
        table, counts = self.distinct(tuple(dict.fromkeys(by)))
        return cells_of(table, by, None, None, nested, counts)


def _formed_keys(counts: "Counter[Key]", numeric: Sequence[bool]) -> "Counter[Key]":
    """Count combinations whose values have the same canonical forms together."""
    forms: list[dict[str | None, str | None]] = [{} for _ in numeric]
    made: Counter[Key] = Counter()
    for key, count in counts.items():
        form = []
        for text, known, number in zip(key, forms, numeric, strict=True):
            if text not in known:
                known[text] = canonical(text, numeric=number)
            form.append(known[text])
        made[tuple(form)] += count
    return made


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

    method: Mechanism
    chosen: tuple[str, ...]
    like: Table  # the columns that are released: what they are, and no row of the table

    def released(self, block: Texts, rng: Generator) -> Iterator[Sequence[str]]:
        """Yield the rows as the method makes them."""
        held = {name: self._column(name, block[name]) for name in self.like.columns}
        table = Table(held, self.like.roles, self.like.hierarchies)
        yield from text_rows(self.method.mask(table, self.chosen, rng).table)

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
    """Write what is released of a file, whole or not at all; return how many rows.

    `draws` are a seed, or None, and the number of the file: each has a stream of its own.
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
    """What was written; the fields are those of `veil.tables.mechanism.Release`."""

    method: str
    guarantee: Guarantee
    seeded: bool
    levels: Mapping[str, int]
    suppressed: int
    rows: int  # how many; which they were stands nowhere
    roles: Mapping[str, str] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plan:
    work: Work
    guarantee: Guarantee
    levels: Mapping[str, int]
    suppressed: int
    table: Table  # columns that are released, roles, and hierarchies as far as they are known


def protect_blocks(
    blocks: Blocks,
    method: str | Mechanism,
    out: str | Path,
    columns: Sequence[str] | None = None,
    seed: int | None = None,
    *,
    excel_safe: bool = False,
) -> Written:
    """Mask a table in files, and write it with its card; the same release as in memory.

    Lattice methods (`ola`, `incognito`, `exhaustive`) need only how often each combination of
    quasi-identifiers and confidential values occurs; `generalise`, `recode`, `top` and `bottom` by
    a value need the different values of a column; `rounding`, `pram` and `random_response` take
    each row by itself, the last two with declared categories. All others need all rows at once,
    and are refused. A folder of files becomes a folder of files of the same names. What is claimed
    is counted in the files before they get their names.
    """
    step, out = named(method), Path(out).resolve()
    several = len(blocks.files) > 1
    _check_out(out, several=several)
    plan = _planned(blocks, step, columns)
    released = tuple(name for name in blocks.names if name not in blocks.of_role("identifier"))
    seeded = seed is not None and step.random
    with _unfinished(out, several=several) as folder:
        targets = [
            folder / (f"{one.path.stem}.csv" if several else out.name) for one in blocks.formed
        ]
        if len(set(targets)) < len(targets):
            raise InputError("Two files of the folder have one name; rename one.")
        tasks = [
            blocks.executor.submit(
                write_partition,
                one,
                target,
                plan.work,
                released,
                (seed, number),
                excel_safe,
                **blocks.watched(one, "Protecting"),
            )
            for number, (one, target) in enumerate(zip(blocks.formed, targets, strict=True))
        ]
        rows = sum(task.result() for task in tasks)
        made = Written(
            str(step), plan.guarantee, seeded, plan.levels, plan.suppressed, rows,
            plan.table.roles, top_columns(plan.table, plan.levels),
        )  # fmt: skip
        _check_claim(blocks, made, plan.table, targets, excel_safe=excel_safe)
        _write_card(made, plan.table, out)
    return made


@contextmanager
def _unfinished(out: Path, *, several: bool) -> Iterator[Path]:
    """Give a folder to write to; on success it, or the one file in it, gets the name `out`."""
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
    blocks: Blocks, made: Written, table: Table, files: Sequence[Path], *, excel_safe: bool
) -> None:
    """Raise if what was written does not keep its claim, counted anew over all files."""
    claim = claim_of(made.method, made.guarantee, made.roles)
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
        raise InputError(f"{out.name} is there already; name a folder that is not.")
    require_folder(out)
    if not several and out.suffix.lower() != ".csv":
        raise InputError(f"{out.name} must end in .csv: blocks are written as CSV.")


def _planned(blocks: Blocks, step: Mechanism, columns: Sequence[str] | None) -> _Plan:
    if isinstance(step, LatticeMethod):
        return _by_counts(blocks, step, columns)
    if not step.alone:
        raise InputError(
            f"{step.name} needs all rows of a table at once, and cannot work block by block; open"
            " it whole, or use a lattice method, generalise, recode, rounding, top or bottom by a"
            " value, pram or random_response."
        )
    wanted = dict.fromkeys((*blocks.of_role("qi", "confidential"), *(columns or ())))
    table = blocks.values(tuple(wanted)).without(blocks.of_role("identifier"))
    chosen = step.chosen(table, columns)
    _check_declared(step, table, chosen)
    masked = step.mask(table, chosen, generator())
    proved = masked.guarantee or step.guarantee
    if step.alone == "row":
        like = replace(
            table,
            held={name: Column(table.column(name).values[:0]) for name in table.columns},
        )
        work: Work = Drawing(step, chosen, like)
    else:
        changed = [name for name in chosen if masked.table.column(name) is not table.column(name)]
        if masked.levels:
            changed = list(masked.levels)
        work = Lookup(
            table.columns,
            {(name,): _labels(table, masked.table, (name,)) for name in changed},
        )
    return _Plan(work, proved, masked.levels, 0, table)


def _by_counts(blocks: Blocks, step: LatticeMethod, columns: Sequence[str] | None) -> _Plan:
    """Search the lattice by counts, and find what each combination of values becomes."""
    known = dict.fromkeys((*blocks.of_role("qi"), *(columns or ())))
    secret = blocks.of_role("confidential") if step.l is not None or step.t is not None else ()
    dropped = blocks.of_role("identifier")
    names = tuple(name for name in (*known, *secret) if name not in dropped)
    table, counts = blocks.distinct(names)
    chosen = step.chosen(table, columns)
    masked = step.masked(table, chosen, counts)
    assert masked.rows is not None  # noqa: S101 - a lattice method removes rows and makes none
    labels: dict[Key, Key | None] = dict.fromkeys(_keys(table, chosen))
    before = _keys(table.take(masked.rows), chosen)
    labels |= dict(zip(before, _keys(masked.table, chosen), strict=True))
    proved = masked.guarantee or step.guarantee
    kept = tuple(name for name in blocks.names if name not in dropped)
    roles = {name: role for name, role in blocks.source.declared(blocks.names)[0].items()
             if name in kept}  # fmt: skip
    nobody = {name: blocks.empty(name) for name in kept}
    like = Table(nobody, roles, table.hierarchies)
    return _Plan(Lookup(kept, {chosen: labels}), proved, masked.levels, masked.suppressed, like)


def _labels(table: Table, masked: Table, names: tuple[str, ...]) -> dict[Key, Key | None]:
    return dict(zip(_keys(table, names), _keys(masked, names), strict=True))


def _keys(table: Table, names: Sequence[str]) -> list[Key]:
    return list(zip(*(table.column(name).texts.tolist() for name in names), strict=True))


def _check_declared(step: Mechanism, table: Table, chosen: Sequence[str]) -> None:
    """Refuse to draw among categories of which a block need not have all."""
    if isinstance(step, PRAM | RandomResponse):
        for name in chosen:
            if not declared(table, name, step.domain)[1]:
                raise InputError(
                    f"The categories of '{name}' must be declared to be drawn block by block, by a"
                    " hierarchy that lists them, or domain=."
                )


def _write_card(made: Written, table: Table, out: Path) -> None:
    like = replace(table, held={name: column.take(_NOBODY) for name, column in table.held.items()})
    release = Release(
        like, made.method, made.guarantee, made.seeded, made.levels, made.suppressed,
        np.empty(0, dtype=np.int64),
    )  # fmt: skip
    with whole_file(card_of(out), private=True) as part:
        told = card_content(release) | {"rows": made.rows}
        part.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
