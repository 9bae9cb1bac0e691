"""The tidy tables of a study as files, and a file with the facts to repeat or judge the figures.

The facts are the command, the seed, the version, and the guarantee of each configuration. They
contain no examples and no data.

The columns for data and task have the names that the domain uses. A file without a column
``domain`` belongs to the default domain.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError
from veil.data.files import whole_file
from veil.data.rows import pyarrow, pyarrow_parquet
from veil.studies import DEFAULT
from veil.studies.domains import vocabulary
from veil.studies.experiment import Vocabulary
from veil.studies.results import Results, Row, Score

FILE = "facts.json"
_MOST = 2**23  # characters of the file
_KEPT = ("command", "veil", "seed")  # of the facts of a study


@dataclass(frozen=True, slots=True)
class Claim:
    """The guarantee for all releases of one subject, and its limits."""

    kind: str
    total: str
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """How figures were computed; unknown facts are empty.

    Attributes
    ----------
    command, seed, veil
        The command line, the seed of the draws, and the version.
    claims
        Guarantees by spec and number of releases.
    notes
        Limits and remarks for readers of the figures.
    worst
        The highest risk of a single subject, by spec, number of releases and attacker.
    """

    name: str = ""
    command: str = ""
    seed: str = ""
    veil: str = ""
    claims: Mapping[tuple[str, int], Claim] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    worst: Mapping[tuple[str, int, str], float] = field(default_factory=dict)


def facts_of(results: Results) -> Facts:
    """Return the facts about the figures of a study."""
    typed = {name: value for name, value in results.facts if name in _KEPT}
    claims = {
        (card.spec, card.size): Claim(card.kind, card.total, card.caveat) for card in results.cards
    }
    worst = {(spec, size, by): risk for spec, size, by, risk in results.worst}
    notes = (*results.warnings, *results.notes)
    return Facts(results.name, **typed, claims=claims, notes=notes, worst=worst)


def write_facts(results: Results, folder: Path) -> Path:
    """Write the facts to a folder, completely or not at all, readable only by the owner."""
    facts, path = facts_of(results), folder / FILE
    claims = [
        {"spec": spec, "size": size, **asdict(claim)}
        for (spec, size), claim in facts.claims.items()
    ]
    document = {
        "name": facts.name,
        **{key: getattr(facts, key) for key in _KEPT},
        "claims": claims,
        "notes": list(facts.notes),
        "worst": [[*place, risk] for place, risk in facts.worst.items()],
    }
    with whole_file(path, private=True) as part:
        part.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def read_facts(folder: Path) -> Facts:
    """Return the facts in a folder; they are empty if the file is missing."""
    path = folder / FILE
    if not path.is_file():
        return Facts()
    try:
        with path.open(encoding="utf-8") as file:
            return _read(json.loads(file.read(_MOST)))  # a longer file is cut and so invalid
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise InputError(f"Cannot read the facts in {path}. Run the study again.") from None


def _read(document: Any) -> Facts:  # noqa: ANN401 - any JSON value
    claims = {
        (str(claim["spec"]), int(claim["size"])): Claim(
            str(claim["kind"]), str(claim["total"]), str(claim["caveat"])
        )
        for claim in document["claims"]
    }
    texts = {key: str(document[key]) for key in ("name", *_KEPT)}
    worst = {
        (str(spec), int(size), str(by)): float(risk) for spec, size, by, risk in document["worst"]
    }
    return Facts(**texts, claims=claims, notes=tuple(map(str, document["notes"])), worst=worst)


_COLUMNS = tuple(field.name for field in fields(Row))[:-1]  # the domain, if any, comes first
_TYPES = {"value": "float64", "size": "int64", "score": "float64", "low": "float64"}
_TYPES |= {"high": "float64", "n": "int64", "chance": "float64", "p_value": "float64"}
_TYPES |= {"upper": "float64"}
_LATER = {"p_value", "upper"}  # columns that older files do not have


def _written(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns of a table, with the upper bounds only if a row has one."""
    bounded = any(row.upper is not None for row in rows)
    return tuple(name for name in _COLUMNS if name != "upper" or bounded)


def write_csv(results: Results, path: Path) -> None:
    """Write one line per row; an empty field is a chance, p-value or upper bound of None."""
    _write(path, results.domain, _written(results.rows), results.rows)


def write_scores(results: Results, path: Path) -> None:
    """Write one line per QuIPU score; fields of a comparison that was not made are empty."""
    names = tuple(field.name for field in fields(Score))[:-1]
    _write(path, results.domain, names, results.scores)


def to_record(entry: Row | Score) -> dict[str, object]:
    """Return a row or score as a dict with the column names of its domain."""
    values = asdict(entry)
    kind = values.pop("domain")
    if values.get("upper", 0) is None:  # absent in most rows
        del values["upper"]
    words = vocabulary(kind)
    shown = {} if kind == DEFAULT else {"domain": kind}
    return shown | {_name(key, words): value for key, value in values.items()}


def _name(column: str, words: Vocabulary) -> str:
    return {"data": words.data, "task": words.task}.get(column, column)


def _header(kind: str, columns: Sequence[str]) -> list[str]:
    words = vocabulary(kind)
    shown = [_name(column, words) for column in columns]
    return shown if kind == DEFAULT else ["domain", *shown]


def _write(
    path: Path, kind: str, columns: Sequence[str], rows: Sequence[Row] | Sequence[Score]
) -> None:
    try:
        with (
            whole_file(path) as part,
            part.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(file, _header(kind, columns), lineterminator="\n")
            writer.writeheader()
            writer.writerows(map(to_record, rows))
    except OSError as error:
        raise InputError(f"Cannot write {path} ({error.strerror}).") from None


def write_parquet(results: Results, path: Path) -> None:
    """Write the rows as Parquet with typed columns, which needs pyarrow."""
    pa, parquet = pyarrow(), pyarrow_parquet()
    names = _header(results.domain, _written(results.rows))
    kinds = {name: getattr(pa, _TYPES.get(name, "string"))() for name in names}
    rows = list(map(to_record, results.rows))
    columns = {name: [row.get(name) for row in rows] for name in names}
    table = pa.table(columns, schema=pa.schema(list(kinds.items())))
    try:
        with whole_file(path) as part:
            parquet.write_table(table, part)
    except OSError as error:
        raise InputError(f"Cannot write {path} ({error.strerror}).") from None


def export(results: Results, folder: Path, name: str = "results") -> list[Path]:
    """Write the tables as CSV, the facts and, if pyarrow is installed, the rows as Parquet.

    Return the paths of the files.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = [folder / f"{name}.csv", folder / "scores.csv"]
    write_csv(results, written[0])
    write_scores(results, written[1])
    written.append(write_facts(results, folder))
    try:
        write_parquet(results, folder / f"{name}.parquet")
    except MissingExtraError:
        return written
    return [*written, folder / f"{name}.parquet"]


def read_csv(path: Path) -> tuple[Row, ...]:
    """Return the rows of a table that `write_csv` wrote."""
    if not path.is_file():
        raise InputError(
            f"File {path} does not exist. Run 'veil audit' first, or choose a report folder."
        )
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.DictReader(file)
            names = _columns(lines.fieldnames) if lines.fieldnames else {}
            return tuple(
                _row({names[name]: text for name, text in line.items()}) for line in lines
            )
    except (OSError, ValueError, TypeError, KeyError, csv.Error):
        raise InputError(f"{path} is not a table of a report. Run 'veil audit' again.") from None


def _columns(header: Sequence[str]) -> dict[str, str]:
    """Return the field of `Row` for each column; data and task come before the mechanism."""
    place = header.index("mechanism")
    names = dict(zip(header, header, strict=True))
    names |= {header[place - 2]: "data", header[place - 1]: "task"}
    present = set(names.values())
    if place < 2 or not set(_COLUMNS) - _LATER <= present <= {*_COLUMNS, "domain"}:
        raise ValueError
    return names


def _row(line: dict[str, str]) -> Row:
    numbers = {"value": float, "score": float, "low": float, "high": float, "size": int, "n": int}
    values: dict[str, Any] = {key: numbers.get(key, str)(text) for key, text in line.items()}
    for key in ("chance", "p_value", "upper"):
        values[key] = float(line[key]) if line.get(key) else None
    return Row(**values)
