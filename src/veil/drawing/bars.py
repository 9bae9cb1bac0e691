"""Bars before and after: pairs of bars with labels, and small histograms."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from veil.core.types import Floats
from veil.drawing.markup import Markup, percent, tag
from veil.drawing.svg import Colour, at, box, key, paint, picture, shorten, words

WIDTH, LABEL, ROW, TOP, FOOT = 340.0, 118.0, 28.0, 46.0, 4.0
_ROOM = 46.0  # for figures behind the bars
_LETTERS, _TITLE = 15, 42  # of a label, and of the title
NAMES = ("before", "after")


class BarPair(NamedTuple):
    """A label with its share before and after, from 0 to 1; None if there is no release yet."""

    label: str
    before: float
    after: float | None


def bar_pairs(labels: Sequence[str], before: Floats, after: Floats | None) -> list[BarPair]:
    """Join labels and shares."""
    released = [None] * len(labels) if after is None else after.tolist()
    return [BarPair(*row) for row in zip(labels, before.tolist(), released, strict=True)]


def draw_pairs(
    title: str, description: str, rows: Sequence[BarPair], names: tuple[str, str] = NAMES
) -> Markup:
    """Draw pairs of bars from the top down, on one scale; `names` are those of the colours."""
    largest = max([0.01, *(row.before for row in rows), *(row.after or 0.0 for row in rows)])
    entries = [("before", names[0]), ("after", names[1])]
    released = any(row.after is not None for row in rows)
    parts = [
        words(0, 14, shorten(title, _TITLE), 13, font_weight="600"),
        *key(LABEL, 33, entries if released else entries[:1]),
    ]
    for place, row in enumerate(rows):
        parts.append(_pair(row, TOP + ROW * place, largest, names))
    return picture(WIDTH, TOP + ROW * len(rows) + FOOT, title, description, *parts)


def _pair(row: BarPair, top: float, largest: float, names: tuple[str, str]) -> Markup:
    after = "" if row.after is None else f", {names[1]} {percent(row.after)}"
    parts = [
        tag("title", f"{row.label}: {names[0]} {percent(row.before)}{after}"),
        words(LABEL - 8, top + 15, shorten(row.label, _LETTERS), 12, "end"),
        *_bar(row.before, top + (6 if row.after is None else 1), largest, "before"),
    ]
    if row.after is not None:
        parts += _bar(row.after, top + 12, largest, "after")
    return tag("g", *parts)


def _bar(share: float, top: float, largest: float, colour: Colour) -> list[Markup]:
    width = (WIDTH - LABEL - _ROOM) * share / largest
    figure = words(LABEL + width + 4, top + 9, percent(share), 10, colour="soft")
    return [box(LABEL, top, width, 9, colour), figure]


_WIDE, _HIGH, _HEAD, _EDGE = 200.0, 70.0, 24.0, 6.0
_ACROSS, _GAP = 5, 14.0


def draw_histograms(shares: Mapping[str, Floats]) -> Markup:
    """Draw a small histogram for each name: a pair of bars for each bin of (2, bins) shares."""
    across, rows = min(_ACROSS, len(shares)), -(-len(shares) // _ACROSS)
    step, width = _HEAD + _HIGH + _EDGE, across * (_WIDE + _GAP) - _GAP
    parts = key(0, 12, [("before", NAMES[0]), ("after", NAMES[1])])
    for place, (name, pair) in enumerate(shares.items()):
        x, y = place % _ACROSS * (_WIDE + _GAP), 20 + place // _ACROSS * step
        parts += _histogram(x, y, name, pair)
    moves = "; ".join(f"{name}: {percent(_moved(pair))} moved" for name, pair in shares.items())
    return picture(
        width, 20 + rows * step, "Shares before and after", f"{moves}.", *parts
    )  # fmt: skip


def _moved(pair: Floats) -> float:
    return 0.5 * float(np.abs(pair[0] - pair[1]).sum())


def _histogram(x: float, y: float, name: str, pair: Floats) -> list[Markup]:
    shown = pair[:, pair.sum(axis=0) > 0]
    base = y + _HEAD + _HIGH
    scale = _HIGH / max(1e-9, float(shown.max(initial=0.0)))
    step = min(18.0, _WIDE / max(1, shown.shape[1]))
    parts = [
        words(x, y + 14, shorten(name, 22)),
        words(x + _WIDE, y + 14, f"{percent(_moved(pair))} moved", 10, "end", "soft"),
        tag("path", d=f"M{at(x)} {at(base)}h{at(_WIDE)}", **paint(stroke="rule")),
    ]
    for place, (before, after) in enumerate(shown.T.tolist()):
        left, width = x + place * step, step * 0.44
        tip = f"bin {place + 1}: {percent(before)} before, {percent(after)} after"
        parts.append(box(left, base - before * scale, width, before * scale, "before", tip))
        parts.append(
            box(left + step * 0.46, base - after * scale, width, after * scale, "after", tip)
        )
    return parts
