"""Release a table that need not fit into memory: from files to files."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.rng import generator
from veil.data.files import require_folder, whole_file, whole_folder
from veil.tables.anonymise.lattice import LatticeMethod
from veil.tables.blocks.partition import Key
from veil.tables.blocks.plan import Drawing, Lookup, Work, written
from veil.tables.blocks.table import Blocks
from veil.tables.column import Column
from veil.tables.domains import declared
from veil.tables.method import Method
from veil.tables.methods import method as named
from veil.tables.methods.pram import PRAM
from veil.tables.methods.random_response import RandomResponse
from veil.tables.release import Release
from veil.tables.save import card_of, document
from veil.tables.table import Table


@dataclass(frozen=True)
class Written:
    """What was written; the fields are those of `veil.tables.release.Release`."""

    method: str
    guarantee: Guarantee
    seeded: bool
    levels: Mapping[str, int]
    suppressed: int
    rows: int  # how many; which they were stands nowhere
    roles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Plan:
    work: Work
    guarantee: Guarantee
    levels: Mapping[str, int]
    suppressed: int
    table: Table


def protect_blocks(
    blocks: Blocks,
    method: str | Method,
    out: Path,
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
    and are refused. A folder of files becomes a folder of files of the same names.
    """
    step, out = named(method), out.resolve()
    several = len(blocks.files) > 1
    _check_out(out, several=several)
    plan = _planned(blocks, step, columns)
    released = tuple(name for name in blocks.names if name not in blocks.of_role("identifier"))
    seeded = seed is not None and step.random
    with whole_folder(out, private=True) if several else nullcontext() as folder:
        targets = [
            out if folder is None else folder / f"{one.path.stem}.csv" for one in blocks.partitions
        ]
        if len(set(targets)) < len(targets):
            raise InputError("Two files of the folder have one name; rename one.")
        tasks = [
            blocks.executor.submit(
                written, one, target, plan.work, released, (seed, number), excel_safe
            )
            for number, (one, target) in enumerate(zip(blocks.partitions, targets, strict=True))
        ]
        rows = sum(task.result() for task in tasks)
        made = Written(
            str(step), plan.guarantee, seeded, plan.levels, plan.suppressed, rows, plan.table.roles
        )
        try:
            _write_card(made, plan.table, out)
        except BaseException:  # what has no card does not say whether it was seeded
            if folder is None:
                out.unlink(missing_ok=True)
            raise
    return made


def _check_out(out: Path, *, several: bool) -> None:
    if several and out.exists():
        raise InputError(f"{out.name} is there already; name a folder that is not.")
    require_folder(out)
    if not several and out.suffix.lower() != ".csv":
        raise InputError(f"{out.name} must end in .csv: blocks are written as CSV.")


def _planned(blocks: Blocks, step: Method, columns: Sequence[str] | None) -> _Plan:
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
    like = Table({name: Column(np.empty(0, dtype=object)) for name in kept}, roles)
    return _Plan(Lookup(kept, {chosen: labels}), proved, masked.levels, masked.suppressed, like)


def _labels(table: Table, masked: Table, names: tuple[str, ...]) -> dict[Key, Key | None]:
    return dict(zip(_keys(table, names), _keys(masked, names), strict=True))


def _keys(table: Table, names: Sequence[str]) -> list[Key]:
    return list(zip(*(table.column(name).texts.tolist() for name in names), strict=True))


def _check_declared(step: Method, table: Table, chosen: Sequence[str]) -> None:
    """Refuse to draw among categories of which a block need not have all."""
    if isinstance(step, PRAM | RandomResponse):
        for name in chosen:
            if not declared(table, name, step.domain)[1]:
                raise InputError(
                    f"The categories of '{name}' must be declared to be drawn block by block, by a"
                    " hierarchy that lists them, or domain=."
                )


def _write_card(made: Written, table: Table, out: Path) -> None:
    like = replace(table, held={name: Column(np.empty(0, dtype=object)) for name in table.columns})
    release = Release(
        like, made.method, made.guarantee, made.seeded, made.levels, made.suppressed,
        np.empty(0, dtype=np.int64),
    )  # fmt: skip
    with whole_file(card_of(out), private=True) as part:
        told = document(release) | {"rows": made.rows}
        part.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
