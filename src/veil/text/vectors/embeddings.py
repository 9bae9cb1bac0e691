"""Word vectors, checked, and stored in folders of their own format."""

import hashlib
import io
import json
import re
import time
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.core.types import Floats, Ids, Singles
from veil.data.fetch import Sums, known_digests, read_digests, remember_digests
from veil.data.files import whole_file, whole_folder
from veil.data.memo import Memo
from veil.text.vectors.nearest import NearestWords, half_squares

MAX_DIM = 10_000
MAX_NORM = 1e4  # for longer vectors, every usual epsilon releases the word itself
MIN_NORM = 1e-4  # of the longest vector; below it all distances are negligible
_ROWS = 65_536  # checked at a time
_HIDDEN = re.compile(  # control characters, lone surrogates, line ends, changes of direction
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def is_word(entry: str) -> bool:
    """Return whether an entry may be released: it begins with a letter or a digit.

    Engines read punctuation as operators, and it reveals that a text is synthetic.

    >>> [is_word(entry) for entry in ("skin", "x-ray", "c++", "3d", "'s", "-", "(", "😀")]
    [True, True, True, True, False, False, False, False]
    """
    return entry.isalnum() or (entry[:1].isalnum() and not _HIDDEN.search(entry))


def normal(word: str) -> str:
    """Return the canonical spelling of a word, with composed accents (NFC)."""
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def only_words(words: Sequence[str], vectors: Singles) -> tuple[tuple[str, ...], Singles]:
    """Return the entries that are words, with their vectors, which are copied only if needed."""
    rows = [row for row, entry in enumerate(words) if is_word(entry)]
    if len(rows) == len(words):
        return tuple(words), vectors
    return tuple(words[row] for row in rows), np.ascontiguousarray(vectors[rows])


def check_words(words: Sequence[str], name: str) -> None:
    """Raise unless all words can be looked up and are distinct."""
    if any(not isinstance(word, str) or not word or "\n" in word for word in words):
        raise InputError(f"Every word of {name} must be a string without line breaks.")
    if len(set(map(normal, words))) != len(words):
        raise InputError(f"{name} has a duplicate word. Keep only the first of each.")


def as_table(vectors: object, name: str) -> Singles:
    """Return vectors as float32 (V, d), or raise if the shape is wrong."""
    try:
        with np.errstate(over="ignore"):  # `check_numbers` rejects infinite values
            array = np.ascontiguousarray(np.asarray(vectors), dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError(
            f"The vectors of {name} must be numbers in rows of equal length."
        ) from None
    if array.ndim != 2 or 0 in array.shape or array.shape[1] > MAX_DIM:
        raise InputError(
            f"The vectors of {name} must be a table of at least one word and between 1 and"
            f" {MAX_DIM:,} dimensions. Got shape {array.shape} instead."
        )
    return array


def check_numbers(array: Singles, name: str) -> None:
    """Raise unless all vectors are finite and at most `MAX_NORM` long, and not all tiny.

    Metric differential privacy is per unit of distance. With enormous vectors, any usual epsilon
    releases the word itself, under a guarantee that is true but useless. Floating point also
    becomes imprecise at that length.
    """
    longest = 0.0
    for start in range(0, len(array), _ROWS):
        with np.errstate(over="ignore", invalid="ignore"):
            part = array[start : start + _ROWS]
            norms = np.sqrt(np.einsum("ij,ij->i", part, part))
        bad = ~(norms <= MAX_NORM)
        if bad.any():
            raise InputError(
                f"Vector {start + int(bad.argmax()) + 1:,} of {name} must be finite and at most"
                f" {MAX_NORM:,.0f} long. Remove that word, or scale the vectors."
            )
        longest = max(longest, float(norms.max()))
    if longest < MIN_NORM:
        raise InputError(
            f"The vectors of {name} are all shorter than {MIN_NORM:g}. Scale them, or use others."
        )


_SEAL = 32  # trailing bytes: SHA-256 of the file's name, the vectors and the table


def read_table(file: Path, content: str) -> NDArray[np.int32] | None:
    """Return the table in a file, or None if it is missing, damaged, or of other vectors."""
    with suppress(OSError, ValueError, EOFError):
        data = file.read_bytes()
        if _seal(file.name, content, data[:-_SEAL]) == data[-_SEAL:]:
            table = np.load(io.BytesIO(data[:-_SEAL]), allow_pickle=False)
            return np.asarray(table, dtype=np.int32)
    return None


def write_table(file: Path, content: str, table: NDArray[np.int32]) -> None:
    """Write a table for vectors whose digest is `content`, unless the file cannot be written."""
    buffer = io.BytesIO()
    np.save(buffer, table, allow_pickle=False)
    data = buffer.getvalue()
    with suppress(OSError, InputError), whole_file(file) as part:
        part.write_bytes(data + _seal(file.name, content, data))


def _seal(name: str, content: str, data: bytes) -> bytes:
    seal = hashlib.sha256(f"{name}\n{content}\n".encode())
    seal.update(data)
    return seal.digest()


FORMAT = 2  # of the folder; increase it with every change of layout
_BEFORE = 1  # without digests, and with punctuation among the words
_FILES = ("vectors.npy", "words.txt")


@brief("name", "size", "dim")
@dataclass(frozen=True, eq=False)
class Embeddings:
    """Two or more distinct words with their vectors, most frequent first, as in GloVe files.

    Entries that do not begin with a letter or a digit are left out, so that no mechanism releases
    them. The vectors are float32 and may be memory-mapped; computations with them use float64.
    `memo` is a cache, bounded in bytes, for data that mechanisms derive from the space. It is
    neither compared nor pickled. `content` is a digest of the files of `path`. `trusted` skips the
    checks of words and vectors.

    >>> space = Embeddings(("cat", "dog"), np.eye(2, dtype=np.float32), "tiny")
    >>> space.size, space.dim, space.id("dog"), space.id("cow")
    (2, 2, 1, -1)
    """

    words: tuple[str, ...]
    vectors: Singles  # (V, d)
    name: str = "embeddings"
    path: Path | None = None
    memo: Memo = field(default_factory=Memo, repr=False)
    content: str = field(default="", repr=False)
    trusted: InitVar[bool] = False

    def __post_init__(self, trusted: bool) -> None:
        words, vectors = tuple(self.words), self.vectors
        if not trusted:
            words, vectors = _checked(words, vectors, self.name)
        object.__setattr__(self, "words", words)
        view = vectors[:]  # the caller's own array stays writeable
        view.flags.writeable = False
        object.__setattr__(self, "vectors", view)

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.words)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    @cached_property
    def _index(self) -> dict[str, int]:
        return dict(zip(map(normal, self.words), range(len(self.words)), strict=True))

    @cached_property
    def spellings(self) -> NDArray[np.object_]:
        """The words as an array, for gathering many at once."""
        return np.array(self.words, dtype=object)

    @cached_property
    def squares(self) -> Floats:
        """Squared Euclidean norms, float64 (V,)."""
        return 2 * half_squares(self.vectors)

    @cached_property
    def length(self) -> float:
        """Median length of the vectors."""
        return float(np.median(np.sqrt(self.squares)))

    @cached_property
    def searcher(self) -> NearestWords:
        """Exact search for the nearest words."""
        return NearestWords(self.vectors)

    def id(self, word: str) -> int:
        """Position of a word as spelt, else in lower case, or -1 if it is unknown."""
        word = normal(word)
        position = self._index.get(word)
        return position if position is not None else self._index.get(word.lower(), -1)

    def ids(self, words: Sequence[str]) -> Ids:
        """Positions of words, which must all be in the vocabulary."""
        out = np.array([self.id(word) for word in words], dtype=np.int64)
        missing = np.flatnonzero(out < 0)
        if missing.size:
            raise InputError(
                f"Word {missing[0] + 1} of {len(words)} is not in the vocabulary of {self.name}"
                f" ({self.size:,} words). Try other words or other vectors."
            )
        return out

    def points(self, ids: Ids) -> Floats:
        """Vectors of words, float64 (n, d)."""
        return self.vectors[ids].astype(np.float64)

    def derive(self, name: str, make: Callable[[], NDArray[np.int32]]) -> NDArray[np.int32]:
        """Return a table computed from the vectors, cached in memory and in their folder.

        It is as public as the vectors. A file that is damaged or of other vectors is replaced; if
        it cannot be written, there is no file.
        """
        cached = self.memo.get(("derived", name), np.ndarray)
        file = self.path / f"{name}.table" if self.path is not None and self.content else None
        if cached is None and file is not None:
            cached = read_table(file, self.content)
        if cached is None:
            cached = make()
            if file is not None:
                write_table(file, self.content, cached)
        self.memo.put(("derived", name), cached)
        table: NDArray[np.int32] = cached
        return table

    def save(self, folder: str | PathLike[str], source: str = "") -> None:
        """Write the space to a new folder, completely or not at all."""
        folder = Path(folder)
        if folder.exists():
            raise InputError(f"Folder {folder} already exists. Delete it or choose another.")
        with whole_folder(folder) as part:
            np.save(part / "vectors.npy", self.vectors, allow_pickle=False)
            (part / "words.txt").write_bytes("\n".join(self.words).encode())
            meta: dict[str, object] = {"format": FORMAT, "name": self.name, "source": source}
            meta["sha256"] = read_digests(part, _FILES)
            meta["whole"] = _digest_of(meta)
            (part / "meta.json").write_text(json.dumps(meta, indent=1))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is not None:
            return _reopen, (self.path,)
        return _unpickle, (self.words, np.asarray(self.vectors), self.name)


def open_folder(folder: Path, *, recheck: bool = False) -> Embeddings:
    """Return the memory-mapped embeddings in a folder written by `Embeddings.save`.

    Everything is read and checked when the folder is opened for the first time, after a file has
    changed, or with `recheck`.
    """
    try:
        name, digests = _read_meta(folder)
        words = tuple((folder / "words.txt").read_bytes().decode().split("\n"))
        vectors = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
        whole = vectors.shape[0] == len(words) and vectors.dtype == np.float32
        whole = whole and vectors.ndim == 2 and vectors.flags.c_contiguous
    except (FileNotFoundError, NotADirectoryError, EOFError, ValueError, LookupError, TypeError):
        whole = False
    except AttributeError:
        whole = False
    if not whole:
        raise InputError(
            f"{folder} must be a complete folder of vectors (meta.json, words.txt, vectors.npy)."
            " Delete it and load the vectors again."
        )
    sums = None if recheck else known_digests(folder, _FILES)
    if sums is None or (digests and sums != digests):
        sums = _check_in_full(folder, digests, words, vectors, name)
    if not digests:  # an older folder
        words, vectors = only_words(words, vectors)
    content = hashlib.sha256(json.dumps(sums, sort_keys=True).encode()).hexdigest()
    return Embeddings(words, vectors, name, folder, content=content, trusted=True)


def _read_meta(folder: Path) -> tuple[str, Sums]:
    """Return the name of the vectors and the digests of their files, {} for an older folder."""
    meta = json.loads((folder / "meta.json").read_text())
    if meta["format"] == _BEFORE:
        if any((folder / name).stat().st_size != size for name, size in meta["bytes"].items()):
            raise ValueError
        return str(meta["name"]), {}
    if meta.pop("whole") != _digest_of(meta) or meta["format"] != FORMAT:
        raise ValueError
    return str(meta["name"]), {name: str(meta["sha256"][name]) for name in _FILES}


def _check_in_full(
    folder: Path, digests: Sums, words: tuple[str, ...], vectors: Singles, name: str
) -> Sums:
    """Read everything, and return the digests of the files, or raise."""
    since = time.time_ns()
    sums = read_digests(folder, _FILES)
    if digests and sums != digests:
        raise InputError(
            f"{folder} is damaged: the SHA-256 of a file does not match meta.json."
            " Delete the folder and load the vectors again."
        )
    if len(_checked(words, vectors, name)[0]) < len(words) and digests:
        raise InputError(f"{folder} has words that do not begin with a letter or a digit.")
    remember_digests(folder, sums, since)
    return sums


def _checked(
    words: tuple[str, ...], vectors: object, name: str
) -> tuple[tuple[str, ...], Singles]:
    """Return the valid words and their vectors, or raise."""
    array = as_table(vectors, name)
    if len(words) != len(array):
        raise InputError(f"{name} has {len(words):,} words but {len(array):,} vectors.")
    check_words(words, name)
    check_numbers(array, name)
    words, array = only_words(words, array)
    if len(words) < 2:
        raise InputError(
            f"{name} must have at least 2 words that begin with a letter or a digit."
            f" Got {len(words)} instead."
        )
    return words, array


@lru_cache(maxsize=4)
def _reopen(folder: Path) -> Embeddings:
    """Open a folder once per worker process, so that its cache survives from job to job."""
    return open_folder(folder)


def _unpickle(words: tuple[str, ...], vectors: Singles, name: str) -> Embeddings:
    """Return a space that was pickled by value, without the checks of the first time."""
    return Embeddings(words, vectors, name, trusted=True)


def _digest_of(meta: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


_USUAL = (0.05, 100.0)  # median lengths for which budgets are comparable with those of papers


def scale_note(space: Embeddings) -> str:
    """Return a warning about the length of the vectors, or "" if it is usual."""
    length = space.length
    if _USUAL[0] <= length <= _USUAL[1]:
        return ""
    extent = "nearly nothing" if length > _USUAL[1] else "nearly everything"
    return (
        f"The median length of the vectors is {length:.3g}. Epsilon counts per unit of distance:"
        f" with such vectors the usual budgets hide {extent}."
    )
