"""Read and write points as GeoParquet 1.1: a column of WKB points, with metadata."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.data.rows import pyarrow, pyarrow_parquet
from veil.places.crs import LONLAT, check_crs, projjson, row_numbers
from veil.places.formats.columns import NamedColumns, is_read, of_place
from veil.places.points import Points

BATCH = 2**20  # rows of a row group
_READ = 2**16  # rows read at a time
_WKB = np.dtype([("order", "u1"), ("type", "<u4"), ("xy", "<f8", (2,))])  # 21 bytes
_BYTES = 21


def geometry_of(path: Path) -> Mapping[str, Any] | None:
    """Return the `geo` metadata of a Parquet file, or None."""
    try:
        metadata = pyarrow_parquet().read_schema(path).metadata or {}
        parsed = json.loads(metadata[b"geo"]) if b"geo" in metadata else None
    except (OSError, ValueError, NotImplementedError):
        raise InputError(f"{path.name} is a damaged Parquet file; write it again.") from None
    return parsed if isinstance(parsed, Mapping) else None


def read_geoparquet(
    path: Path,
    geo: Mapping[str, Any],
    roles: NamedColumns,
    crs: str | None,
    columns: Collection[str] | None = None,
) -> Points:
    """Return the points of the primary column, with the other columns requested, or all."""
    primary, about = _primary(geo, path.name)
    code = _code(about, path.name) if crs is None else crs
    blocks, extra, bad, row = list[Floats](), dict[str, list[object]](), list[int](), 0
    for blobs, others in _batches(path, primary, columns):
        wrong = [at for at, blob in enumerate(blobs) if not _is_point(blob)]
        bad.extend(row + at for at in wrong)
        row += len(blobs)
        if not bad:
            packed = np.frombuffer(b"".join(blobs), dtype=_WKB)  # type: ignore[arg-type]
            blocks.append(packed["xy"].astype(np.float64))
            for name, values in others.items():
                extra.setdefault(name, []).extend(values)
    if bad:
        raise InputError(
            f"{row_numbers(bad)} of {path.name} must be a point of two numbers. Remove other rows."
        )
    if not row:
        raise InputError(f"{path.name} has no points.")
    return roles.points(np.concatenate(blocks), code, extra, path.name)


def _batches(
    path: Path, primary: str, columns: Collection[str] | None
) -> Iterator[tuple[list[object], dict[str, list[object]]]]:
    """Yield the geometries and the other columns in batches of rows."""
    try:
        with pyarrow_parquet().ParquetFile(path) as file:
            names = [
                name
                for name in file.schema_arrow.names
                if name != primary and not of_place(name) and is_read(name, columns)
            ]
            for batch in file.iter_batches(_READ, columns=[primary, *names]):
                values = batch.to_pydict()
                yield values.pop(primary), values
    except (OSError, ValueError, NotImplementedError, KeyError, OverflowError):
        raise InputError(f"{path.name} is a damaged Parquet file; write it again.") from None


def _primary(geo: Mapping[str, Any], name: str) -> tuple[str, Mapping[str, Any]]:
    primary, columns = geo.get("primary_column"), geo.get("columns")
    about = columns.get(primary) if isinstance(columns, Mapping) else None
    if not isinstance(primary, str) or not isinstance(about, Mapping):
        raise InputError(
            f"{name} must name its primary column of points in its metadata. Write it again."
        )
    if about.get("encoding") != "WKB":
        raise InputError(f"{name} must encode its points as WKB. Write it again.")
    return primary, about


def _is_point(blob: object) -> bool:
    return isinstance(blob, bytes) and len(blob) == _BYTES and blob[:5] == b"\x01\x01\x00\x00\x00"


def _code(about: Mapping[str, Any], name: str) -> str | None:
    """Return the code of a column, by default longitude and latitude; null is a plane."""
    if "crs" not in about:
        return LONLAT
    crs = about["crs"]
    if crs is None:
        return None
    identifier = crs.get("id") if isinstance(crs, Mapping) else None
    if not isinstance(identifier, Mapping):
        raise InputError(f"{name} has a coordinate system without a code. Set crs=.")
    return check_crs(f"{identifier.get('authority')}:{identifier.get('code')}")


def write_geoparquet(
    path: Path, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[object]]
) -> None:
    """Write points (n, 2), with the other columns as text."""
    arrow = pyarrow()
    placed = np.round(xy, 7) + 0.0
    schema = arrow.schema(
        [("geometry", arrow.binary()), *((name, arrow.string()) for name in columns)],
        metadata={"geo": json.dumps(_metadata(placed, crs))},
    )
    with pyarrow_parquet().ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(placed), BATCH):
            rows = slice(start, start + BATCH)
            texts = [
                arrow.array([_text(value) for value in values[rows]], arrow.string())
                for values in columns.values()
            ]
            arrays = [_packed(arrow, placed[rows]), *texts]
            writer.write_table(arrow.table(arrays, schema=schema))


def _metadata(xy: Floats, crs: str | None) -> dict[str, Any]:
    """Return the `geo` metadata, with the bounding box of the released points."""
    about: dict[str, Any] = {
        "encoding": "WKB",
        "geometry_types": ["Point"],
        "bbox": [*xy.min(axis=0).tolist(), *xy.max(axis=0).tolist()],
    }
    if crs != LONLAT:
        about["crs"] = None if crs is None else projjson(crs)
    return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}}


def _packed(arrow: Any, xy: Floats) -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return an Arrow array of WKB points."""
    packed = np.empty(len(xy), dtype=_WKB)
    packed["order"], packed["type"], packed["xy"] = 1, 1, xy
    offsets = np.arange(0, _BYTES * (len(xy) + 1), _BYTES, dtype=np.int32)
    buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(packed.tobytes())]
    return arrow.Array.from_buffers(arrow.binary(), len(xy), buffers)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
