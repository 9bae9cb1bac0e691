"""Rows of vectors in a folder: written as they come, and opened only if they are whole."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from veil.core.parallel import in_threads
from veil.core.types import Singles

FORMAT = 2  # of the folder; a change of layout needs a new number
_ARRAY, _HEADER = "vectors.npy", "header.json"
_MAX_HEADER = 10_000  # bytes
_BLOCK = 16 * 2**20  # bytes that have a digest of their own
_PIECE = 2**18  # bytes read at a time: they stay in the processor's cache


class UnwrittenError(Exception):
    """The disk failed half-way; carries all rows, in memory."""

    def __init__(self, rows: Singles) -> None:
        self.rows = rows


def open_rows(folder: Path, shape: tuple[int, int], key: str) -> Singles | None:
    """Map the rows of a folder if they are whole, of this shape, and of the encoder `key`."""
    try:
        header, array = folder / _HEADER, folder / _ARRAY
        if header.stat().st_size > _MAX_HEADER:
            return None
        found = json.loads(header.read_text())
        if found != _header(shape, key, digest_in_blocks(array)):
            return None
        rows = np.load(array, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, RecursionError):
        return None
    fits = rows.shape == shape and rows.dtype == np.float32
    return rows if fits and rows.flags.c_contiguous else None


def write_rows(folder: Path, blocks: Iterator[Singles], shape: tuple[int, int], key: str) -> None:
    """Fill a folder with rows as they come, for the owner's eyes only.

    Raises `UnwrittenError` when the disk fails.
    """
    array, header = folder / _ARRAY, folder / _HEADER
    _write(array, blocks, shape)
    header.write_text(json.dumps(_header(shape, key, digest_in_blocks(array)), indent=1))
    for path in (array, header):
        path.chmod(0o600)


def gather(blocks: Iterable[Singles], shape: tuple[int, int]) -> Singles:
    """Put rows into one array in memory."""
    rows = np.empty(shape, dtype=np.float32)
    done = 0
    for block in blocks:
        rows[done : done + len(block)] = block
        done += len(block)
    return rows


def digest_in_blocks(path: Path) -> str:
    """Return the SHA-256 over the SHA-256 of each 16 MB of a file, in hexadecimal.

    All processors share the work, so that a large file is checked in the time it takes to read it.
    """
    count = -(-path.stat().st_size // _BLOCK)
    digests = np.zeros((count, 32), dtype=np.uint8)

    def work(numbers: slice) -> None:
        piece = memoryview(bytearray(_PIECE))
        with path.open("rb", buffering=0) as file:
            file.seek(numbers.start * _BLOCK)
            for number in range(numbers.start, numbers.stop):
                total, left = hashlib.sha256(), _BLOCK
                while left and (got := file.readinto(piece[: min(left, _PIECE)]) or 0):
                    total.update(piece[:got])
                    left -= got
                digests[number] = np.frombuffer(total.digest(), dtype=np.uint8)

    in_threads(work, count)
    return hashlib.sha256(digests.tobytes()).hexdigest()


def _header(shape: tuple[int, int], key: str, sha256: str) -> dict[str, object]:
    sizes = {"count": shape[0], "dim": shape[1]}
    return {"format": FORMAT, "encoder": key, **sizes, "sha256 of 16 MB blocks": sha256}


def _write(path: Path, blocks: Iterator[Singles], shape: tuple[int, int]) -> None:
    """Write rows as they come.

    Not through a memory map: on a full disk that would end the process with a bus error, where a
    write gives an error that can be met. Rows encoded so far are then read back, not lost.
    """
    with path.open("w+b", buffering=0) as file:
        layout = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, layout)
        start, done = file.tell(), 0
        for block in blocks:
            data = memoryview(block.astype("<f4").tobytes())
            try:
                while data:
                    data = data[file.write(data) :]
            except OSError:
                file.seek(start)
                kept = np.fromfile(file, dtype="<f4", count=done * shape[1])
                rest = chain([kept.reshape(done, shape[1]), block], blocks)
                raise UnwrittenError(gather(rest, shape)) from None
            done += len(block)
