"""Read the points to score: files of variants, and the runs that answer them."""

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

_SWEPT = ("epsilon", "level", "window", "cell")  # swept parameters; a spec's first one counts
_RENAMED = {("fea", "level"): "window"}  # parameters that the papers' files call differently
_NAME_AND_VALUE = re.compile(r"(?:^|[^A-Za-z0-9])([A-Za-z]+)[^A-Za-z0-9]*([0-9]+(?:\.[0-9]+)?)$")
_ENDINGS = (".run", ".res", ".trec", ".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True)
class RunPoint:
    """Variants of one mechanism with one value of its parameter.

    Attributes
    ----------
    name, parameter, value
        The mechanism, its swept parameter and the value. Mechanisms of Veil have their Veil name.
    spec
        The mechanism with its known parameters, as a spec.
    file
        The file of the variants.
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
    """Return the name of a file without the suffixes of its format."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return name[: -len(suffix_of(path))] if suffix_of(path) in _ENDINGS else name


def point_of(table: VariantTable, file: Path) -> RunPoint:
    """Return the point of a table of variants, named by its columns or else by the file's name."""
    if not table.mechanism:
        table = _by_file_name(table, file)
    name, parameter, text, spec = _parse_mechanism(table)
    try:
        value = float(text or 0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{file.name} has a {parameter} of {name[:40]} that is not a number. Values must be"
            " numbers; larger values must give more utility."
        )
    return RunPoint(name, parameter, value, spec, table, file)


def _by_file_name(table: VariantTable, file: Path) -> VariantTable:
    match = _NAME_AND_VALUE.search(stem(file))
    if match is None:
        raise InputError(
            f"{file.name} does not name the mechanism of its variants. Add the columns mechanism"
            " and epsilon, or put both in the file name, such as CMP_10.csv."
        )
    parameter = table.parameter or "parameter"
    return replace(table, mechanism=match[1], parameter=parameter, value=table.value or match[2])


def _parse_mechanism(table: VariantTable) -> tuple[str, str, str, str]:
    """Return name, parameter, value and spec of the mechanism that a table names."""
    name = table.mechanism
    if "(" in name:
        try:
            cls, fields = read(name)
        except VeilError:
            return name, table.parameter, table.value, _spec(name, table.parameter, table.value)
        swept = next((field for field in _SWEPT if field in fields), table.parameter)
        return cls.name, swept, str(fields.get(swept, table.value)), name
    registered = name.casefold() if name.casefold() in known_names() else name
    parameter = _RENAMED.get((registered, table.parameter), table.parameter)
    return registered, parameter, table.value, _spec(registered, parameter, table.value)


def _spec(name: str, parameter: str, value: str) -> str:
    return f"{name}({parameter}={value})" if parameter else name


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WORDS = re.compile(r"[A-Za-z]+|[0-9]+(?:\.[0-9]+)?")
_MANIFEST = ("variants", "run", "mechanism", "parameter", "value")


def points_in(files: Iterable[Path]) -> list[RunPoint]:
    """Return the points in files of variants, one per mechanism and value of its parameter."""
    return [point_of(table, file) for file in files for table in read_variants(file)]


def paired(points: Sequence[RunPoint], runs: Sequence[Path]) -> list[RunPoint]:
    """Return each point with its run.

    If a file of variants has a single point, its run may have the same name as the file.
    Otherwise the run's name must contain the mechanism and then the value, as in
    ``dl19_CMP_12.5.run``.
    """
    files = [point.file for point in points]
    pairs = [_run(point, runs, single=files.count(point.file) == 1) for point in points]
    idle = [run for run in runs if run not in [point.run for point in pairs]]
    if idle:
        raise InputError(
            f"The run {idle[0].name} belongs to no variants. Add their file, or remove the run."
        )
    return pairs


def _run(point: RunPoint, runs: Sequence[Path], *, single: bool) -> RunPoint:
    same = [run for run in runs if single and stem(run) == stem(point.file)]
    fitting = same or [run for run in runs if _fits(point, stem(run))]
    if len(fitting) != 1:
        count = f"{len(fitting)} runs match" if fitting else "No run matches"
        raise InputError(
            f"{count} {point}. Name a run after the mechanism and the value of its parameter, such"
            f" as {point.name}_{point.value:g}.run, or write a manifest (--manifest)."
        )
    return replace(point, run=fitting[0])


def _fits(point: RunPoint, name: str) -> bool:
    """Return whether a name contains the mechanism as a separate word, and then the value."""
    words = _WORDS.findall(name)
    labels = {point.name.casefold(), point.table.mechanism.casefold()}
    positions = [i for i, word in enumerate(words) if word.casefold() in labels]
    if not positions:
        return False
    numbers = [float(word) for word in words[positions[-1] :] if _NUMBER.fullmatch(word)]
    return not point.parameter or point.value in numbers[:1]


def read_manifest(path: Path) -> list[RunPoint]:
    """Return the points of a manifest: a table with the columns variants and run.

    The optional columns mechanism, parameter and value describe variants whose file does not, or
    select from a file with several points. Paths are relative to the manifest's folder.
    """
    tables: dict[Path, tuple[VariantTable, ...]] = {}
    points = []
    for row in read_rows(path, _pick):
        cells = ["" if cell is None else str(cell).strip() for cell in row.values]
        variants, run, *labels = cells
        where = row.where(path.name)
        if not variants or not run:
            raise InputError(f"{where} must name a file of variants and a run. Repair the file.")
        file = path.parent / variants
        if file not in tables:
            tables[file] = read_variants(file)
        point = point_of(_select_table(tables[file], labels, where), file)
        points.append(replace(point, run=path.parent / run))
    if not points:
        raise InputError(f"{path.name} is empty. Add files of variants and their runs.")
    return points


def _pick(header: Header) -> tuple[int, ...]:
    columns = [header.find((name,)) for name in _MANIFEST]
    if -1 in columns[:2]:
        raise InputError(
            f"{header.where} must have the columns variants and run, and may have mechanism,"
            " parameter and value. Repair the file."
        )
    return tuple(columns)


def _select_table(
    tables: Sequence[VariantTable], labels: Sequence[str], where: str
) -> VariantTable:
    """Return the table that a line of the manifest selects, with the line's labels."""
    mechanism, parameter, value = labels
    if len(tables) == 1:
        (only,) = tables
        sweep = parameter or only.parameter or ("parameter" if value else "")
        return replace(
            only,
            mechanism=mechanism or only.mechanism,
            parameter=sweep,
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
            f"{where} must select one of the {len(tables)} results in its file by mechanism and"
            f" value. Got {len(fitting)} matches instead."
        )
    return fitting[0]


def _equal(first: str, second: str) -> bool:
    try:
        return float(first) == float(second)
    except ValueError:
        return first == second


@dataclass(frozen=True)
class ScoreInput:
    """Points, their runs and the judgements, with the same queries in the same order.

    Attributes
    ----------
    names, texts
        The queries of the variants that have a relevant document.
    unjudged
        Number of other queries, which are omitted.
    plain
        The run without protection.
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
        """The largest number of variants of a query, by mechanism: the number requested."""
        sizes: dict[str, int] = {}
        for point in self.points:
            most = max((len(row) for row in point.table.rows), default=0)
            sizes[point.name] = max(most, sizes.get(point.name, 1))
        return sizes

    def rows(self, point: RunPoint) -> list[tuple[str, ...]]:
        """Return the variants of each query, possibly none."""
        variants = dict(zip(point.table.ids, point.table.rows, strict=True))
        return [variants.get(name, ()) for name in self.names]

    def lists(self, run: Path) -> list[list[str]]:
        """Return the documents for each query, possibly none."""
        return [self.runs[run].get(name, []) for name in self.names]


def material(
    points: Sequence[RunPoint], judgements: Judgements, qrels: str, plain: Path | None = None
) -> ScoreInput:
    """Read the runs, and check that all files have the same queries."""
    _check_curves(points)
    originals = _originals(points)
    names = [
        name for name in originals if any(grade > 0 for grade in judgements.get(name, {}).values())
    ]
    if not names:
        raise InputError(
            f"{qrels} judges none of the {len(originals):,} queries of the variants. Both must use"
            " the same query ids. Check that they belong to the same set of queries."
        )
    for point in points:
        if not {*point.table.ids} & {*names}:
            raise InputError(
                f"{point.file.name} has no judged query in common with the other files. Score one"
                " set of queries at a time."
            )
    paths = dict.fromkeys(point.run for point in points if point.run is not None)
    runs = {path: read_run(path) for path in (*paths, *([plain] if plain else []))}
    for path, run in runs.items():
        if not {*run} & {*names}:
            raise InputError(
                f"The run {path.name} answers none of the queries of the variants. Both must use"
                " the same query ids. Check that they belong to the same set of queries."
            )
    texts = tuple(originals[name] for name in names)
    lost = len(originals) - len(names)
    return ScoreInput(tuple(points), runs, judgements, tuple(names), texts, lost, plain)


def _check_curves(points: Sequence[RunPoint]) -> None:
    """Raise unless there is a curve: a score is an area, so it needs two points."""
    curves: dict[tuple[str, str], set[float]] = {}
    for point in points:
        values = curves.setdefault((point.name, point.parameter), set())
        if point.value in values and [other.spec for other in points].count(point.spec) > 1:
            raise InputError(f"Variants of {point} occur twice. Keep one of them.")
        values.add(point.value)
    if all(len(values) < 2 for values in curves.values()):
        raise InputError(
            f"A QuIPU score needs a curve. Got {count_of(len(curves), 'mechanism')} with one point"
            " only. Add variants and runs for another value of the parameter."
        )


def _originals(points: Sequence[RunPoint]) -> dict[str, str]:
    """Return the text of each query, which must be the same in all files."""
    texts: dict[str, str] = {}
    for point in points:
        for name, text in zip(point.table.ids, point.table.originals, strict=True):
            if texts.setdefault(name, text) != text:
                raise InputError(
                    f"{point.file.name} has an id with a different text in another file. Score one"
                    " set of queries at a time."
                )
    return texts
