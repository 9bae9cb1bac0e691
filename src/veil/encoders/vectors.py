"""Vectors of documents on disk: computed once, named by content and model, checked when opened."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.protocols import Encoder
from veil.core.types import Ids, Singles
from veil.data.fetch import Report, cache_folder, silent
from veil.data.files import digest, whole_folder

FORMAT = 1  # of the folder; a change of layout needs a new number
_STEP = 512  # texts encoded at a time
_ARRAY, _HEADER = "vectors.npy", "header.json"
_MAX_HEADER = 10_000  # bytes

Digests = NDArray[np.bytes_]  # (n,) of 16 bytes each


@dataclass(frozen=True, eq=False)
class DocumentVectors:
    """Vectors of texts, and where to find the vector of a text.

    Attributes
    ----------
    vectors
        (n, dim) unit rows, read-only; memory-mapped when they lie on disk.
    key
        The encoder's.
    path
        The folder they lie in, or None when they are in memory only.
    """

    vectors: Singles
    key: str
    path: Path | None
    _sorted: Digests
    _order: Ids

    def __len__(self) -> int:
        return len(self.vectors)

    def lookup(self, texts: Sequence[str]) -> Ids:
        """Return the place of each text by its content, the first of equal ones, -1 if unknown."""
        wanted = _digests(texts)
        if not len(self):
            return np.full(len(wanted), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(self._sorted, wanted), len(self) - 1)
        places: Ids = np.where(self._sorted[found] == wanted, self._order[found], -1)
        return places


def document_vectors(
    texts: Sequence[str],
    encoder: Encoder,
    folder: Path | None = None,
    report: Report = silent,
) -> DocumentVectors:
    """Return the vectors of `texts`, encoded the first time and memory-mapped from then on.

    They are kept in `folder`, by default one in the cache, in a folder named by the digest of all
    texts and of the encoder's key, for the owner's eyes only. What is there is used when its
    header fits and its SHA-256 is right, and is thrown away and made anew otherwise. Where nothing
    can be written (no space, no permission) the vectors stay in memory.
    """
    digests = _digests(texts)
    target = _target(digests, encoder, folder)
    vectors = _opened(target, len(digests), encoder)
    if vectors is None:
        vectors = _built(texts, encoder, target, report)
    return _with_index(vectors, encoder, target, digests)


def open_document_vectors(
    texts: Sequence[str], encoder: Encoder, folder: Path | None = None
) -> DocumentVectors | None:
    """Return the vectors of `texts` if they are on disk already and whole, else None."""
    digests = _digests(texts)
    target = _target(digests, encoder, folder)
    vectors = _opened(target, len(digests), encoder)
    return None if vectors is None else _with_index(vectors, encoder, target, digests)


def _digests(texts: Sequence[str]) -> Digests:
    """Return 16 bytes per text (n,)."""
    if isinstance(texts, str | bytes):
        raise InputError("Documents are a list of texts; put a single text into a list.")
    joined = bytearray()
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"Text {number + 1} of {len(texts)} is not a string.")
        data = text.encode("utf-8", "surrogatepass")
        joined += hashlib.blake2b(data, digest_size=16).digest()
    return np.frombuffer(bytes(joined), dtype="S16")


def _target(digests: Digests, encoder: Encoder, folder: Path | None) -> Path:
    """Name the folder by everything that decides what is in it."""
    name = hashlib.blake2b(encoder.key.encode(), digest_size=20)
    name.update(len(digests).to_bytes(8, "little") + digests.tobytes())
    root = cache_folder() / "document-vectors" if folder is None else folder
    return root / name.hexdigest()


def _with_index(
    vectors: Singles, encoder: Encoder, target: Path, digests: Digests
) -> DocumentVectors:
    vectors.flags.writeable = False
    order: Ids = np.argsort(digests, kind="stable").astype(np.int64)
    path = target if isinstance(vectors, np.memmap) else None
    return DocumentVectors(vectors, encoder.key, path, digests[order], order)


def _opened(target: Path, count: int, encoder: Encoder) -> Singles | None:
    """Map the vectors of a folder if it is whole and ours."""
    try:
        header, array = target / _HEADER, target / _ARRAY
        if header.stat().st_size > _MAX_HEADER:
            return None
        found = json.loads(header.read_text())
        if found != _header(count, encoder, digest(array, "sha256")):
            return None
        vectors = np.load(array, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, RecursionError):
        return None
    fits = vectors.shape == (count, encoder.dim) and vectors.dtype == np.float32
    return vectors if fits and vectors.flags.c_contiguous else None


def _header(count: int, encoder: Encoder, sha256: str) -> dict[str, object]:
    sizes = {"count": count, "dim": encoder.dim}
    return {"format": FORMAT, "encoder": encoder.key, **sizes, "sha256": sha256}


class _UnwrittenError(Exception):
    """The disk failed half-way; carries all rows, in memory."""

    def __init__(self, rows: Singles) -> None:
        self.rows = rows


def _built(texts: Sequence[str], encoder: Encoder, target: Path, report: Report) -> Singles:
    """Encode all texts into a folder that appears whole, or else into memory."""
    shape = (len(texts), encoder.dim)
    try:
        _clear(target)
        with whole_folder(target) as part:
            _write(part / _ARRAY, _encoded(texts, encoder, report), shape)
            header = _header(len(texts), encoder, digest(part / _ARRAY, "sha256"))
            (part / _HEADER).write_text(json.dumps(header, indent=1))
            for name in (_ARRAY, _HEADER):
                (part / name).chmod(0o600)
        target.chmod(0o700)
        found = _opened(target, len(texts), encoder)
    except _UnwrittenError as error:
        return error.rows
    except OSError:
        found = None
    return _gathered(_encoded(texts, encoder, report), shape) if found is None else found


def _clear(target: Path) -> None:
    """Throw away what is in the way, and make the folder above."""
    if target.is_symlink() or target.is_file():
        target.unlink()
    shutil.rmtree(target, ignore_errors=True)
    if not target.parent.is_dir():
        target.parent.mkdir(mode=0o700, parents=True)


def _encoded(texts: Sequence[str], encoder: Encoder, report: Report) -> Iterator[Singles]:
    """Encode the texts a few at a time."""
    for start in range(0, len(texts), _STEP):
        report("encoding documents", start, len(texts))
        yield encoder.encode(list(texts[start : start + _STEP]), "document")
    report("encoding documents", len(texts), len(texts))


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
                raise _UnwrittenError(_gathered(rest, shape)) from None
            done += len(block)


def _gathered(blocks: Iterable[Singles], shape: tuple[int, int]) -> Singles:
    """Put rows into one array."""
    rows = np.empty(shape, dtype=np.float32)
    done = 0
    for block in blocks:
        rows[done : done + len(block)] = block
        done += len(block)
    return rows
