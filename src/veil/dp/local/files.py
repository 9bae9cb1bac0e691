"""Read values from files, and save and load reports.

A report file has arrays `data` and `index`, further blocks in `data.1`, `index.1` and so on, and
JSON in `about`: the mechanism, the numbers of reports and blocks, and what the cost depends on.
Nothing is compressed, so a file never takes more memory than it has bytes.
"""

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import tee
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from veil.core.errors import InputError, VeilError
from veil.data.files import whole_file
from veil.data.lines import read_lines, require_file, suffix_of
from veil.data.rows import Row, read_table
from veil.dp.local.oracle import Drawing, Oracle, Value
from veil.dp.local.oracles import ORACLES
from veil.dp.local.packed import Array
from veil.dp.local.reports import Desk, Reports, Users, Values

Takes = Literal["texts", "codes", "reals"]
_READ: dict[Takes, tuple[Callable[[str], Value], str]] = {
    "texts": (str, "a text"),
    "codes": (int, "an integer"),
    "reals": (float, "a number"),
}


def read_values(
    path: Path, takes: Takes, column: str | None = None, user: str | None = None
) -> tuple[Iterator[Value], Iterator[str] | None]:
    """Return values of the type `takes`, and their users if a column of users is given.

    A plain text file has one value per line. A table with several columns needs `column`.
    """
    require_file(path, "values")
    if suffix_of(path) in (".txt", ""):
        if column is not None or user is not None:
            raise InputError(
                f"{path.name} is plain text without columns. Remove the column options."
            )
        return (_value(row, takes, path.name) for row in _lines(path)), None
    name = path.name  # looked up once: it is slow
    columns = [name for name in (column, user) if name is not None]
    header, rows = read_table(path, columns if column is not None else ())
    if column is None and (len(header) > 1 or user is not None):
        raise InputError(
            f"{path.name} has {len(header)} columns. Choose the one with the values: --column"
            " NAME."
        )
    if user is None:
        return (_value(row, takes, name) for row in rows), None
    for_values, for_users = tee(rows)  # each block is read once, for both
    return (_value(row, takes, name) for row in for_values), (row.values[1] for row in for_users)


def _lines(path: Path) -> Iterator[Row[str]]:
    for number, line in enumerate(read_lines(path), start=1):
        yield Row(number, number, [line.rstrip("\r\n")])


def _value(row: Row[str], takes: Takes, name: str) -> Value:
    kind, noun = _READ[takes]
    try:
        return kind(row.values[0])
    except ValueError:
        raise InputError(
            f"{row.where(name)} must have {noun}. Repair or remove the row."
        ) from None


_FORMAT = 2
_BLOCK = 2**26  # bytes
_ABOUT = "about"
_MAX_ABOUT = 2**20  # bytes
_FAULTS = (zipfile.BadZipFile, OSError, ValueError, LookupError, TypeError, EOFError,
           RuntimeError, OverflowError, MemoryError)  # fmt: skip


def save_reports(reports: Reports, path: str | Path) -> None:
    """Write reports to an .npz file."""
    if not isinstance(reports, Reports):
        raise InputError("'reports' must be Reports, as returned by report().")
    with whole_file(Path(path)) as part, part.open("wb") as file:
        _write(file, [(reports.data, reports.index)], lambda: reports)


def report_to(desk: Desk, values: Values, users: Users | None, path: str | Path) -> Reports:
    """Report any number of values to an .npz file, in bounded memory.

    Return the last block, with the cost of all reports.
    """
    last: list[Drawing] = []

    def blocks() -> Iterator[Drawing]:
        for block in _merged(desk.draw_blocks(values, users)):
            last[:] = [block]
            yield block

    def about() -> Reports:
        if not last:
            raise InputError("At least one value is required.")
        return desk.reports(*last[0])

    with whole_file(Path(path)) as part, part.open("wb") as file:
        return _write(file, blocks(), about)


def load_reports(path: str | Path) -> Reports:
    """Load the reports that `save_reports` or ``veil dp report`` wrote."""
    blocks = list(read_blocks(path))
    first, *rest = blocks
    if not rest:
        return first
    data = np.concatenate([block.data for block in blocks])
    indexes = [block.index for block in blocks if block.index is not None]
    return Reports(
        first.oracle, data, np.concatenate(indexes) if indexes else None,
        first.seeded, first.memoised, first.most, first.overlap,
        first.values,
    )  # fmt: skip


def oracle_of(path: str | Path) -> Oracle:
    """Return the mechanism of the reports in a file."""
    return next(iter(read_blocks(path))).oracle


def read_blocks(path: str | Path) -> Iterator[Reports]:
    """Yield the blocks of reports in a file; `estimate` accepts them."""
    source = Path(path)
    require_file(source, "reports")
    try:
        with zipfile.ZipFile(source) as archive:
            about = _about(archive, source)
            _check_names(archive, int(about["blocks"]))
            rows = 0
            for number in range(int(about["blocks"])):
                block = _block(archive, about, number)
                rows += block.n
                yield block
            if rows != about["n"]:
                raise _damaged(source)
    except VeilError:
        raise
    except _FAULTS:
        raise _damaged(source) from None


def _write(file: IO[bytes], blocks: Iterable[Drawing], about: Callable[[], Reports]) -> Reports:
    count = rows = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for data, index in blocks:
            _put(archive, _name("data", count), data)
            if index is not None:
                _put(archive, _name("index", count), index)
            count, rows = count + 1, rows + len(data)
        reports = about()
        facts = {
            "format": _FORMAT,
            "oracle": reports.oracle.name,
            "parameters": reports.oracle.model_dump(),
            "n": rows,
            "blocks": count,
            "seeded": reports.seeded,
            "memoised": reports.memoised,
            "most": reports.most,
            "overlap": reports.overlap,
            "values": reports.values,
        }
        text = json.dumps(facts).encode()
        _put(archive, _ABOUT, np.frombuffer(text, dtype=np.uint8))
    return reports


def _name(array: str, number: int) -> str:
    return f"{array}.{number}" if number else array


def _put(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    member = zipfile.ZipInfo(f"{name}.npy")  # fixed date: the file must not reveal the time
    with archive.open(member, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def _merged(blocks: Iterable[Drawing]) -> Iterator[Drawing]:
    """Merge small blocks, up to 64 MB."""
    pending: list[Drawing] = []
    octets = 0
    for data, index in blocks:
        size = data.nbytes + (0 if index is None else index.nbytes)
        if pending and octets + size > _BLOCK:
            yield _joined(pending)
            pending, octets = [], 0
        pending.append((data, index))
        octets += size
    if pending:
        yield _joined(pending)


def _joined(blocks: list[Drawing]) -> Drawing:
    indexes = [index for _, index in blocks if index is not None]
    data = np.concatenate([data for data, _ in blocks])
    return data, np.concatenate(indexes) if indexes else None


def _about(archive: zipfile.ZipFile, source: Path) -> dict[str, Any]:
    """Return the metadata of a file, after checking the sizes of its members."""
    sizes = [member.file_size for member in archive.infolist()]
    stored = all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())
    if not stored or sum(sizes) > source.stat().st_size:
        raise _damaged(source)
    if archive.getinfo(f"{_ABOUT}.npy").file_size > _MAX_ABOUT:
        raise _damaged(source)
    about = json.loads(_array(archive, _ABOUT).tobytes())
    if about["format"] != _FORMAT:
        raise InputError(
            f"{source.name} was written by a different version of Veil. Create the reports again."
        )
    whole = type(about["n"]) is int and type(about["blocks"]) is int and about["blocks"] >= 1
    flags = type(about["seeded"]) is bool and type(about["memoised"]) is bool
    counted = all(about[name] is None or type(about[name]) is int for name in ("most", "values"))
    if not (whole and flags and counted and isinstance(about["overlap"], float)):
        raise _damaged(source)
    about["oracle"] = ORACLES.get(about["oracle"]).load(about["parameters"])
    return dict(about)


def _check_names(archive: zipfile.ZipFile, blocks: int) -> None:
    expected = {f"{_name(array, n)}.npy" for array in ("data", "index") for n in range(blocks)}
    if not set(archive.namelist()) <= {*expected, f"{_ABOUT}.npy"}:
        raise ValueError("The file contains more than reports.")


def _block(archive: zipfile.ZipFile, about: dict[str, Any], number: int) -> Reports:
    oracle = about["oracle"]
    has_index = oracle.parts[1] is not None
    return Reports(
        oracle,
        _array(archive, _name("data", number)),
        _array(archive, _name("index", number)) if has_index else None,
        about["seeded"],
        about["memoised"],
        about["most"],
        about["overlap"],
        about["values"],
    )


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    """Return an array of the file; its header must account for all bytes."""
    octets = archive.read(f"{name}.npy")
    stream = BytesIO(octets)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError("The arrays have an unknown format.")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    if by_columns or dtype.hasobject:
        raise ValueError("The arrays have an unsupported type.")
    return np.frombuffer(octets, dtype=dtype, offset=stream.tell()).reshape(shape)


def _damaged(source: Path) -> InputError:
    return InputError(f"{source.name} contains no reports or is damaged. Request the file again.")
