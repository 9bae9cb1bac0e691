"""Vectors of documents on disk: computed once, named by content and model, checked when opened."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Encoder, Ids, Singles
from veil.data.arrays import Strings
from veil.data.fetch import Report, cache_folder, silent
from veil.data.files import whole_folder
from veil.encoders._rows import FORMAT, UnwrittenError, gather, open_rows, write_rows

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
    report: Report = silent,
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
