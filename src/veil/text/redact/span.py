"""Where something personal stands in a text, and the text as recognisers read it.

A text as recognisers read it: what looks like a space, a hyphen or a digit is one.
Documents and web pages write the same number with spaces that do not break, hyphens of print,
digits of full width or in circles, and characters that nobody sees between them.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple


class Span(NamedTuple):
    """`text[start:end]` is personal data of a kind, as ``EMAIL``."""

    start: int
    end: int
    kind: str


Place = tuple[int, int]
Find = Callable[[str], Iterator[Place]]


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Return spans that do not overlap, in order; of two that do, the first in the list wins.

    What stands out of the winner on either side is personal, too: the winner is widened.

    >>> without_overlaps([Span(4, 9, "EMAIL"), Span(0, 5, "PHONE"), Span(20, 22, "DATE")])
    [Span(start=0, end=9, kind='EMAIL'), Span(start=20, end=22, kind='DATE')]
    """
    ranked = sorted(enumerate(spans), key=lambda one: (one[1].start, one[1].end))
    found: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if not found or span.start >= found[-1][1].end:
            found.append((rank, span))
            continue
        best, other = found[-1]
        end, kind = max(other.end, span.end), other.kind if best < rank else span.kind
        found[-1] = min(best, rank), Span(other.start, end, kind)
    return [span for _, span in found]


_HYPHENS = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")
_ALIKE = dict.fromkeys("\u2018\u2019\u02bc\u2032", "'") | dict.fromkeys("\u3002\uff61\u2024", ".")
_ALIKE |= dict.fromkeys("\u201c\u201d\u201e", '"')


class NormalisedText:
    """A text in plain characters, and where each of them stands in the original.

    >>> plain = NormalisedText("+39\u00a0049 827\u20111234")
    >>> plain.text, plain.place((0, 15))
    ('+39 049 827-1234', (0, 15))
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: list[int] | None = None
        if not text.isascii():
            spelt = [(_plain(character), at) for at, character in enumerate(text)]
            self.text = "".join(character for character, _ in spelt)
            self._places = [at for character, at in spelt if character]

    def place(self, found: Place) -> Place:
        """Return where in the original a place of the plain text is."""
        if self._places is None:
            return found
        return self._places[found[0]], self._places[found[1] - 1] + 1


@cache
def _plain(character: str) -> str:
    """Return one character that stands for another, or none for one that is not seen."""
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
