"""Capitals: they stay visible in variants, and a logged query may be spelt with others."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum


class Shown(StrEnum):
    """How a piece of a text is capitalised."""

    LOWER = "lower"
    TITLE = "title"
    UPPER = "upper"
    MIXED = "mixed"


Cases = tuple[Shown, ...]


def cases_of(variants: Sequence[Sequence[str]]) -> Cases:
    """Return how each piece is usually capitalised in variants cut at white space.

    >>> [str(case) for case in cases_of([["Skin", "cancer", "(HIV)"]])]
    ['title', 'lower', 'upper']
    """
    columns = zip(*variants, strict=True)
    return tuple(Counter(map(_shown, column)).most_common(1)[0][0] for column in columns)


def cased(pieces: Sequence[str], cases: Cases) -> str:
    """Return a text with the capitals of another; mixed ones stay as they are.

    >>> cased(["bone", "Marrow"], (Shown.UPPER, Shown.LOWER))
    'BONE marrow'
    """
    return " ".join(map(_as, pieces, cases))


def _shown(piece: str) -> Shown:
    letters = [letter for letter in piece if letter.isalpha()]
    upper = [letter.isupper() for letter in letters]
    if not any(upper):
        return Shown.LOWER
    if upper[0] and not any(upper[1:]):
        return Shown.TITLE
    return Shown.UPPER if all(upper) else Shown.MIXED


def _as(piece: str, case: Shown) -> str:
    if case is Shown.MIXED:
        return piece
    if case is Shown.UPPER:
        return piece.upper()
    small = piece.lower()
    if case is Shown.LOWER:
        return small
    first = next((at for at, letter in enumerate(small) if letter.isalpha()), 0)
    return small[:first] + small[first : first + 1].upper() + small[first + 1 :]
