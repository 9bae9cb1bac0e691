"""The optional dependency for Parquet files, in one place."""

from typing import Any

from veil.core.errors import MissingExtraError

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
