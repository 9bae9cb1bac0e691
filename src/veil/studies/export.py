"""The tidy table of a study as a file: CSV or Parquet, whole or not at all."""

import csv
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError
from veil.data.files import whole_file
from veil.data.parquet import pyarrow, pyarrow_parquet
from veil.studies.table import Results, Row

_COLUMNS = tuple(field.name for field in fields(Row))
_TYPES = {"value": "float64", "size": "int64", "score": "float64", "low": "float64"}
_TYPES |= {"high": "float64", "n": "int64", "chance": "float64"}


def write_csv(found: Results, path: Path) -> None:
    """Write one line per row; a chance that is not known is an empty field."""
    try:
        with (
            whole_file(path) as part,
            part.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in found.rows)
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
    """Write the table into a folder as CSV and, where pyarrow is there, as Parquet."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = [folder / f"{name}.csv"]
    write_csv(found, written[0])
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
    if set(line) != set(_COLUMNS):
        raise ValueError
    numbers = {"value": float, "score": float, "low": float, "high": float, "size": int, "n": int}
    values: dict[str, Any] = {key: numbers.get(key, str)(text) for key, text in line.items()}
    values["chance"] = float(line["chance"]) if line["chance"] else None
    return Row(**values)
