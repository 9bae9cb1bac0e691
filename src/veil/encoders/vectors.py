"""Document vectors on disk: computed once, named by content and model, checked when opened."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.parallel import in_threads
from veil.core.types import Encoder, Ids, Role, Singles
from veil.data.arrays import Strings
from veil.data.fetch import Report, cache_folder, no_progress
from veil.data.files import whole_folder

_STEP = 512  # texts encoded at a time
Digests = NDArray[np.bytes_]  # (n,) of 16 bytes each


@dataclass(frozen=True, eq=False)
class DocumentVectors:
    """Vectors of texts, with lookup by content.

    Attributes
    ----------
    vectors
        (n, dim) unit rows, read-only; memory-mapped if they are on disk.
    key
        Key of the encoder.
    path
        Folder of the vectors, or None if they are in memory only.
    """

    vectors: Singles
    key: str
    path: Path | None
    _texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.vectors)

    def lookup(self, texts: Sequence[str]) -> Ids:
        """Return the index of each text, the first if several are equal, or -1 if unknown."""
        queries = _digests(texts)
        if not len(self):
            return np.full(len(queries), -1, dtype=np.int64)
        digests, order = self._index
        positions = np.minimum(np.searchsorted(digests, queries), len(self) - 1)
        indices: Ids = np.where(digests[positions] == queries, order[positions], -1)
        return indices

    @cached_property
    def _index(self) -> tuple[Digests, Ids]:
        """The sorted digests of all texts, and the index of the text of each."""
        digests = _digests(self._texts)
        order: Ids = np.argsort(digests, kind="stable").astype(np.int64)
        return digests[order], order


def document_vectors(
    texts: Sequence[str],
    encoder: Encoder,
    folder: Path | None = None,
    report: Report = no_progress,
) -> DocumentVectors:
    """Return the vectors of `texts`, encoded the first time and memory-mapped from then on.

    They are stored in `folder` (by default in the cache), in a subfolder that is named by a digest
    of all texts and the encoder's key and that only the owner can read. Stored vectors are used if
    their header and SHA-256 match, and recomputed otherwise. If nothing can be written (no space,
    no permission), the vectors stay in memory.
    """
    target = _target(texts, encoder, folder)
    vectors = open_rows(target, (len(texts), encoder.dim), encoder.key)
    if vectors is None:
        vectors = _encode_to_disk(texts, encoder, target, report)
    return _document_vectors(texts, vectors, encoder, target)


def open_document_vectors(
    texts: Sequence[str], encoder: Encoder, folder: Path | None = None
) -> DocumentVectors | None:
    """Return the vectors of `texts` if they are on disk and intact, else None."""
    target = _target(texts, encoder, folder)
    vectors = open_rows(target, (len(texts), encoder.dim), encoder.key)
    return None if vectors is None else _document_vectors(texts, vectors, encoder, target)


class CachedEncoder:
    """An encoder that looks up documents among vectors of the same encoder, by content."""

    def __init__(self, encoder: Encoder, vectors: DocumentVectors) -> None:
        self._encoder, self._vectors = encoder, vectors

    @property
    def key(self) -> str:
        """Key of the encoder, which gives the same vectors."""
        return self._encoder.key

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self._encoder.dim

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim). Queries are always encoded."""
        if role != "document" or self._vectors.key != self.key:
            return self._encoder.encode(texts, role)
        indices = self._vectors.lookup(texts)
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        rows[indices >= 0] = self._vectors.vectors[indices[indices >= 0]]
        unknown = [text for text, index in zip(texts, indices, strict=True) if index < 0]
        if unknown:
            rows[indices < 0] = self._encoder.encode(unknown, role)
        return rows


def _document_vectors(
    texts: Sequence[str], vectors: Singles, encoder: Encoder, target: Path
) -> DocumentVectors:
    vectors.flags.writeable = False
    path = target if isinstance(vectors, np.memmap) else None
    fixed = tuple(texts) if isinstance(texts, list) else texts  # a list may change later
    return DocumentVectors(vectors, encoder.key, path, fixed)


def _target(texts: Sequence[str], encoder: Encoder, folder: Path | None) -> Path:
    """Return the folder, named by a digest of everything that determines its content."""
    name = hashlib.blake2b(f"{FORMAT} {encoder.key}".encode(), digest_size=20)
    name.update(_digest_of_all(texts))
    root = cache_folder() / "document-vectors" if folder is None else folder
    return root / name.hexdigest()


def _digest_of_all(texts: Sequence[str]) -> bytes:
    """Return one digest of all characters and of the length of each text."""
    letters = hashlib.blake2b()
    if isinstance(texts, Strings):  # packed: nothing needs to be decoded
        lengths = np.diff(texts.offsets)
        letters.update(np.ascontiguousarray(texts.blob[texts.offsets[0] : texts.offsets[-1]]).data)
    else:
        sizes = []
        for data in _utf8(texts):
            letters.update(data)
            sizes.append(len(data))
        lengths = np.array(sizes, dtype=np.int64)
    return hashlib.blake2b(lengths.astype("<i8").tobytes() + letters.digest()).digest()


def _digests(texts: Sequence[str]) -> Digests:
    """Return 16 bytes per text (n,)."""
    joined = bytearray()
    for data in _utf8(texts):
        joined += hashlib.blake2b(data, digest_size=16).digest()
    return np.frombuffer(bytes(joined), dtype="S16")


def _utf8(texts: Sequence[str]) -> Iterator[bytes]:
    """Yield texts as UTF-8; anything but a string raises an error."""
    if isinstance(texts, str | bytes):
        raise InputError("Documents must be a list of texts. Put a single text into a list.")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(f"Text {number} of {len(texts)} is not a string.")
        yield text.encode("utf-8", "surrogatepass")


def _encode_to_disk(
    texts: Sequence[str], encoder: Encoder, target: Path, report: Report
) -> Singles:
    """Encode all texts into a folder that appears only when complete, or else into memory."""
    shape = (len(texts), encoder.dim)
    try:
        _clear(target)
        with whole_folder(target) as part:
            write_rows(part, _encode_in_steps(texts, encoder, report), shape, encoder.key)
        target.chmod(0o700)
        rows = open_rows(target, shape, encoder.key)
    except UnwrittenError as error:
        return error.rows
    except OSError:
        rows = None
    return gather(_encode_in_steps(texts, encoder, report), shape) if rows is None else rows


def _encode_in_steps(texts: Sequence[str], encoder: Encoder, report: Report) -> Iterator[Singles]:
    for start in range(0, len(texts), _STEP):
        report("encoding documents", start, len(texts))
        yield encoder.encode(list(texts[start : start + _STEP]), "document")
    report("encoding documents", len(texts), len(texts))


def _clear(target: Path) -> None:
    """Delete anything at `target`, and create its parent folder."""
    if target.is_symlink() or target.is_file():
        target.unlink()
    shutil.rmtree(target, ignore_errors=True)
    if not target.parent.is_dir():
        target.parent.mkdir(mode=0o700, parents=True)


FORMAT = 2  # version of the folder layout
_ARRAY, _HEADER = "vectors.npy", "header.json"
_MAX_HEADER = 10_000  # bytes
_BLOCK = 16 * 2**20  # bytes per digest
_PIECE = 2**18  # bytes read at a time: few enough for the CPU cache


class UnwrittenError(Exception):
    """The disk failed halfway. Contains all rows, in memory."""

    def __init__(self, rows: Singles) -> None:
        self.rows = rows


def open_rows(folder: Path, shape: tuple[int, int], key: str) -> Singles | None:
    """Memory-map a folder's rows; None unless intact, of this shape and of this encoder key."""
    try:
        path, array = folder / _HEADER, folder / _ARRAY
        if path.stat().st_size > _MAX_HEADER:
            return None
        header = json.loads(path.read_text())
        if header != _header(shape, key, digest_in_blocks(array)):
            return None
        rows = np.load(array, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, RecursionError):
        return None
    fits = rows.shape == shape and rows.dtype == np.float32
    return rows if fits and rows.flags.c_contiguous else None


def write_rows(folder: Path, blocks: Iterator[Singles], shape: tuple[int, int], key: str) -> None:
    """Write rows to a folder as they arrive, in files that only the owner can read.

    Raises `UnwrittenError` if the disk fails.
    """
    array, header = folder / _ARRAY, folder / _HEADER
    _write(array, blocks, shape)
    header.write_text(json.dumps(_header(shape, key, digest_in_blocks(array)), indent=1))
    for path in (array, header):
        path.chmod(0o600)


def gather(blocks: Iterable[Singles], shape: tuple[int, int]) -> Singles:
    """Collect blocks of rows in one array in memory."""
    rows = np.empty(shape, dtype=np.float32)
    done = 0
    for block in blocks:
        rows[done : done + len(block)] = block
        done += len(block)
    return rows


def digest_in_blocks(path: Path) -> str:
    """Return the SHA-256 of the SHA-256 digests of all 16 MB blocks of a file, in hexadecimal.

    All processors share the work: checking a large file takes no longer than reading it.
    """
    count = -(-path.stat().st_size // _BLOCK)
    digests = np.zeros((count, 32), dtype=np.uint8)

    def work(numbers: slice) -> None:
        piece = memoryview(bytearray(_PIECE))
        with path.open("rb", buffering=0) as file:
            file.seek(numbers.start * _BLOCK)
            for number in range(numbers.start, numbers.stop):
                total, remaining = hashlib.sha256(), _BLOCK
                while remaining and (size := file.readinto(piece[: min(remaining, _PIECE)]) or 0):
                    total.update(piece[:size])
                    remaining -= size
                digests[number] = np.frombuffer(total.digest(), dtype=np.uint8)

    in_threads(work, count)
    return hashlib.sha256(digests.tobytes()).hexdigest()


def _header(shape: tuple[int, int], key: str, sha256: str) -> dict[str, object]:
    sizes = {"count": shape[0], "dim": shape[1]}
    return {"format": FORMAT, "encoder": key, **sizes, "sha256 of 16 MB blocks": sha256}


def _write(path: Path, blocks: Iterator[Singles], shape: tuple[int, int]) -> None:
    """Write rows as they arrive.

    On a full disk, a memory map would kill the process with a bus error, while a write raises an
    error that can be handled: the rows written so far are read back, not lost.
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
                written = np.fromfile(file, dtype="<f4", count=done * shape[1])
                rows = chain([written.reshape(done, shape[1]), block], blocks)
                raise UnwrittenError(gather(rows, shape)) from None
            done += len(block)
