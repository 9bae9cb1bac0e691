"""Texts to index terms, as Lucene's English analyser does: words, stop words, Porter stems."""

import re
import threading
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import MissingExtraError
from veil.core.types import Ids

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")
LUCENE_STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)


class _Own(threading.local):
    """A stemmer for each thread: it takes one word at a time."""

    @cached_property
    def stemmer(self) -> Any:  # noqa: ANN401 - the library has no types
        try:
            import Stemmer
        except ImportError:
            raise MissingExtraError(
                "A local index needs PyStemmer and bm25s: pip install 'veil[search]'."
            ) from None
        return Stemmer.Stemmer("porter")


_OWN = _Own()


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without possessive endings.

    >>> words_of("Crohn's disease, type-2")
    ['crohn', 'disease', 'type', '2']
    """
    words: list[str] = _WORD.findall(text.lower())
    if "'" in text or "’" in text:
        return [_POSSESSIVE.sub("", word) for word in words]
    return words


def term_of(word: str) -> str:
    """Return the index term of one word in lower case, or "" for a stop word."""
    return "" if word in LUCENE_STOP_WORDS else str(_OWN.stemmer.stemWord(word))


def analyse(text: str) -> list[str]:
    """Return the index terms of a text, in order.

    >>> analyse("The treatments of skin cancers")
    ['treatment', 'skin', 'cancer']
    """
    return [term for word in words_of(text) if (term := term_of(word))]


class Analyser:
    """Turns many texts into numbers of terms; every spelling is stemmed once."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self._spellings: dict[str, int] = {}

    def ids(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], Ids]:
        """Return the terms of all texts in one row, and where each text starts (n + 1,)."""
        chunks: list[NDArray[np.int32]] = []
        ends = [0]
        known = self._spellings
        for text in texts:
            numbers = [known.get(word) or self._learn(word) for word in words_of(text)]
            chunk = np.array([number - 1 for number in numbers if number > 0], dtype=np.int32)
            chunks.append(chunk)
            ends.append(ends[-1] + len(chunk))
        flat = np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int32)
        return flat, np.array(ends, dtype=np.int64)

    def _learn(self, word: str) -> int:
        """Return the number of a spelling's term plus one, or -1 for a stop word."""
        term = term_of(word)
        number = self.terms.setdefault(term, len(self.terms)) + 1 if term else -1
        self._spellings[word] = number
        return number
