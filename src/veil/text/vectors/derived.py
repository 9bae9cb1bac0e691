"""Tables computed from vectors, in files that say of which vectors they were made."""

import hashlib
import io
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.data.files import whole_file

_SEAL = 32  # bytes at the end: SHA-256 of the file's name, of the vectors and of the table


def read_table(file: Path, content: str) -> NDArray[np.int32] | None:
    """Read a table; None if there is none, if it is damaged, or if it is of other vectors."""
    with suppress(OSError, ValueError, EOFError):
        data = file.read_bytes()
        if _seal(file.name, content, data[:-_SEAL]) == data[-_SEAL:]:
            found = np.load(io.BytesIO(data[:-_SEAL]), allow_pickle=False)
            return np.asarray(found, dtype=np.int32)
    return None


def write_table(file: Path, content: str, table: NDArray[np.int32]) -> None:
    """Write a table for vectors whose digest is `content`, or do without."""
    made = io.BytesIO()
    np.save(made, table, allow_pickle=False)
    data = made.getvalue()
    with suppress(OSError, InputError), whole_file(file) as part:
        part.write_bytes(data + _seal(file.name, content, data))


def _seal(name: str, content: str, data: bytes) -> bytes:
    made = hashlib.sha256(f"{name}\n{content}\n".encode())
    made.update(data)
    return made.digest()
