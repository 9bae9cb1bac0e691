"""Tables in and out: CSV, and frames of pandas, polars and Arrow at the edge alone."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError
from veil.data.files import require_folder, whole_file
from veil.tables.table import Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def columns_of_frame(frame: Any) -> dict[str, Any]:  # noqa: ANN401 - of another library
    """Return the columns of a frame of pandas or polars, or of a table of Arrow."""
    kind = type(frame).__module__.partition(".")[0]
    if kind == "pandas":
        named = {str(name): frame[name] for name in frame.columns}
        return {name: one.where(one.notna(), None).tolist() for name, one in named.items()}
    if kind == "polars":
        return {name: frame[name].to_list() for name in frame.columns}
    if kind == "pyarrow":
        return {name: frame.column(name).to_pylist() for name in frame.column_names}
    raise InputError(
        "A table is a path, a dict of columns, or a frame of pandas, polars or Arrow."
    )


def write_csv(table: Table, path: Path, *, excel_safe: bool = False) -> None:
    """Write the columns as they are written; a missing value is an empty field."""
    require_folder(path)
    with (
        whole_file(path, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([safe(name) if excel_safe else name for name in table.columns])
        writer.writerows(_rows(table, excel_safe=excel_safe))


def _rows(table: Table, *, excel_safe: bool) -> Iterator[Sequence[str]]:
    texts = [table.column(name).texts.tolist() for name in table.columns]
    numeric = [table.column(name).numeric for name in table.columns]
    for row in zip(*texts, strict=True):
        yield [
            "" if text is None else safe(text) if excel_safe and not number else text
            for text, number in zip(row, numeric, strict=True)
        ]


def safe(text: str) -> str:
    """Quote what a spreadsheet would take for a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


def as_arrow(table: Table) -> Any:  # noqa: ANN401 - of pyarrow
    """Return a table of Arrow: numbers as doubles, texts as strings, missing as null."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("Arrow needs pyarrow: pip install 'veil[parquet]'.") from None
    arrays = {}
    for name in table.columns:
        column = table.column(name)
        kind = pa.float64() if column.numeric else pa.string()
        arrays[name] = pa.array(column.values.tolist(), kind, from_pandas=True)
    return pa.table(arrays)


def as_pandas(table: Table) -> Any:  # noqa: ANN401 - of pandas
    """Return a frame of pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("A frame needs pandas: pip install pandas.") from None
    return pd.DataFrame({name: table[name] for name in table.columns})
