"""Vectors of documents on disk: computed once, named by content and model, checked when opened."""

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


_STEP = 512  # texts encoded at a time

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
    _texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.vectors)

    def lookup(self, texts: Sequence[str]) -> Ids:
        """Return the place of each text by its content, the first of equal ones, -1 if unknown."""
        wanted = _digests(texts)
        if not len(self):
            return np.full(len(wanted), -1, dtype=np.int64)
        known, order = self._index
        found = np.minimum(np.searchsorted(known, wanted), len(self) - 1)
        places: Ids = np.where(known[found] == wanted, order[found], -1)
        return places

    @cached_property
    def _index(self) -> tuple[Digests, Ids]:
        """The digests of all texts in order, and whose they are; made when first asked for."""
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

    They are kept in `folder`, by default one in the cache, in a folder named by the digest of all
    texts and of the encoder's key, for the owner's eyes only. What is there is used when its
    header fits and its SHA-256 is right, and is thrown away and made anew otherwise. Where nothing
    can be written (no space, no permission) the vectors stay in memory.
    """
    target = _target(texts, encoder, folder)
    vectors = open_rows(target, (len(texts), encoder.dim), encoder.key)
    if vectors is None:
        vectors = _built(texts, encoder, target, report)
    return _of(texts, vectors, encoder, target)


def open_document_vectors(
    texts: Sequence[str], encoder: Encoder, folder: Path | None = None
) -> DocumentVectors | None:
    """Return the vectors of `texts` if they are on disk already and whole, else None."""
    target = _target(texts, encoder, folder)
    vectors = open_rows(target, (len(texts), encoder.dim), encoder.key)
    return None if vectors is None else _of(texts, vectors, encoder, target)


def _of(texts: Sequence[str], vectors: Singles, encoder: Encoder, target: Path) -> DocumentVectors:
    vectors.flags.writeable = False
    path = target if isinstance(vectors, np.memmap) else None
    kept = tuple(texts) if isinstance(texts, list) else texts  # a list may change later
    return DocumentVectors(vectors, encoder.key, path, kept)


def _digests(texts: Sequence[str]) -> Digests:
    """Return 16 bytes per text (n,)."""
    joined = bytearray()
    for data in _utf8(texts):
        joined += hashlib.blake2b(data, digest_size=16).digest()
    return np.frombuffer(bytes(joined), dtype="S16")


def _target(texts: Sequence[str], encoder: Encoder, folder: Path | None) -> Path:
    """Name the folder by everything that decides what is in it."""
    name = hashlib.blake2b(f"{FORMAT} {encoder.key}".encode(), digest_size=20)
    name.update(_digest_of_all(texts))
    root = cache_folder() / "document-vectors" if folder is None else folder
    return root / name.hexdigest()


def _digest_of_all(texts: Sequence[str]) -> bytes:
    """Return one digest of all letters, and of the length of each text."""
    letters = hashlib.blake2b()
    if isinstance(texts, Strings):  # they are packed: nothing needs to be decoded
        lengths = np.diff(texts.offsets)
        letters.update(np.ascontiguousarray(texts.blob[texts.offsets[0] : texts.offsets[-1]]).data)
    else:
        sizes = []
        for data in _utf8(texts):
            letters.update(data)
            sizes.append(len(data))
        lengths = np.array(sizes, dtype=np.int64)
    return hashlib.blake2b(lengths.astype("<i8").tobytes() + letters.digest()).digest()


def _utf8(texts: Sequence[str]) -> Iterator[bytes]:
    """Check and encode texts one by one."""
    if isinstance(texts, str | bytes):
        raise InputError("Documents are a list of texts; put a single text into a list.")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(f"Text {number} of {len(texts)} is not a string.")
        yield text.encode("utf-8", "surrogatepass")


def _built(texts: Sequence[str], encoder: Encoder, target: Path, report: Report) -> Singles:
    """Encode all texts into a folder that appears whole, or else into memory."""
    shape = (len(texts), encoder.dim)
    try:
        _clear(target)
        with whole_folder(target) as part:
            write_rows(part, _encoded(texts, encoder, report), shape, encoder.key)
        target.chmod(0o700)
        found = open_rows(target, shape, encoder.key)
    except UnwrittenError as error:
        return error.rows
    except OSError:
        found = None
    return gather(_encoded(texts, encoder, report), shape) if found is None else found


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


class CachedEncoder:
    """An encoder that looks documents up among vectors of the same encoder, by their content."""

    def __init__(self, encoder: Encoder, vectors: DocumentVectors) -> None:
        self._encoder, self._vectors = encoder, vectors

    @property
    def key(self) -> str:
        """That of the encoder: the vectors are the same."""
        return self._encoder.key

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self._encoder.dim

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to unit vectors (n, dim); queries are always encoded."""
        if role != "document" or self._vectors.key != self.key:
            return self._encoder.encode(texts, role)
        places = self._vectors.lookup(texts)
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        rows[places >= 0] = self._vectors.vectors[places[places >= 0]]
        fresh = [text for text, place in zip(texts, places, strict=True) if place < 0]
        if fresh:
            rows[places < 0] = self._encoder.encode(fresh, role)
        return rows
