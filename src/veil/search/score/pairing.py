"""Which run answers which variants: by the names of the files, or as a manifest says."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from veil.core.errors import InputError
from veil.data.rows import Header, read_rows
from veil.search.score.points import Point, point_of, stem
from veil.text.variants import VariantTable, read_variants

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WORDS = re.compile(r"[A-Za-z]+|[0-9]+(?:\.[0-9]+)?")
_MANIFEST = ("variants", "run", "mechanism", "parameter", "value")


def points_in(files: Iterable[Path]) -> list[Point]:
    """Read files of variants; each mechanism with each value of its parameter is a point."""
    return [point_of(table, file) for file in files for table in read_variants(file)]


def paired(points: Sequence[Point], runs: Sequence[Path]) -> list[Point]:
    """Give each point its run.

    That is the run of the same name as the file of the variants, if that holds one point alone;
    else the one whose name has the mechanism and then the value, as in ``dl19_CMP_12.5.run``.
    """
    files = [point.file for point in points]
    found = [_run(point, runs, alone=files.count(point.file) == 1) for point in points]
    idle = [run for run in runs if run not in [point.run for point in found]]
    if idle:
        raise InputError(
            f"The run {idle[0].name} belongs to no variants; name their file, too, or leave the"
            " run out."
        )
    return found


def _run(point: Point, runs: Sequence[Path], *, alone: bool) -> Point:
    same = [run for run in runs if alone and stem(run) == stem(point.file)]
    fitting = same or [run for run in runs if _fits(point, stem(run))]
    if len(fitting) != 1:
        many = f"{len(fitting)} runs fit" if fitting else "There is no run for"
        raise InputError(
            f"{many} {point}; call a run by the mechanism and the value of its parameter, as in"
            f" {point.name}_{point.value:g}.run, or write a manifest (--manifest)."
        )
    return replace(point, run=fitting[0])


def _fits(point: Point, name: str) -> bool:
    """Whether a name has the mechanism as a word of its own, and then the value."""
    words = _WORDS.findall(name)
    wanted = {point.name.casefold(), point.table.mechanism.casefold()}
    places = [i for i, word in enumerate(words) if word.casefold() in wanted]
    if not places:
        return False
    numbers = [float(word) for word in words[places[-1] :] if _NUMBER.fullmatch(word)]
    return not point.parameter or point.value in numbers[:1]


def read_manifest(path: Path) -> list[Point]:
    """Read which run belongs to which variants: a table with the columns variants and run.

    Columns mechanism, parameter and value say of what the variants are where their file does not,
    or which of those that the file holds are meant. Paths start from the manifest's folder.
    """
    known: dict[Path, tuple[VariantTable, ...]] = {}
    found = []
    for row in read_rows(path, _pick):
        variants, run, *told = ("" if one is None else str(one).strip() for one in row.values)
        where = row.where(path.name)
        if not variants or not run:
            raise InputError(f"{where} must name a file of variants and a run; repair it.")
        file = path.parent / variants
        if file not in known:
            known[file] = read_variants(file)
        point = point_of(_chosen(known[file], told, where), file)
        found.append(replace(point, run=path.parent / run))
    if not found:
        raise InputError(f"{path.name} is empty; it must name variants and their runs.")
    return found


def _pick(header: Header) -> tuple[int, ...]:
    places = [header.find((name,)) for name in _MANIFEST]
    if -1 in places[:2]:
        raise InputError(
            f"{header.where} must have the columns variants and run, and may have mechanism,"
            " parameter and value."
        )
    return tuple(places)


def _chosen(tables: Sequence[VariantTable], told: Sequence[str], where: str) -> VariantTable:
    """Return the table that a line means, with the names that it gives."""
    mechanism, parameter, value = told
    if len(tables) == 1:
        (only,) = tables
        named = parameter or only.parameter or ("parameter" if value else "")
        return replace(
            only,
            mechanism=mechanism or only.mechanism,
            parameter=named,
            value=value or only.value,
        )
    fitting = [
        table
        for table in tables
        if mechanism.casefold() in ("", table.mechanism.casefold())
        and (not value or _equal(value, table.value))
    ]
    if len(fitting) != 1:
        raise InputError(
            f"{where} must say by mechanism and value which one of {len(tables)} results in its"
            f" file it means; {len(fitting)} fit."
        )
    return fitting[0]


def _equal(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other
