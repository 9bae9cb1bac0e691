"""What words and vectors must be before a mechanism may work with them."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Singles

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
