"""Forms of one English word: narrowly, for rules that allow, and widely, for rules that forbid.

It is done without a dictionary, so that a rule means the same wherever it is read.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from veil.corpus.irregular import ADJECTIVES, NOUNS, VERBS, exceptions

Forms = Callable[[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Akin:
    """How words are compared: two are akin when they have a form in common.

    `forms` is for a word as somebody typed it, `base` for one that is the base form of itself.
    """

    forms: Forms
    base: Forms


_ENDINGS = (  # of a form, what stands there in the base, and what the base must be like
    ("s", "", re.compile(r"[^s]$").search),
    ("es", "", re.compile(r"(?:[sxzo]|ch|sh)$").search),
    ("ies", "y", re.compile(r"[^aeiou]y$").search),
    ("ied", "y", re.compile(r"[^aeiou]y$").search),
    ("ed", "", bool),
    ("ed", "e", bool),
    ("ing", "", bool),
    ("ing", "e", bool),
)
_VOWEL = re.compile(r"[aeiouy]")
_SHORT = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")  # doubles its last letter: plan, planned
_DOUBLED = re.compile(r"(.*([bdfgklmnprstvz]))\2")
_SHORTEST = 3  # letters of a base


def narrow() -> Akin:
    """Compare by plurals and the regular forms of verbs: *wound* is not taken for *to wind*."""
    return Akin(_inflected, lambda word: frozenset({word}))


def wide() -> Akin:
    """Compare by all forms, and by what a word is derived from.

    Snowball's stems also join words that are only distantly related, such as *organ* and
    *organic*: good enough to forbid, too coarse to allow.
    """
    from nltk.stem.snowball import SnowballStemmer  # NLTK takes a second to load

    stem = SnowballStemmer("english").stem

    def forms(word: str) -> frozenset[str]:
        found = _inflected(word).union(_irregular(NOUNS, VERBS, ADJECTIVES).get(word, ()))
        return found.union(str(stem(each)) for each in found)

    return Akin(forms, lambda word: frozenset({word, str(stem(word))}))


def _inflected(word: str) -> frozenset[str]:
    """Return a word and what it may be a form of.

    >>> sorted(_inflected("planned")), sorted(_inflected("planes")), sorted(_inflected("mice"))
    (['plan', 'plann', 'planne', 'planned'], ['plane', 'planes'], ['mice', 'mouse'])
    """
    return frozenset({word, *_irregular(NOUNS).get(word, ()), *_bases(word)})


def _bases(word: str) -> Iterator[str]:
    for ending, instead, like in _ENDINGS:
        kept = word.removesuffix(ending)
        base = kept + instead
        if kept == word or len(base) < _SHORTEST or not like(base):
            continue
        if not _VOWEL.search(base.removesuffix("e")):  # thing, string
            continue
        verb = ending in ("ed", "ing") and not instead
        if verb and (doubled := _DOUBLED.fullmatch(base)):
            yield doubled[1]
        if not (verb and _SHORT.fullmatch(base)):
            yield base


@cache
def _irregular(*tables: str) -> dict[str, tuple[str, ...]]:
    """Return the base forms of irregular forms."""
    found: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for line in exceptions(table).splitlines():
            form, base = line.split()
            found[form] = (*found.get(form, ()), base)
    return found
