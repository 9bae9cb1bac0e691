"""How the rules read a query: in every way it may be meant, whatever it was typed with.

Full-width and other compatibility characters are taken for the plain ones (NFKC), odd apostrophes
and hyphens too. Characters that cannot be seen are taken for nothing and for a space: a rule that
forbids is to match in either case. Letters of another script that look alike are not unmasked.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from veil.corpus.tokens import STOP_WORDS, Kind, bare_parts, tokens, unaccented

_ODD = str.maketrans("‘’ʼ´`‐‑−。", "'''''---.")
_BLANKS = frozenset(  # drawn as nothing, though they count as letters, marks or symbols
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
)
_HYPHEN = re.compile(r"(?<=[^\W_])-(?=[^\W_])")
_INSIDE = re.compile(r"[^\w\s'-]|_")  # what parts the words of an address


@dataclass(frozen=True, slots=True)
class Unit:
    """A word as it is compared: without case, accents, clitic and hyphens."""

    text: str
    kind: Kind

    @property
    def counts(self) -> bool:
        """Whether it is more than a function word."""
        return self.text not in STOP_WORDS


@dataclass(frozen=True, slots=True)
class Readings:
    """The ways to read a query.

    `written` holds the query itself, and what it is without characters that cannot be seen;
    `hidden` says whether there are any. `loose` adds what it is without hyphens, and with the
    words of its addresses apart.
    """

    written: tuple[str, ...]
    loose: tuple[str, ...]
    hidden: bool


def readings(query: str) -> Readings:
    """Return the ways to read a query, each once, the plainest first."""
    plain = _even(query)
    unseen = {character for character in set(plain) if _is_unseen(character)}
    joined = _even("".join(c for c in plain if c not in unseen)) if unseen else plain
    apart = "".join(" " if c in unseen else c for c in plain) if unseen else plain
    written = tuple(dict.fromkeys((plain, joined, apart)))
    loose = (*written, whole(joined), _INSIDE.sub(" ", joined))
    return Readings(written, tuple(dict.fromkeys(loose)), bool(unseen))


def units(text: str) -> list[Unit]:
    """Return the words of a text, in order.

    >>> [unit.text for unit in units("The Café's X-RAY, 3 rooms")]
    ['the', 'cafe', 'x', 'ray', '3', 'rooms']
    """
    found = []
    text = _even(text)
    for token in tokens(text):
        word = text[token.start : token.end]
        named = token.kind in (Kind.WORD, Kind.IDENTIFIER)
        parts: Sequence[str] = bare_parts(word) if named else (word.casefold(),)
        found += [Unit(unaccented(part) or part, token.kind) for part in parts]
    return found


def whole(text: str) -> str:
    """Return a text without the hyphens inside its words.

    >>> whole("an X-ray - today")
    'an Xray - today'
    """
    return _HYPHEN.sub("", text)


def _even(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_ODD)).translate(_ODD)


@lru_cache(maxsize=4096)
def _is_unseen(character: str) -> bool:
    """Tell whether a character is drawn as nothing, or not known to be drawn as something."""
    if character.isspace():
        return False
    if unicodedata.category(character)[0] == "C" or character in _BLANKS:
        return True
    return "VARIATION SELECTOR" in unicodedata.name(character, "")
