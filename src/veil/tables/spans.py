"""Labels that stand for numbers: [20-29], [20, 30[, >65, {1, 2}."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from veil.core.types import Floats

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INTERVAL = re.compile(rf"([\[\](]?)\s*({_NUMBER})\s*(?:-|,|;|\.\.|–)\s*({_NUMBER})\s*([\])\[]?)")
_TAIL = re.compile(rf"(>=|<=|>|<|≥|≤)\s*({_NUMBER})")
_SAME = 1e-9  # widths of a grid differ by no more, as a share of the width


class Span(NamedTuple):
    """An interval of numbers, and which of its ends belong to it."""

    low: float
    high: float
    from_low: bool = True
    to_high: bool = True


def read_span(label: str) -> Span | None:
    """Return the numbers that a label stands for, or None if it is no such label.

    >>> read_span("[20-29]"), read_span(">65")
    (Span(low=20.0, high=29.0, from_low=True, to_high=True), \
Span(low=65.0, high=inf, from_low=False, to_high=True))
    >>> read_span("[-5--1[").to_high, read_span("flu")
    (False, None)
    """
    found = _INTERVAL.fullmatch(label.strip())
    if found is not None:
        low, high = float(found[2]), float(found[3])
        if low > high or bool(found[1]) != bool(found[4]):
            return None
        return Span(low, high, found[1] in ("", "["), found[4] in ("", "]"))
    tail = _TAIL.fullmatch(label.strip())
    if tail is not None:
        sign, end = tail[1], float(tail[2])
        closed = sign in (">=", "<=", "≥", "≤")
        if sign[0] in ">≥":
            return Span(end, np.inf, closed)
        return Span(-np.inf, end, to_high=closed)
    return _point(label)


def read_spans(labels: Iterable[str], *, closed: bool = False) -> list[Span | None]:
    """Read all labels of a column; intervals of one width that touch are open above.

    [0-10] and [10-20] are printed for real numbers, and 10 is in the second alone; unless it is
    known that they are `closed`, as those are that tell the least and the most of a class.
    """
    spans = [read_span(label) for label in labels]
    if closed or not _touching(spans):
        return spans
    return [
        span._replace(to_high=False) if span is not None and _bounded(span) else span
        for span in spans
    ]


def members(label: str) -> tuple[str, ...] | None:
    """Return the members of a set as it is written, ``{a, b}``, or None."""
    if label.startswith("{") and label.endswith("}"):
        return tuple(part.strip() for part in label[1:-1].split(","))
    return None


class Sets:
    """Finds the members of sets among the values of a column, which may have commas themselves.

    >>> Sets({"clerk": 0, "clerk, senior": 1, "nurse": 2}).of("{clerk, senior, nurse}")
    ([0, 1, 2], True)
    """

    def __init__(self, place: Mapping[str, int]) -> None:
        self._place = place
        self._longest = 1 + max((value.count(",") for value in place), default=0)

    def of(self, label: str) -> tuple[list[int], bool] | None:
        """Return the places of all values that a set may have, and whether they are all of it.

        Where it can be read in two ways, it has what either says. None: it is no set.
        """
        if not (label.startswith("{") and label.endswith("}")):
            return None
        parts = label[1:-1].split(",")
        found, read = set(), [False] * len(parts)
        for start in range(len(parts)):
            for end in range(start + 1, min(start + self._longest, len(parts)) + 1):
                value = ",".join(parts[start:end]).removeprefix(" ")
                value = value if value in self._place else value.strip()
                if value in self._place:
                    found.add(self._place[value])
                    read[start:end] = [True] * (end - start)
        return sorted(found), all(read)


def ends(spans: Iterable[Span | None]) -> Floats:
    """Return the lowest and the highest number of each span (n, 2); nan where there is none."""
    pairs = [(span.low, span.high) if span is not None else (np.nan, np.nan) for span in spans]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def _point(label: str) -> Span | None:
    if re.fullmatch(_NUMBER, label.strip()) is None:
        return None
    return Span(float(label), float(label))


def _bounded(span: Span) -> bool:
    return bool(np.isfinite(span.low) and np.isfinite(span.high) and span.low < span.high)


def _touching(spans: Iterable[Span | None]) -> bool:
    """Whether intervals have one width, do not overlap, and touch somewhere."""
    held = sorted({(span.low, span.high) for span in spans if span is not None and _bounded(span)})
    if len(held) < 2:
        return False
    lows, highs = np.array(held).T
    widths = highs - lows
    even = np.ptp(widths) <= _SAME * max(widths.max(), float(np.abs(highs).max()))
    gaps = lows[1:] - highs[:-1]
    slack = _SAME * np.abs(highs).max()
    return bool(even and (gaps >= -slack).all() and (gaps <= slack).any())
