"""Drawings of a table before and after, for whoever opened it.

Drawings of a table before and after, for whoever opened it.
They show values of the original, on the machine that it is on, and are not for release; the
pictures of a report (`veil.tables.pictures`) show none.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from veil.core.types import Floats, Ids
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.svg import at
from veil.tables.column import format_number
from veil.tables.measures.pair import Bins, Pair
from veil.tables.measures.pair import shares as released_shares
from veil.tables.table import Table

INK, SOFT, PAPER, BEFORE, AFTER = "#1b1f24", "#57606a", "#ffffff", "#8a939c", "#00497f"
WIDTH, LABEL, ROW, TOP, FOOT = 340.0, 118.0, 28.0, 46.0, 4.0
_ROOM = 46.0  # for figures behind the bars
_LETTERS, _HEAD = 15, 42  # of a label, and of the title
_FONT = "system-ui, sans-serif"


class BarPair(NamedTuple):
    """A label, and its share before and after, from 0 to 1; None: nothing is released yet."""

    label: str
    before: float
    after: float | None


def bar_pairs(labels: Sequence[str], before: Floats, after: Floats | None) -> list[BarPair]:
    """Put labels and shares side by side."""
    then = [None] * len(labels) if after is None else after.tolist()
    return [BarPair(*row) for row in zip(labels, before.tolist(), then, strict=True)]


def bars(title: str, says: str, rows: Sequence[BarPair]) -> Markup:
    """Draw the rows from the top down, on one scale."""
    most = max([0.01, *(row.before for row in rows), *(row.after or 0.0 for row in rows)])
    height = TOP + ROW * len(rows) + FOOT
    drawn = [_row(row, TOP + ROW * place, most) for place, row in enumerate(rows)]
    return tag(
        "svg",
        tag("title", title),
        tag("desc", says),
        tag("rect", width=at(WIDTH), height=at(height), fill=PAPER, class_="paper"),
        _words(0, 14, _short_label(title, _HEAD), 13, INK, "head"),
        _legend(released=any(row.after is not None for row in rows)),
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"0 0 {at(WIDTH)} {at(height)}",
        width=at(WIDTH),
        height=at(height),
        class_="twins",
    )


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.5), percent(0.034), percent(0.0)
    ('50 %', '3.4 %', '0 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def _short_label(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def _legend(*, released: bool) -> Markup:
    parts = [_bar(LABEL, 25, 10, BEFORE, "before"), _words(LABEL + 15, 33, "original", 11, SOFT)]
    if released:
        parts += [
            _bar(LABEL + 76, 25, 10, AFTER, "after"),
            _words(LABEL + 91, 33, "released", 11, SOFT),
        ]
    return join(*parts)


def _row(row: BarPair, top: float, most: float) -> Markup:
    after = "" if row.after is None else f", released {percent(row.after)}"
    parts = [
        tag("title", f"{row.label}: original {percent(row.before)}{after}"),
        _words(LABEL - 8, top + 15, _short_label(row.label, _LETTERS), 12, INK, anchor="end"),
        *_one(row.before, top + (6 if row.after is None else 1), most, BEFORE, "before"),
    ]
    if row.after is not None:
        parts += _one(row.after, top + 12, most, AFTER, "after")
    return tag("g", *parts, class_="row")


def _one(share: float, top: float, most: float, colour: str, class_: str) -> list[Markup]:
    wide = (WIDTH - LABEL - _ROOM) * share / most
    return [
        _bar(LABEL, top, wide, colour, class_),
        _words(LABEL + wide + 4, top + 9, percent(share), 10, SOFT),
    ]


def _bar(x: float, y: float, wide: float, colour: str, class_: str) -> Markup:
    return tag("rect", x=at(x), y=at(y), width=at(wide), height="9", fill=colour, class_=class_)


def _words(
    x: float, y: float, words: str, size: float, fill: str, class_: str = "", anchor: str = "start"
) -> Markup:
    kind = f"ink {class_}".strip() if fill == INK else "soft"
    return tag(
        "text", words, x=at(x), y=at(y), font_family=_FONT, font_size=f"{size:g}", fill=fill,
        text_anchor=anchor, class_=kind,
    )  # fmt: skip


_MOST = 10  # values that have a row of their own


def shares(pair: Pair, name: str) -> Markup:
    """Draw the shares of a column's values; more than ten numbers are cut at their deciles.

    A label of the release, as an interval, is spread evenly over the values that it stands for.
    """
    bins = pair.bins(name)
    before = np.bincount(bins.codes, minlength=bins.size) / max(1, len(bins.codes))
    after = released_shares(bins, pair.placed(name), pair.removed)
    labels, rows = _rows(bins, before)
    rest = np.setdiff1d(np.arange(bins.size), rows)
    kept = [before[rows], after[rows]]
    for what, places in (
        ("missing", [bins.gap]),
        ("new values", [bins.outside]),
        ("all others", np.setdiff1d(rest, [bins.gap, bins.outside])),
    ):
        more = [float(one[places].sum()) for one in (before, after)]
        if sum(more) > 0:
            labels.append(what)
            kept = [np.append(one, extra) for one, extra in zip(kept, more, strict=True)]
    return bars(
        name,
        f"Shares of the values of the column {name} in the original and in the release.",
        bar_pairs(labels, kept[0], kept[1]),
    )


def _rows(bins: Bins, before: Floats) -> tuple[list[str], Ids]:
    """Return the labels that are drawn, and their bins."""
    if bins.cuts is not None:
        return _ranges(bins.cuts), np.arange(bins.named)
    order = np.arange(bins.named)
    if bins.named > _MOST or not bins.column.numeric:
        order = np.argsort(-before[: bins.named], kind="stable")[:_MOST]
    if bins.column.numeric:
        order = np.sort(order)
    return [bins.column.categories[place] for place in order.tolist()], order


def _ranges(cuts: Floats) -> list[str]:
    texts = [_short_number(cut) for cut in cuts.tolist()]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *middle, f"{texts[-1]} and more"]


def _short_number(number: float) -> str:
    return format_number(float(f"{number:.4g}"))


_FROM = (1, 2, 3, 5, 10, 20, 50, 100)  # the least of each row
_LABELS = ("alone", "2", "3 – 4", "5 – 9", "10 – 19", "20 – 49", "50 – 99", "100 or more")


def sizes(original: Table, released: Table | None = None) -> Markup:
    """Draw the share of the records whose class, all that look alike, has so many members."""
    before = _shares(original)
    after = None if released is None else _shares(released)
    then = "" if after is None else f", {percent(float(after[0]))} of the released ones"
    return bars(
        "Records by how many look alike",
        f"{percent(float(before[0]))} of the original records are alone with what an attacker may"
        f" know{then}.",
        bar_pairs(_LABELS, before, after),
    )


def _shares(table: Table) -> Floats:
    """Return the share of the records in classes of each range of sizes (ranges,)."""
    count = np.bincount(table.classes)[table.classes]
    at = np.searchsorted(_FROM, count, side="right") - 1
    return np.bincount(at, minlength=len(_FROM)) / max(1, len(table))
