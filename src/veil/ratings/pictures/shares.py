"""How many users could be found, by how many of their items are known."""

from collections.abc import Mapping

import numpy as np

from veil.core.types import Floats
from veil.studies.report.markup import Markup, percent, tag
from veil.studies.report.svg import at
from veil.studies.report.tables import head, table

KNOWN = (1, 2, 4, 8)
_COLOURS = ("#c4431a", "#1d5c8f", "#3b7a3b", "#7a4b9a", "#8a6d1f", "#2a8a8a", "#5c6670")
_WIDE, _HIGH, _LEFT, _TOP, _FOOT, _RIGHT = 420.0, 220.0, 46.0, 12.0, 40.0, 190.0
_INK, _RULE, _FONT = "#5c6670", "#d9dee3", "system-ui, sans-serif"


def found_by(shares: Mapping[str, Floats]) -> Markup:
    """Draw the share of users found (4,) of each configuration against the items known."""
    parts = []
    for share in (0.0, 0.5, 1.0):
        parts.append(
            tag("path", d=f"M{at(_LEFT)} {at(_y(share))}H{at(_LEFT + _WIDE)}", stroke=_RULE)
        )
        parts.append(_words(_LEFT - 6, _y(share) + 4, percent(share), "end"))
    for place, known in enumerate(KNOWN):
        parts.append(_words(_x(place), _TOP + _HIGH + 16, str(known), "middle"))
    parts.append(_words(_LEFT + _WIDE / 2, _TOP + _HIGH + 34, "items known", "middle"))
    last = -1e9
    ordered = sorted(shares, key=lambda name: -float(np.nanmax(shares[name], initial=0.0)))
    for name in ordered:
        colour = _COLOURS[ordered.index(name) % len(_COLOURS)]
        line, end = _line(shares[name])
        last = max(end, last + 13)
        parts.append(tag("path", d=line, stroke=colour, fill="none", stroke_width="2"))
        parts.append(_words(_LEFT + _WIDE + 8, last + 4, name[:30], "start", colour))
    told = "; ".join(f"{name}: {_told(one)}" for name, one in shares.items())
    high = max(_TOP + _HIGH + _FOOT, last + 14)
    svg = tag(
        "svg", tag("title", "Users found by how many items are known"), tag("desc", told), *parts,
        xmlns="http://www.w3.org/2000/svg", role="img", width="100%",
        viewBox=f"0 0 {at(_LEFT + _WIDE + _RIGHT)} {at(high)}",
    )  # fmt: skip
    return tag("figure", svg)


def told_shares(shares: Mapping[str, Floats]) -> Markup:
    """Return a table with a line of each configuration."""
    body = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(tag("td", percent(float(one)) if np.isfinite(one) else "–") for one in row),
        )
        for name, row in shares.items()
    ]
    heads = [head("configuration", *(f"{known} known" for known in KNOWN))]
    return table("Users who could be found", heads, body)


def _line(row: Floats) -> tuple[str, float]:
    points = [(_x(place), _y(float(one))) for place, one in enumerate(row) if np.isfinite(one)]
    drawn = "".join(f"{'L' if n else 'M'}{at(x)} {at(y)}" for n, (x, y) in enumerate(points))
    return drawn or f"M{at(_LEFT)} {at(_y(0))}", points[-1][1] if points else _y(0)


def _told(row: Floats) -> str:
    return ", ".join(
        f"{percent(float(one))} with {known}"
        for known, one in zip(KNOWN, row, strict=True)
        if np.isfinite(one)
    )


def _words(x: float, y: float, text: str, anchor: str, fill: str = _INK) -> Markup:
    return tag("text", text, x=at(x), y=at(y), font_family=_FONT, font_size="11", fill=fill,
               text_anchor=anchor)  # fmt: skip


def _x(place: int) -> float:
    return _LEFT + _WIDE * place / (len(KNOWN) - 1)


def _y(share: float) -> float:
    return _TOP + _HIGH * (1 - share)
