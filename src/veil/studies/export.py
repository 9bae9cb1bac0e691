"""The tidy tables of a study as files, with how their figures were made.

How the figures of a study were made, as a file beside its tables.
A table of figures says what was measured. What it takes to repeat or to judge them stands here:
the command, the seed, the version, and what is proved of each configuration. No example and no
part of the data is in it.

The data and the task are named as the domain calls them. A file without a column ``domain`` is of
the default domain.
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
    """What is proved of all releases of one subject, and what is not covered."""

    kind: str
    total: str
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """How figures were made; what is not known is empty.

    Attributes
    ----------
    command, seed, veil
        What was typed; the seed of the draws; the version.
    claims
        By spec and number of releases.
    notes
        Sentences that a reader of the figures must know.
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


def facts_of(found: Results) -> Facts:
    """Return how the figures of a study were made."""
    known = {name: value for name, value in found.facts if name in _KEPT}
    claims = {
        (card.spec, card.size): Claim(card.kind, card.total, card.caveat) for card in found.cards
    }
    worst = {(spec, size, by): risk for spec, size, by, risk in found.worst}
    notes = (*found.warnings, *found.notes)
    return Facts(found.name, **known, claims=claims, notes=notes, worst=worst)


def write_facts(found: Results, folder: Path) -> Path:
    """Write them into a folder, whole or not at all, for their owner alone."""
    facts, path = facts_of(found), folder / FILE
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
    """Read them; of tables that were written without them nothing is known."""
    path = folder / FILE
    if not path.is_file():
        return Facts()
    try:
        with path.open(encoding="utf-8") as file:
            return _read(json.loads(file.read(_MOST)))  # a longer one is cut, and no JSON
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise InputError(
            f"{path} does not say how figures were made; run the study again."
        ) from None


def _read(document: Any) -> Facts:  # noqa: ANN401 - whatever the file holds
    claims = {
        (str(one["spec"]), int(one["size"])): Claim(
            str(one["kind"]), str(one["total"]), str(one["caveat"])
        )
        for one in document["claims"]
    }
    known = {key: str(document[key]) for key in ("name", *_KEPT)}
    worst = {
        (str(spec), int(size), str(by)): float(risk) for spec, size, by, risk in document["worst"]
    }
    return Facts(**known, claims=claims, notes=tuple(map(str, document["notes"])), worst=worst)


_COLUMNS = tuple(field.name for field in fields(Row))[:-1]  # the domain comes first, if at all
_TYPES = {"value": "float64", "size": "int64", "score": "float64", "low": "float64"}
_TYPES |= {"high": "float64", "n": "int64", "chance": "float64", "p_value": "float64"}
_TYPES |= {"upper": "float64"}
_LATER = {"p_value", "upper"}  # columns that older files do not have


def _written(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns of a table; that of upper bounds is there if some row has one."""
    bounded = any(row.upper is not None for row in rows)
    return tuple(name for name in _COLUMNS if name != "upper" or bounded)


def write_csv(found: Results, path: Path) -> None:
    """Write one line per row; a chance, p-value or upper bound that is None is an empty field."""
    _write(path, found.domain, _written(found.rows), found.rows)


def write_scores(found: Results, path: Path) -> None:
    """Write one line per QuIPU score; a curve that was not compared has empty fields."""
    names = tuple(field.name for field in fields(Score))[:-1]
    _write(path, found.domain, names, found.scores)


def named(entry: Row | Score) -> dict[str, object]:
    """Return a row or a score with the names that its domain uses in files."""
    values = asdict(entry)
    kind = values.pop("domain")
    if values.get("upper", 0) is None:  # most rows have none
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
            writer.writerows(map(named, rows))
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).") from None


def write_parquet(found: Results, path: Path) -> None:
    """Write the table with typed columns; needs pyarrow."""
    pa, parquet = pyarrow(), pyarrow_parquet()
    names = _header(found.domain, _written(found.rows))
    kinds = {name: getattr(pa, _TYPES.get(name, "string"))() for name in names}
    rows = list(map(named, found.rows))
    columns = {name: [row.get(name) for row in rows] for name in names}
    table = pa.table(columns, schema=pa.schema(list(kinds.items())))
    try:
        with whole_file(path) as part:
            parquet.write_table(table, part)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).") from None


def export(found: Results, folder: Path, name: str = "results") -> list[Path]:
    """Write the tables into a folder as CSV and, where pyarrow is there, the rows as Parquet.

    Beside them `veil.studies.export` says how the figures were made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = [folder / f"{name}.csv", folder / "scores.csv"]
    write_csv(found, written[0])
    write_scores(found, written[1])
    written.append(write_facts(found, folder))
    try:
        write_parquet(found, folder / f"{name}.parquet")
    except MissingExtraError:
        return written
    return [*written, folder / f"{name}.parquet"]


def read_csv(path: Path) -> tuple[Row, ...]:
    """Read a table that `write_csv` wrote."""
    if not path.is_file():
        raise InputError(f"There is no {path}; run 'veil audit' first, or name its folder.")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.DictReader(file)
            names = _columns(lines.fieldnames) if lines.fieldnames else {}
            return tuple(
                _row({names[name]: text for name, text in line.items()}) for line in lines
            )
    except (OSError, ValueError, TypeError, KeyError, csv.Error):
        raise InputError(f"{path} is not a table of an audit; run 'veil audit' again.") from None


def _columns(header: Sequence[str]) -> dict[str, str]:
    """Return what the columns of a file are; data and task stand before the mechanism."""
    place = header.index("mechanism")
    names = dict(zip(header, header, strict=True))
    names |= {header[place - 2]: "data", header[place - 1]: "task"}
    there = set(names.values())
    if place < 2 or not set(_COLUMNS) - _LATER <= there <= {*_COLUMNS, "domain"}:
        raise ValueError
    return names


def _row(line: dict[str, str]) -> Row:
    numbers = {"value": float, "score": float, "low": float, "high": float, "size": int, "n": int}
    values: dict[str, Any] = {key: numbers.get(key, str)(text) for key, text in line.items()}
    for key in ("chance", "p_value", "upper"):
        values[key] = float(line[key]) if line.get(key) else None
    return Row(**values)
