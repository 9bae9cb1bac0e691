"""Points of the plane from files: variants, the runs that answer them, and what is scored."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from veil.core.errors import InputError, VeilError
from veil.core.formatting import count_of
from veil.corpus.collection import Judgements
from veil.corpus.trec import Run, read_run
from veil.data.lines import suffix_of
from veil.data.rows import Header, read_rows
from veil.text.mechanisms.catalogue import names as known_names
from veil.text.mechanisms.catalogue import read
from veil.text.variants import VariantTable, read_variants

_SWEPT = ("epsilon", "level", "window", "cell")  # what a spec is swept by, the first that it has
_AS_HERE = {("fea", "level"): "window"}  # what the papers' files call otherwise
_NAMED = re.compile(r"(?:^|[^A-Za-z0-9])([A-Za-z]+)[^A-Za-z0-9]*([0-9]+(?:\.[0-9]+)?)$")
_ENDINGS = (".run", ".res", ".trec", ".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True)
class RunPoint:
    """Variants of one mechanism with one value of its parameter.

    Attributes
    ----------
    name, parameter, value
        The mechanism, what is swept of it, and to what; a mechanism that Veil has is called as
        Veil calls it.
    spec
        All that is known of it, written as a spec.
    file
        Where the variants stand.
    run
        The file of the ranked lists, one for each query.
    """

    name: str
    parameter: str
    value: float
    spec: str
    table: VariantTable
    file: Path
    run: Path | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.parameter}={self.value:g}" if self.parameter else self.name


def stem(path: Path) -> str:
    """Return the name of a file without what tells its format."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return name[: -len(suffix_of(path))] if suffix_of(path) in _ENDINGS else name


def point_of(table: VariantTable, file: Path) -> RunPoint:
    """Name what a table of variants was made with: as its columns say, else the file's name."""
    if not table.mechanism:
        table = _by_file_name(table, file)
    name, parameter, told, spec = _named(table)
    try:
        value = float(told or 0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{file.name} gives a {parameter} of {name[:40]} that is no number; the values of a"
            " parameter are numbers, the larger the more useful."
        )
    return RunPoint(name, parameter, value, spec, table, file)


def _by_file_name(table: VariantTable, file: Path) -> VariantTable:
    found = _NAMED.search(stem(file))
    if found is None:
        raise InputError(
            f"{file.name} does not say how its variants were made; add the columns mechanism and"
            " epsilon, or call the file by them, as in CMP_10.csv."
        )
    parameter = table.parameter or "parameter"
    return replace(table, mechanism=found[1], parameter=parameter, value=table.value or found[2])


def _named(table: VariantTable) -> tuple[str, str, str, str]:
    """Return name, parameter, value and spec of the mechanism that a table names."""
    name = table.mechanism
    if "(" in name:
        try:
            cls, fields = read(name)
        except VeilError:
            return name, table.parameter, table.value, _spec(name, table.parameter, table.value)
        swept = next((each for each in _SWEPT if each in fields), table.parameter)
        return cls.name, swept, str(fields.get(swept, table.value)), name
    known = name.casefold() if name.casefold() in known_names() else name
    parameter = _AS_HERE.get((known, table.parameter), table.parameter)
    return known, parameter, table.value, _spec(known, parameter, table.value)


def _spec(name: str, parameter: str, value: str) -> str:
    return f"{name}({parameter}={value})" if parameter else name


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WORDS = re.compile(r"[A-Za-z]+|[0-9]+(?:\.[0-9]+)?")
_MANIFEST = ("variants", "run", "mechanism", "parameter", "value")


def points_in(files: Iterable[Path]) -> list[RunPoint]:
    """Read files of variants; each mechanism with each value of its parameter is a point."""
    return [point_of(table, file) for file in files for table in read_variants(file)]


def paired(points: Sequence[RunPoint], runs: Sequence[Path]) -> list[RunPoint]:
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


def _run(point: RunPoint, runs: Sequence[Path], *, alone: bool) -> RunPoint:
    same = [run for run in runs if alone and stem(run) == stem(point.file)]
    fitting = same or [run for run in runs if _fits(point, stem(run))]
    if len(fitting) != 1:
        many = f"{len(fitting)} runs fit" if fitting else "There is no run for"
        raise InputError(
            f"{many} {point}; call a run by the mechanism and the value of its parameter, as in"
            f" {point.name}_{point.value:g}.run, or write a manifest (--manifest)."
        )
    return replace(point, run=fitting[0])


def _fits(point: RunPoint, name: str) -> bool:
    """Whether a name has the mechanism as a word of its own, and then the value."""
    words = _WORDS.findall(name)
    wanted = {point.name.casefold(), point.table.mechanism.casefold()}
    places = [i for i, word in enumerate(words) if word.casefold() in wanted]
    if not places:
        return False
    numbers = [float(word) for word in words[places[-1] :] if _NUMBER.fullmatch(word)]
    return not point.parameter or point.value in numbers[:1]


def read_manifest(path: Path) -> list[RunPoint]:
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


@dataclass(frozen=True)
class ScoreInput:
    """Points, their runs and the judgements, on the same queries in the same order.

    Attributes
    ----------
    names, texts
        The queries of the variants of which a relevant document is known.
    unjudged
        How many others there are; they are left out.
    """

    points: tuple[RunPoint, ...]
    runs: Mapping[Path, Run]
    judgements: Judgements
    names: tuple[str, ...]
    texts: tuple[str, ...]
    unjudged: int = 0
    plain: Path | None = None

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Most variants of a query, by mechanism: one that finds fewer was asked for as many."""
        found: dict[str, int] = {}
        for point in self.points:
            most = max((len(row) for row in point.table.rows), default=0)
            found[point.name] = max(most, found.get(point.name, 1))
        return found

    def rows(self, point: RunPoint) -> list[tuple[str, ...]]:
        """Return the variants of each query; none where the file has none."""
        held = dict(zip(point.table.ids, point.table.rows, strict=True))
        return [held.get(name, ()) for name in self.names]

    def lists(self, run: Path) -> list[list[str]]:
        """Return the documents for each query; none where the run has none."""
        return [self.runs[run].get(name, []) for name in self.names]


def material(
    points: Sequence[RunPoint], judgements: Judgements, qrels: str, plain: Path | None = None
) -> ScoreInput:
    """Read the runs, and see that everything is about the same queries."""
    _check_curves(points)
    originals = _originals(points)
    names = [
        name for name in originals if any(grade > 0 for grade in judgements.get(name, {}).values())
    ]
    if not names:
        raise InputError(
            f"{qrels} judges none of the {len(originals):,} queries of the variants; the ids of"
            " both must be the same: is it of another set of queries?"
        )
    for point in points:
        if not {*point.table.ids} & {*names}:
            raise InputError(
                f"{point.file.name} has no query that the other files have; score the variants of"
                " one set of queries at a time."
            )
    paths = dict.fromkeys(point.run for point in points if point.run is not None)
    runs = {path: read_run(path) for path in (*paths, *([plain] if plain else []))}
    for path, run in runs.items():
        if not {*run} & {*names}:
            raise InputError(
                f"The run {path.name} answers none of the queries of the variants; its ids must"
                " be theirs: is it of another set of queries?"
            )
    texts = tuple(originals[name] for name in names)
    lost = len(originals) - len(names)
    return ScoreInput(tuple(points), runs, judgements, tuple(names), texts, lost, plain)


def _check_curves(points: Sequence[RunPoint]) -> None:
    """See that there is a curve: a score is an area, and one point has none."""
    places: dict[tuple[str, str], set[float]] = {}
    for point in points:
        values = places.setdefault((point.name, point.parameter), set())
        if point.value in values and [one.spec for one in points].count(point.spec) > 1:
            raise InputError(f"There are variants of {point} twice; keep one of them.")
        values.add(point.value)
    if all(len(values) < 2 for values in places.values()):
        raise InputError(
            f"A QuIPU score needs a curve, and there is {count_of(len(places), 'mechanism')} with"
            " one point only; give variants and runs for another value of the parameter, too."
        )


def _originals(points: Sequence[RunPoint]) -> dict[str, str]:
    """Return the text of each query, which must be the same in all files."""
    found: dict[str, str] = {}
    for point in points:
        for name, text in zip(point.table.ids, point.table.originals, strict=True):
            if found.setdefault(name, text) != text:
                raise InputError(
                    f"{point.file.name} has an id that stands for another text in another file;"
                    " score the variants of one set of queries at a time."
                )
    return found
