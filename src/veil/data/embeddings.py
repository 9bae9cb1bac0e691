"""Word vectors: the space that word mechanisms work in."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats, Ids, Singles
from veil.data.files import whole_file, whole_folder
from veil.data.memo import Memo
from veil.data.nearest import Searcher, half_squares

FORMAT = 1  # of the folder; a change of layout needs a new number
MAX_DIM = 10_000
MAX_NUMBER = 1e9  # in a vector: its products and squares must be exact enough in float32


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Words and their vectors, most frequent word first (as GloVe and word2vec files are).

    The vectors are float32 and may be memory-mapped; whatever is computed from them is computed
    in float64. `memo` is a cache bounded in bytes for what mechanisms derive from the space;
    it is neither compared nor pickled.

    >>> space = Embeddings(("cat", "dog"), np.eye(2, dtype=np.float32), "tiny")
    >>> space.size, space.dim, space.id("dog"), space.id("cow")
    (2, 2, 1, -1)
    """

    words: tuple[str, ...]
    vectors: Singles  # (V, d)
    name: str = "embeddings"
    path: Path | None = None
    memo: Memo = field(default_factory=Memo, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        if self.path is None:  # a folder written by us was checked when it was written
            object.__setattr__(self, "vectors", check_vectors(self.words, self.vectors, self.name))
        view = self.vectors[:]  # the caller's own array stays writeable
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
        return dict(zip(self.words, range(len(self.words)), strict=True))

    @cached_property
    def spellings(self) -> NDArray[np.object_]:
        """The words as an array, for gathering many at once."""
        return np.array(self.words, dtype=object)

    @cached_property
    def squares(self) -> Floats:
        """Squared Euclidean norms, float64 (V,)."""
        return 2 * half_squares(self.vectors)

    @cached_property
    def searcher(self) -> Searcher:
        """Exact search for the words nearest to a point."""
        return Searcher(self.vectors)

    def id(self, word: str) -> int:
        """Position of a word (as written, else in lower case), or -1."""
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

        It is public like the vectors themselves. A copy on disk that cannot be read is made anew;
        one that cannot be written is done without.
        """
        found = self.memo.get(("derived", name), np.ndarray)
        file = None if self.path is None else self.path / f"{name}.npy"
        if found is None and file is not None and file.is_file():
            with suppress(OSError, ValueError, EOFError):
                found = np.load(file, allow_pickle=False).astype(np.int32)
        if found is None:
            found = make()
            if file is not None:
                with (
                    suppress(OSError, InputError),
                    whole_file(file) as part,
                    part.open("wb") as out,
                ):
                    np.save(out, found, allow_pickle=False)
        self.memo.put(("derived", name), found)
        table: NDArray[np.int32] = found
        return table

    def save(self, folder: Path, source: str = "") -> None:
        """Write the space into a new folder, whole or not at all."""
        if folder.exists():
            raise InputError(f"There is a {folder} already; delete it, or name a new folder.")
        with whole_folder(folder) as part:
            np.save(part / "vectors.npy", self.vectors, allow_pickle=False)
            (part / "words.txt").write_bytes("\n".join(self.words).encode())
            sizes = {name: (part / name).stat().st_size for name in ("vectors.npy", "words.txt")}
            meta = {"format": FORMAT, "name": self.name, "source": source, "bytes": sizes}
            (part / "meta.json").write_text(json.dumps(meta, indent=1))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is not None:
            return _reopen, (self.path,)
        return type(self), (self.words, np.asarray(self.vectors), self.name)


def open_folder(folder: Path) -> Embeddings:
    """Open a folder written by `Embeddings.save`; the vectors are memory-mapped, not read."""
    try:
        meta = json.loads((folder / "meta.json").read_text())
        whole = meta["format"] == FORMAT and all(
            (folder / name).stat().st_size == size for name, size in meta["bytes"].items()
        )
        words = tuple((folder / "words.txt").read_bytes().decode().split("\n"))
        vectors = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
        whole = whole and vectors.shape[0] == len(words) and vectors.dtype == np.float32
        name = str(meta["name"])
    except (FileNotFoundError, NotADirectoryError, EOFError, ValueError, LookupError, TypeError):
        whole = False
    except AttributeError:
        whole = False
    if not whole:
        raise InputError(
            f"{folder} is not a whole folder of vectors (meta.json, words.txt, vectors.npy);"
            " delete it and load the vectors again."
        )
    return Embeddings(words, vectors, name, folder)


@lru_cache(maxsize=4)
def _reopen(folder: Path) -> Embeddings:
    """Open a folder once per worker process, so that its cache lives from job to job."""
    return open_folder(folder)


def check_vectors(words: tuple[str, ...], vectors: object, name: str) -> Singles:
    """Return the vectors as float32 (V, d), or say what is wrong with them."""
    try:
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
    if len(words) != len(array):
        raise InputError(f"{name} has {len(words):,} words but {len(array):,} vectors.")
    for start in range(0, len(array), 65_536):
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(array[start : start + 65_536]) <= MAX_NUMBER).all(axis=1)
        if bad.any():
            raise InputError(
                f"Vector {start + int(bad.argmax()) + 1:,} of {name} has a number that is not"
                f" finite or beyond {MAX_NUMBER:g}; remove that word, or scale the vectors."
            )
    if any(not isinstance(word, str) or not word or "\n" in word for word in words):
        raise InputError(f"Every word of {name} must be a string without line breaks.")
    if len(set(words)) != len(words):
        raise InputError(f"{name} has a word twice; keep the first of each.")
    return array
