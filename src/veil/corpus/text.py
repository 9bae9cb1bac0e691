"""Texts to words and back: a word keeps its place, spacing, punctuation and case pattern.

White space and punctuation are the layout, which stays. Everything else is a word: letters,
digits, and also symbols, emoji, control and unassigned characters, because what is not known to be
harmless must not pass. E-mail and web addresses are one word each.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from veil.core.errors import InputError
from veil.core.formatting import printable

MASK = "[MASK]"  # in place of a word that is hidden
MAX_CHARS = 1_000_000  # in one text, unless the caller says otherwise


class Kind(StrEnum):
    """What sort of word it is, by its spelling."""

    WORD = "word"
    NUMBER = "number"
    EMAIL = "email"
    URL = "url"
    IDENTIFIER = "identifier"  # letters and digits mixed
    SYMBOL = "symbol"  # no letter and no digit: emoji, currency signs, control characters


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: `text[start:end]`."""

    start: int
    end: int
    kind: Kind


_SPECIAL = re.compile(
    r"(?P<email>(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)*)"
    r"|(?P<url>(?:(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,15}://|www\.)[^\s<>\"]*[\w/]"
    # a bare host, with or without a path; end.Next without a space is taken for one, too
    r"|(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,24}(?![\w-])(?:[/:?#][^\s<>\"]*[\w/])?)"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,:/]\d+)*")
_ASCII_WORD = re.compile(r"[A-Za-z]+")
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|m|d|t|re|ve|ll))$", re.IGNORECASE)
_JOINERS = "'’-"  # inside a word: don't, x-ray


@lru_cache(maxsize=4096)
def _is_layout(character: str) -> bool:
    """Tell whether a character is white space or punctuation."""
    return character.isspace() or unicodedata.category(character)[0] in "PZ"


def check_text(text: object, where: str, max_chars: int = MAX_CHARS) -> str:
    """Return the text, or say what is wrong with it without quoting it."""
    if not isinstance(text, str):
        raise InputError(f"{where} must be a string. Got {type(text).__name__} instead.")
    if len(text) > max_chars:
        raise InputError(
            f"{where} has {len(text):,} characters, more than the limit of {max_chars:,};"
            " split it, or raise the limit: max_chars, --max-chars."
        )
    surrogate = None if text.isascii() else _SURROGATE.search(text)
    if surrogate:
        raise InputError(
            f"{where} has a lone surrogate at character {surrogate.start() + 1}, which is not"
            " text; decode the input with the right encoding."
        )
    return text


def folded(text: str) -> str:
    """Return a text as it is compared: case and white space folded.

    >>> folded("  Skin   Cancer ")
    'skin cancer'
    """
    return " ".join(text.casefold().split())


def alike(text: str) -> str:
    r"""Return a text as it is looked up: folded, in whatever characters it is spelt (NFKC).

    >>> alike("½ Cup of\0ﬂour")
    '1⁄2 cup of flour'
    """
    return folded(unicodedata.normalize("NFKC", printable(text)))


def tokens(text: str) -> list[Token]:
    """Find the words of a text, in order.

    >>> text = "Don't e-mail j.doe@x.org: HIV, 3.5 mg"
    >>> [text[t.start:t.end] for t in tokens(text)]
    ["Don't", 'e-mail', 'j.doe@x.org', 'HIV', '3.5', 'mg']
    """
    found: list[Token] = []
    at = 0
    for match in _SPECIAL.finditer(text) if "@" in text or "." in text or "/" in text else ():
        found += _plain(text, at, match.start())
        found.append(Token(match.start(), match.end(), Kind(match.lastgroup or "url")))
        at = match.end()
    return found + _plain(text, at, len(text))


def _plain(text: str, start: int, end: int) -> list[Token]:
    """Find the words of a stretch that has no addresses."""
    found = []
    at = start
    while at < end:
        character = text[at]
        if _is_layout(character):
            at += 1
            continue
        number = _NUMBER.match(text, at, end)
        stop = number.end() if number else at + 1
        if number and stop < end and not _is_layout(text[stop]):
            number = None  # 3rd, 4x4: letters follow
        while number is None and stop < end and _goes_on(text, stop, end):
            stop += 1
        found.append(Token(at, stop, Kind.NUMBER if number else _kind(text[at:stop])))
        at = stop
    return found


def _goes_on(text: str, at: int, end: int) -> bool:
    """Tell whether the word goes on at this character: also at a joiner between two letters."""
    if not _is_layout(text[at]):
        return True
    return (
        text[at] in _JOINERS and at + 1 < end and text[at + 1].isalnum() and text[at - 1].isalnum()
    )


def _kind(word: str) -> Kind:
    if _ASCII_WORD.fullmatch(word):
        return Kind.WORD
    letters = any(c.isalpha() for c in word)
    digits = any(c.isdigit() for c in word)
    if letters and digits:
        return Kind.IDENTIFIER
    if letters:
        return Kind.WORD
    return Kind.NUMBER if digits else Kind.SYMBOL


def without_clitic(word: str) -> str:
    """Return a word without a clitic at its end.

    >>> [without_clitic(word) for word in ("patient's", "don't", "skin")]
    ['patient', 'do', 'skin']
    """
    return _CLITIC.sub("", word)


def bare_parts(word: str) -> list[str]:
    """Return what is left of a word without case, accents' spelling, clitic and hyphens.

    >>> bare_parts("HIV-positive"), bare_parts("Crohn’s")
    (['hiv', 'positive'], ['crohn'])
    """
    plain = unicodedata.normalize("NFC", word).casefold()
    return [part for part in without_clitic(plain).split("-") if part] or [plain]


def unaccented(word: str) -> str:
    """Return a word without its accents.

    >>> unaccented("Sjögren"), unaccented("café")
    ('Sjogren', 'cafe')
    """
    apart = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


class Case(StrEnum):
    """The case pattern of a word."""

    AS_IS = "as is"
    TITLE = "title"
    UPPER = "upper"


def case_of(word: str) -> Case:
    """Return the pattern of a word that its replacement is to follow."""
    if word.islower():
        return Case.AS_IS
    if len(word) > 1 and word.isupper():
        return Case.UPPER
    if word[:1].isupper() and not any(c.isupper() for c in word[1:]):
        return Case.TITLE
    return Case.AS_IS


def follow(case: Case, word: str) -> str:
    """Write a word in a case pattern.

    >>> follow(case_of("Cancer"), "melanoma"), follow(case_of("HIV"), "mri")
    ('Melanoma', 'MRI')
    """
    if case is Case.UPPER:
        return word.upper()
    if case is Case.TITLE:
        return word[:1].upper() + word[1:]
    return word
