"""Where something personal stands in a text, and of what kind it is."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """`text[start:end]` is personal data of a kind, as ``EMAIL``."""

    start: int
    end: int
    kind: str


Place = tuple[int, int]
Find = Callable[[str], Iterator[Place]]


def apart(spans: Iterable[Span]) -> list[Span]:
    """Return spans that do not overlap, in order; of two that do, the first in the list wins.

    What stands out of the winner on either side is personal, too: the winner is widened.

    >>> apart([Span(4, 9, "EMAIL"), Span(0, 5, "PHONE"), Span(20, 22, "DATE")])
    [Span(start=0, end=9, kind='EMAIL'), Span(start=20, end=22, kind='DATE')]
    """
    found: list[Span] = []
    for span in spans:
        joined = span
        for other in [one for one in found if one.start < joined.end and joined.start < one.end]:
            found.remove(other)
            start, end = min(other.start, joined.start), max(other.end, joined.end)
            joined = Span(start, end, other.kind)
        found.append(joined)
    return sorted(found)
