"""The shares of each column's bins, before and after; the values themselves are not shown."""

from collections.abc import Mapping

import numpy as np

from veil.core.types import Floats
from veil.studies.report.markup import Markup, percent, tag
from veil.studies.report.svg import at
from veil.tables.pictures.sheet import AFTER, BEFORE, RULE, SOFT, box, key, picture, words

_WIDTH, _HIGH, _TOP, _FOOT = 200.0, 70.0, 24.0, 6.0
_ACROSS, _GAP = 5, 14.0


def columns(shares: Mapping[str, Floats]) -> Markup:
    """Draw a small chart for each column: a pair of bars for each bin."""
    rows = -(-len(shares) // _ACROSS)
    step = _TOP + _HIGH + _FOOT
    across = min(_ACROSS, len(shares))
    width = across * (_WIDTH + _GAP) - _GAP
    parts = key(0, 12, [(BEFORE, "before"), (AFTER, "after")])
    for place, (name, both) in enumerate(shares.items()):
        x, y = place % _ACROSS * (_WIDTH + _GAP), 20 + place // _ACROSS * step
        parts += _chart(x, y, name, both)
    says = "; ".join(f"{name}: {percent(_moved(both))} moved" for name, both in shares.items())
    return picture(
        width, 20 + rows * step, "Shares before and after", f"{says}.", *parts, wide=at(width)
    )


def _moved(both: Floats) -> float:
    return 0.5 * float(np.abs(both[0] - both[1]).sum())


def _chart(x: float, y: float, name: str, both: Floats) -> list[Markup]:
    shown = both[:, both.sum(axis=0) > 0]
    base, count = y + _TOP + _HIGH, max(1, shown.shape[1])
    scale = _HIGH / max(1e-9, float(shown.max(initial=0.0)))
    wide = min(18.0, _WIDTH / count)
    told = name if len(name) <= 22 else f"{name[:21]}…"
    parts = [
        words(x, y + 14, told, 11),
        words(x + _WIDTH, y + 14, f"{percent(_moved(both))} moved", 10, "end", SOFT),
        tag("path", d=f"M{at(x)} {at(base)}h{at(_WIDTH)}", stroke=RULE),
    ]
    for place, (one, two) in enumerate(shown.T.tolist()):
        left = x + place * wide
        says = f"bin {place + 1}: {percent(one)} before, {percent(two)} after"
        parts.append(box(left, base - one * scale, wide * 0.44, one * scale, BEFORE, says))
        parts.append(
            box(left + wide * 0.46, base - two * scale, wide * 0.44, two * scale, AFTER, says)
        )
    return parts
