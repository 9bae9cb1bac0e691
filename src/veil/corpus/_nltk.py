"""NLTK's WordNet reader, restricted to one folder."""

import io
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError
from nltk.data import PathPointer
from nltk.stem.snowball import SnowballStemmer

from veil.core.errors import InputError
from veil.corpus.inflection import ADJECTIVES, NOUNS, VERBS, exception_list
from veil.data.memo import private_cache

_MISSING = {  # files that the reader needs and the archive lacks
    "lexnames": "".join(f"{number:02} file{number} 0\n" for number in range(45)),
    "noun.exc": exception_list(NOUNS),
    "verb.exc": exception_list(VERBS),
    "adj.exc": exception_list(ADJECTIVES),
    "adv.exc": "",
}


Synsets = defaultdict[str, dict[int, Any]]

_UNREADABLE = (WordNetError, ValueError, AssertionError, LookupError, StopIteration, OSError)


def read(folder: Path) -> tuple[Any, Callable[[str], str]]:
    """Return a reader for the WordNet in a folder, and a stemmer."""
    try:
        return Reader(Folder(folder), object()), SnowballStemmer("english").stem
    except _UNREADABLE as error:
        raise InputError(
            f"Cannot read the WordNet in {folder} ({type(error).__name__}). Delete the folder."
        ) from None


class Folder(PathPointer):  # type: ignore[misc]
    """The folder of the files. NLTK would otherwise require a folder on its own search path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def join(self, fileid: str) -> "Folder":
        return Folder(self.folder / fileid)

    def open(self, encoding: str | None = None) -> io.TextIOWrapper:
        """Return the file in memory, because offsets count bytes and no handle stays open."""
        return io.TextIOWrapper(io.BytesIO(self.folder.read_bytes()), encoding or "utf-8")

    def file_size(self) -> int:
        return self.folder.stat().st_size


class Reader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's reader, for a folder that contains only English."""

    @property
    def _synset_offset_cache(self) -> Synsets:
        """The synsets read so far, with a separate cache for private work."""
        synsets = private_cache(("synsets", id(self)), lambda: Synsets(dict))
        return self._shared if synsets is None else synsets

    @_synset_offset_cache.setter
    def _synset_offset_cache(self, cache: Synsets) -> None:
        self._shared = cache

    def open(self, file: str) -> io.TextIOBase:
        """Open a file of the folder, or its replacement."""
        path = self._root.join(file)
        if file in _MISSING and not path.folder.is_file():
            return io.StringIO(_MISSING[file])
        opened: io.TextIOBase = path.open()
        return opened

    def map_wn(self, version: str = "wordnet") -> None:
        """Do nothing: there is no second WordNet to map synsets from."""
