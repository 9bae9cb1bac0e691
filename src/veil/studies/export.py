"""The tidy tables of a study as files: CSV or Parquet, whole or not at all."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError
from veil.data.files import whole_file
from veil.data.parquet import pyarrow, pyarrow_parquet
from veil.studies.table import Results, Row, Score

_COLUMNS = tuple(field.name for field in fields(Row))
_TYPES = {"value": "float64", "size": "int64", "score": "float64", "low": "float64"}
_TYPES |= {"high": "float64", "n": "int64", "chance": "float64", "p_value": "float64"}
_LATER = {"p_value"}  # columns that older files do not have


def write_csv(found: Results, path: Path) -> None:
    """Write one line per row; a chance or p-value that there is none of is an empty field."""
    _write(path, _COLUMNS, found.rows)


def write_scores(found: Results, path: Path) -> None:
    """Write one line per QuIPU score; a curve that was not compared has empty fields."""
    _write(path, tuple(field.name for field in fields(Score)), found.scores)


def _write(path: Path, columns: Sequence[str], rows: Sequence[Row] | Sequence[Score]) -> None:
    try:
        with (
            whole_file(path) as part,
            part.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).") from None


def write_parquet(found: Results, path: Path) -> None:
    """Write the table with typed columns; needs pyarrow."""
    pa, parquet = pyarrow(), pyarrow_parquet()
    kinds = {name: getattr(pa, _TYPES.get(name, "string"))() for name in _COLUMNS}
    columns = {name: [getattr(row, name) for row in found.rows] for name in _COLUMNS}
    table = pa.table(columns, schema=pa.schema(list(kinds.items())))
    try:
        with whole_file(path) as part:
            parquet.write_table(table, part)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).") from None


def export(found: Results, folder: Path, name: str = "results") -> list[Path]:
    """Write the tables into a folder as CSV and, where pyarrow is there, the rows as Parquet."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = [folder / f"{name}.csv", folder / "scores.csv"]
    write_csv(found, written[0])
    write_scores(found, written[1])
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
            return tuple(_row(line) for line in csv.DictReader(file))
    except (OSError, ValueError, TypeError, KeyError, csv.Error):
        raise InputError(f"{path} is not a table of an audit; run 'veil audit' again.") from None


def _row(line: dict[str, str]) -> Row:
    if not set(_COLUMNS) - _LATER <= set(line) <= set(_COLUMNS):
        raise ValueError
    numbers = {"value": float, "score": float, "low": float, "high": float, "size": int, "n": int}
    values: dict[str, Any] = {key: numbers.get(key, str)(text) for key, text in line.items()}
    for key in ("chance", "p_value"):
        values[key] = float(line[key]) if line.get(key) else None
    return Row(**values)
