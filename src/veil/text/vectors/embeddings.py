"""Word vectors: the space that word mechanisms work in."""

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
MAX_NORM = 1e4  # beyond it every usual epsilon releases the word itself: scale the vectors
MIN_NORM = 1e-4  # of the longest vector: below it there are no distances to speak of
_ROWS = 65_536  # looked at in one go
_HIDDEN = re.compile(  # control characters, lone surrogates, line ends, changes of direction
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def is_word(entry: str) -> bool:
    """Tell whether an entry may be released: it begins with a letter or a digit.

    Engines read punctuation as operators, and it marks a text as made by a machine.

    >>> [is_word(entry) for entry in ("skin", "x-ray", "c++", "3d", "'s", "-", "(", "😀")]
    [True, True, True, True, False, False, False, False]
    """
    return entry.isalnum() or (entry[:1].isalnum() and not _HIDDEN.search(entry))


def normal(word: str) -> str:
    """Return the one spelling of a word: accents joined to their letters (NFC)."""
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def only_words(words: Sequence[str], vectors: Singles) -> tuple[tuple[str, ...], Singles]:
    """Leave out the entries that are no words; without any, the vectors are not copied."""
    kept = [place for place, entry in enumerate(words) if is_word(entry)]
    if len(kept) == len(words):
        return tuple(words), vectors
    return tuple(words[place] for place in kept), np.ascontiguousarray(vectors[kept])


def check_words(words: Sequence[str], name: str) -> None:
    """Let words pass that can be looked up and told apart."""
    if any(not isinstance(word, str) or not word or "\n" in word for word in words):
        raise InputError(f"Every word of {name} must be a string without line breaks.")
    if len(set(map(normal, words))) != len(words):
        raise InputError(f"{name} has a word twice; keep the first of each.")


def as_table(vectors: object, name: str) -> Singles:
    """Return vectors as float32 (V, d), or say what is wrong with their shape."""
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused with its place
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
    """Let vectors pass that are finite, and neither too long nor all too short.

    Metric differential privacy is per unit of distance. In vectors of enormous length all other
    words are out of reach for any usual epsilon, and the word itself is released under a claim
    that is true and worth nothing; floating point ends there, too.
    """
    longest = 0.0
    for start in range(0, len(array), _ROWS):
        with np.errstate(over="ignore", invalid="ignore"):
            part = array[start : start + _ROWS]
            norms = np.sqrt(np.einsum("ij,ij->i", part, part))
        bad = ~(norms <= MAX_NORM)
        if bad.any():
            raise InputError(
                f"Vector {start + int(bad.argmax()) + 1:,} of {name} has a number that is not"
                f" finite, or is longer than {MAX_NORM:,.0f}; remove that word, or scale the"
                " vectors."
            )
        longest = max(longest, float(norms.max()))
    if longest < MIN_NORM:
        raise InputError(
            f"The vectors of {name} are all shorter than {MIN_NORM:g}; scale them, or choose"
            " others."
        )


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


FORMAT = 2  # of the folder; a change of layout needs a new number
_BEFORE = 1  # had no digests, and punctuation among the words
_FILES = ("vectors.npy", "words.txt")


@brief("name", "size", "dim")
@dataclass(frozen=True, eq=False)
class Embeddings:
    """Words and their vectors, most frequent word first (as GloVe and word2vec files are).

    Words are told apart by their spelling; there are at least two. An entry that does not begin
    with a letter or a digit is left out, so that no mechanism draws it (see
    `veil.text.vectors.embeddings` for what is refused). The vectors are float32 and may be
    memory-mapped; whatever is computed from them is computed in float64. `memo` is a cache
    bounded in bytes for what mechanisms derive from the space; it is neither compared nor
    pickled. `content` is a digest of the files of `path`. With `trusted`, words and vectors are
    taken as they are: they were checked before.

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
        """Exact search for the words nearest to a point."""
        return NearestWords(self.vectors)

    def id(self, word: str) -> int:
        """Position of a word (as written, else in lower case), or -1."""
        word = normal(word)
        found = self._index.get(word)
        return found if found is not None else self._index.get(word.lower(), -1)

    def ids(self, words: Sequence[str]) -> Ids:
        """Positions of words that must all be known."""
        out = np.array([self.id(word) for word in words], dtype=np.int64)
        missing = np.flatnonzero(out < 0)
        if missing.size:
            raise InputError(
                f"Word {missing[0] + 1} of {len(words)} is not in the vocabulary of {self.name}"
                f" ({self.size:,} words); choose words that are, or other vectors."
            )
        return out

    def points(self, ids: Ids) -> Floats:
        """Vectors of words, float64 (n, d)."""
        return self.vectors[ids].astype(np.float64)

    def derive(self, name: str, make: Callable[[], NDArray[np.int32]]) -> NDArray[np.int32]:
        """Return a table computed from the vectors, kept in memory and beside them on disk.

        It is public like the vectors themselves. A copy on disk that is damaged, or was made of
        other vectors, is made anew; one that cannot be written is done without.
        """
        found = self.memo.get(("derived", name), np.ndarray)
        file = self.path / f"{name}.table" if self.path is not None and self.content else None
        if found is None and file is not None:
            found = read_table(file, self.content)
        if found is None:
            found = make()
            if file is not None:
                write_table(file, self.content, found)
        self.memo.put(("derived", name), found)
        table: NDArray[np.int32] = found
        return table

    def save(self, folder: str | PathLike[str], source: str = "") -> None:
        """Write the space into a new folder, whole or not at all."""
        folder = Path(folder)
        if folder.exists():
            raise InputError(f"There is a {folder} already; delete it, or name a new folder.")
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
        return _again, (self.words, np.asarray(self.vectors), self.name)


def open_folder(folder: Path, *, anew: bool = False) -> Embeddings:
    """Open a folder written by `Embeddings.save`; the vectors are memory-mapped, not read.

    They are read, and checked in full, when they are opened for the first time, when a file has
    changed since, or if `anew` says so.
    """
    try:
        name, wanted = _read_meta(folder)
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
            f"{folder} is not a whole folder of vectors (meta.json, words.txt, vectors.npy);"
            " delete it and load the vectors again."
        )
    sums = None if anew else known_digests(folder, _FILES)
    if sums is None or (wanted and sums != wanted):
        sums = _check_in_full(folder, wanted, words, vectors, name)
    if not wanted:  # an older folder
        words, vectors = only_words(words, vectors)
    content = hashlib.sha256(json.dumps(sums, sort_keys=True).encode()).hexdigest()
    return Embeddings(words, vectors, name, folder, content=content, trusted=True)


def _read_meta(folder: Path) -> tuple[str, Sums]:
    """Return the name of the vectors and the digests of their files, which an older one lacks."""
    meta = json.loads((folder / "meta.json").read_text())
    if meta["format"] == _BEFORE:
        if any((folder / name).stat().st_size != size for name, size in meta["bytes"].items()):
            raise ValueError
        return str(meta["name"]), {}
    if meta.pop("whole") != _digest_of(meta) or meta["format"] != FORMAT:
        raise ValueError
    return str(meta["name"]), {name: str(meta["sha256"][name]) for name in _FILES}


def _check_in_full(
    folder: Path, wanted: Sums, words: tuple[str, ...], vectors: Singles, name: str
) -> Sums:
    """Read everything; return the digests of the files, or raise."""
    since = time.time_ns()
    sums = read_digests(folder, _FILES)
    if wanted and sums != wanted:
        raise InputError(
            f"{folder} is damaged: a file does not have the SHA-256 that was written down for it;"
            " delete it and load the vectors again."
        )
    if len(_checked(words, vectors, name)[0]) < len(words) and wanted:
        raise InputError(f"{folder} has words that do not begin with a letter or a digit.")
    remember_digests(folder, sums, since)
    return sums


def _checked(
    words: tuple[str, ...], vectors: object, name: str
) -> tuple[tuple[str, ...], Singles]:
    """Return words and vectors that can be worked with, or say what is wrong with them."""
    array = as_table(vectors, name)
    if len(words) != len(array):
        raise InputError(f"{name} has {len(words):,} words but {len(array):,} vectors.")
    check_words(words, name)
    check_numbers(array, name)
    words, array = only_words(words, array)
    if len(words) < 2:
        raise InputError(
            f"{name} has {len(words)} words that begin with a letter or a digit; it must have at"
            " least 2 words, for one alone can only be released as it is."
        )
    return words, array


@lru_cache(maxsize=4)
def _reopen(folder: Path) -> Embeddings:
    """Open a folder once per worker process, so that its cache lives from job to job."""
    return open_folder(folder)


def _again(words: tuple[str, ...], vectors: Singles, name: str) -> Embeddings:
    """Make a space that was pickled by value: it was checked when it was made."""
    return Embeddings(words, vectors, name, trusted=True)


def _digest_of(meta: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


_USUAL = (0.05, 100.0)  # median lengths at which budgets mean what they do in papers


def scale_note(space: Embeddings) -> str:
    """Return a sentence or two about the length of the vectors, or "" where it is usual."""
    length = space.length
    if _USUAL[0] <= length <= _USUAL[1]:
        return ""
    extent = "nearly nothing" if length > _USUAL[1] else "nearly everything"
    return (
        f"The median length of the vectors is {length:.3g}. Epsilon counts per unit of distance:"
        f" with such vectors the usual budgets hide {extent}."
    )
