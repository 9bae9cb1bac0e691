"""Tables in and out: CSV, and frames of pandas, polars and Arrow at the edge alone."""

import csv
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.data.files import require_folder, whole_file
from veil.data.rows import pyarrow_parquet
from veil.tables.column import Column
from veil.tables.table import Table

_EXACT = 2**53  # below which a double holds every whole number
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def columns_of_frame(frame: Any) -> dict[str, Any]:  # noqa: ANN401 - of another library
    """Return the columns of a frame of pandas or polars, or of a table of Arrow."""
    kind = type(frame).__module__.partition(".")[0]
    listed = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}.get(kind)
    if listed is None:
        raise InputError(
            "A table is a path, a dict of columns, or a frame of pandas, polars or Arrow."
        )
    try:
        names, columns = listed(frame)
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            f"What is of {kind} is no table of columns; hand in a frame with one value a cell."
        ) from None
    if len(set(names)) < len(names):
        raise InputError("The frame has two columns of one name; rename one.")
    return dict(zip(names, columns, strict=True))


def _of_pandas(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of pandas
    columns = [frame.iloc[:, at] for at in range(frame.shape[1])]
    made = [one.astype(object).where(one.notna(), None).tolist() for one in columns]
    return list(map(str, frame.columns)), made


def _of_polars(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of polars
    eager = frame.collect() if hasattr(frame, "collect") else frame
    return list(eager.columns), [one.to_list() for one in eager.get_columns()]


def _of_arrow(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of pyarrow
    return list(frame.schema.names), [one.to_pylist() for one in frame.columns]


def write_csv(table: Table, path: Path, *, excel_safe: bool = False) -> None:
    """Write the columns as they are written; a missing value is an empty field."""
    require_folder(path)
    with (
        whole_file(path, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([safe(name) if excel_safe else name for name in table.columns])
        writer.writerows(text_rows(table, excel_safe=excel_safe))


def text_rows(table: Table, *, excel_safe: bool = False) -> Iterator[Sequence[str]]:
    """Yield the rows as they are written; a missing value is empty."""
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
    """Return a table of Arrow: whole numbers, doubles or strings; missing is null."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("Arrow needs pyarrow: pip install 'veil[parquet]'.") from None
    arrays = {}
    for name in table.columns:
        column = table.column(name)
        values = column.values
        if column.numeric and _whole(column):
            held = np.where(column.missing, 0, values).astype(np.int64)
            arrays[name] = pa.array(held, mask=column.missing)
        else:
            kind = pa.float64() if column.numeric else pa.string()
            arrays[name] = pa.array(values, kind, from_pandas=True)
    return pa.table(arrays)


def _whole(column: Column) -> bool:
    there = column.values[~column.missing]
    return bool((np.abs(there) < _EXACT).all() and (there == np.rint(there)).all())


def as_polars(table: Table) -> Any:  # noqa: ANN401 - of polars
    """Return a frame of polars."""
    try:
        pl: Any = import_module("polars")
    except ImportError:
        raise MissingExtraError("A frame needs polars: pip install polars.") from None
    return pl.DataFrame({name: table[name].tolist() for name in table.columns}, nan_to_null=True)


def write_parquet(table: Table, path: Path) -> None:
    """Write it as Parquet, owner-only, whole or not at all."""
    with whole_file(path, private=True) as part:
        pyarrow_parquet().write_table(table.to_arrow(), part, compression="zstd")


def as_pandas(table: Table) -> Any:  # noqa: ANN401 - of pandas
    """Return a frame of pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("A frame needs pandas: pip install pandas.") from None
    return pd.DataFrame({name: table[name] for name in table.columns})
