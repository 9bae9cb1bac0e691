"""Points of GeoParquet 1.1: a column of WKB points, and metadata that say so."""

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
    """Return the `geo` metadata of a Parquet file, None if it has none."""
    try:
        metadata = pyarrow_parquet().read_schema(path).metadata or {}
        parsed = json.loads(metadata[b"geo"]) if b"geo" in metadata else None
    except (OSError, ValueError, NotImplementedError):
        raise InputError(f"{path.name} is a damaged Parquet file; write it again.") from None
    return parsed if isinstance(parsed, Mapping) else None


def read_geoparquet(
    path: Path,
    geo: Mapping[str, Any],
    named: NamedColumns,
    crs: str | None,
    columns: Collection[str] | None = None,
) -> Points:
    """Read points of the primary column; of the others those asked for, or all."""
    primary, about = _primary(geo, path.name)
    told = _code(about, path.name) if crs is None else crs
    blocks, beside, bad, row = list[Floats](), dict[str, list[object]](), list[int](), 0
    for blobs, others in _batches(path, primary, columns):
        wrong = [at for at, blob in enumerate(blobs) if not _is_point(blob)]
        bad.extend(row + at for at in wrong)
        row += len(blobs)
        if not bad:
            packed = np.frombuffer(b"".join(blobs), dtype=_WKB)  # type: ignore[arg-type]
            blocks.append(packed["xy"].astype(np.float64))
            for name, values in others.items():
                beside.setdefault(name, []).extend(values)
    if bad:
        raise InputError(
            f"{row_numbers(bad)} of {path.name} must be a point of two numbers; leave out what is"
            " none."
        )
    if not row:
        raise InputError(f"{path.name} holds no points.")
    return named.points(np.concatenate(blocks), told, beside, path.name)


def _batches(
    path: Path, primary: str, columns: Collection[str] | None
) -> Iterator[tuple[list[object], dict[str, list[object]]]]:
    """Yield the geometries, and the other columns, some rows at a time."""
    try:
        with pyarrow_parquet().ParquetFile(path) as file:
            known = file.schema_arrow.names
            names = [
                name
                for name in known
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
        raise InputError(f"{name} does not say which column holds its points; write it again.")
    if about.get("encoding") != "WKB":
        raise InputError(f"{name} must have its points as WKB; write it again.")
    return primary, about


def _is_point(blob: object) -> bool:
    return isinstance(blob, bytes) and len(blob) == _BYTES and blob[:5] == b"\x01\x01\x00\x00\x00"


def _code(about: Mapping[str, Any], name: str) -> str | None:
    """Return longitude and latitude unless the column says otherwise; null is a plane."""
    if "crs" not in about:
        return LONLAT
    crs = about["crs"]
    if crs is None:
        return None
    known = crs.get("id") if isinstance(crs, Mapping) else None
    if not isinstance(known, Mapping):
        raise InputError(f"{name} has a coordinate system without a code; name it: crs=.")
    return check_crs(f"{known.get('authority')}:{known.get('code')}")


def write_geoparquet(
    path: Path, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[object]]
) -> None:
    """Write points (n, 2), and the columns that are kept, as text."""
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
    """Return the `geo` metadata: the box is that of the released points."""
    about: dict[str, Any] = {
        "encoding": "WKB",
        "geometry_types": ["Point"],
        "bbox": [*xy.min(axis=0).tolist(), *xy.max(axis=0).tolist()],
    }
    if crs != LONLAT:
        about["crs"] = None if crs is None else projjson(crs)
    return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}}


def _packed(arrow: Any, xy: Floats) -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return WKB points, made at once."""
    packed = np.empty(len(xy), dtype=_WKB)
    packed["order"], packed["type"], packed["xy"] = 1, 1, xy
    offsets = np.arange(0, _BYTES * (len(xy) + 1), _BYTES, dtype=np.int32)
    buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(packed.tobytes())]
    return arrow.Array.from_buffers(arrow.binary(), len(xy), buffers)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
