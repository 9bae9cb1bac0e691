"""Spans of personal data, and the normalised text that recognisers read.

Normalised text has ASCII spaces, hyphens and digits. Documents and web pages write the same number
with no-break spaces, typographic hyphens, full-width or circled digits, and invisible characters
in between.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple


class Span(NamedTuple):
    """`text[start:end]` is personal data of a kind, such as ``EMAIL``."""

    start: int
    end: int
    kind: str


Place = tuple[int, int]
Find = Callable[[str], Iterator[Place]]


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, with overlapping ones merged under the kind of the first listed.

    The merged span covers all of them, because every part is personal.

    >>> without_overlaps([Span(4, 9, "EMAIL"), Span(0, 5, "PHONE"), Span(20, 22, "DATE")])
    [Span(start=0, end=9, kind='EMAIL'), Span(start=20, end=22, kind='DATE')]
    """
    ranked = sorted(enumerate(spans), key=lambda item: (item[1].start, item[1].end))
    merged: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if not merged or span.start >= merged[-1][1].end:
            merged.append((rank, span))
            continue
        best, other = merged[-1]
        end, kind = max(other.end, span.end), other.kind if best < rank else span.kind
        merged[-1] = min(best, rank), Span(other.start, end, kind)
    return [span for _, span in merged]


_HYPHENS = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")
_ALIKE = dict.fromkeys("\u2018\u2019\u02bc\u2032", "'") | dict.fromkeys("\u3002\uff61\u2024", ".")
_ALIKE |= dict.fromkeys("\u201c\u201d\u201e", '"')


class NormalisedText:
    """A text in plain characters, with the position of each in the original.

    >>> plain = NormalisedText("+39\u00a0049 827\u20111234")
    >>> plain.text, plain.place((0, 15))
    ('+39 049 827-1234', (0, 15))
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: list[int] | None = None
        if not text.isascii():
            spelt = [(_normalise(character), at) for at, character in enumerate(text)]
            self.text = "".join(character for character, _ in spelt)
            self._places = [at for character, at in spelt if character]

    def place(self, position: Place) -> Place:
        """Return the position in the original of a position in the plain text."""
        if self._places is None:
            return position
        return self._places[position[0]], self._places[position[1] - 1] + 1


@cache
def _normalise(character: str) -> str:
    """Return the plain form of a character, "" for an invisible one."""
    kind = unicodedata.category(character)
    if kind == "Cf":
        return ""
    if kind == "Zs":
        return " "
    if character in _HYPHENS:
        return "-"
    if character in _ALIKE:
        return _ALIKE[character]
    digit = unicodedata.digit(character, None)
    if digit is not None:
        return str(digit)
    folded = unicodedata.normalize("NFKC", character)
    return folded if len(folded) == 1 and folded.isascii() else character
