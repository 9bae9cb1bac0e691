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
