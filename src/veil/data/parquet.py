"""Rows of Parquet files, and the optional dependency that they need, in one place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError
from veil.data.header import Header, Pick, Row
from veil.data.lines import Progress

_REMEDY = "Parquet files need pyarrow: pip install 'veil[parquet]', or use CSV or JSONL."


def pyarrow() -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return the module pyarrow, or say how to get it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError(_REMEDY) from None
    return pa


def pyarrow_parquet() -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return the module pyarrow.parquet, or say how to get it."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(_REMEDY) from None
    return pq


def read_parquet(path: Path, pick: Pick, progress: Progress) -> Iterator[Row[Any]]:
    """Yield the rows; of the columns only those that are picked are read."""
    try:
        file = pyarrow_parquet().ParquetFile(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path.name} is not a Parquet file ({type(error).__name__}).") from None
    with file:
        names = list(file.schema_arrow.names)
        positions = pick(Header.of(names, path.name))
        wanted = list(dict.fromkeys(names[at] for at in positions if at >= 0))
        size, total = path.stat().st_size, max(1, file.metadata.num_rows)
        number = 0
        for table in _batches(file, wanted, path.name):
            columns = [table[names[at]] if at >= 0 else None for at in positions]
            for row in range(len(table[wanted[0]])):
                number += 1
                yield Row(number, 0, [column and column[row] for column in columns])
            progress(size * number // total)


def _batches(file: Any, wanted: list[str], name: str) -> Iterator[dict[str, list[object]]]:  # noqa: ANN401
    """Yield the columns in batches; Arrow's errors on damaged pages are of many types."""
    try:
        for batch in file.iter_batches(batch_size=4096, columns=wanted):
            yield batch.to_pydict()
    except (OSError, ValueError, NotImplementedError):
        raise InputError(f"{name} is a damaged Parquet file; fetch or write it again.") from None
    except OverflowError:
        raise InputError(
            f"{name} has a date or a time that is out of range; write the column as text."
        ) from None
