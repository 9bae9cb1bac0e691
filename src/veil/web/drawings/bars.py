"""Two bars for each of a few labels: what was, and what is released."""

from collections.abc import Sequence
from typing import NamedTuple

from veil.core.types import Floats
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.svg import at

INK, SOFT, PAPER, BEFORE, AFTER = "#1b1f24", "#57606a", "#ffffff", "#8a939c", "#00497f"
WIDTH, LABEL, ROW, TOP, FOOT = 340.0, 118.0, 28.0, 46.0, 4.0
_ROOM = 46.0  # for figures behind the bars
_LETTERS, _HEAD = 15, 42  # of a label, and of the title
_FONT = "system-ui, sans-serif"


class Two(NamedTuple):
    """A label, and its share before and after, from 0 to 1; None: nothing is released yet."""

    label: str
    before: float
    after: float | None


def twins(labels: Sequence[str], before: Floats, after: Floats | None) -> list[Two]:
    """Put labels and shares side by side."""
    then = [None] * len(labels) if after is None else after.tolist()
    return [Two(*row) for row in zip(labels, before.tolist(), then, strict=True)]


def bars(title: str, says: str, rows: Sequence[Two]) -> Markup:
    """Draw the rows from the top down, on one scale."""
    most = max([0.01, *(row.before for row in rows), *(row.after or 0.0 for row in rows)])
    height = TOP + ROW * len(rows) + FOOT
    drawn = [_row(row, TOP + ROW * place, most) for place, row in enumerate(rows)]
    return tag(
        "svg",
        tag("title", title),
        tag("desc", says),
        tag("rect", width=at(WIDTH), height=at(height), fill=PAPER, class_="paper"),
        _words(0, 14, _short(title, _HEAD), 13, INK, "head"),
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


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def _legend(*, released: bool) -> Markup:
    parts = [_bar(LABEL, 25, 10, BEFORE, "before"), _words(LABEL + 15, 33, "original", 11, SOFT)]
    if released:
        parts += [
            _bar(LABEL + 76, 25, 10, AFTER, "after"),
            _words(LABEL + 91, 33, "released", 11, SOFT),
        ]
    return join(*parts)


def _row(row: Two, top: float, most: float) -> Markup:
    after = "" if row.after is None else f", released {percent(row.after)}"
    parts = [
        tag("title", f"{row.label}: original {percent(row.before)}{after}"),
        _words(LABEL - 8, top + 15, _short(row.label, _LETTERS), 12, INK, anchor="end"),
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
