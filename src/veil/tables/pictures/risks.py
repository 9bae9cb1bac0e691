"""The risk of all records as a map: sorted, so that no place is a record's own."""

import numpy as np

from veil.core.types import Floats
from veil.studies.report.markup import Markup
from veil.tables.pictures.sheet import box, key, picture

CLASSES = (  # least risk, its colour, and how it is told
    (0.5, "#8c1d18", "≥ 50 %"),
    (0.2, "#d9602c", "≥ 20 %"),
    (0.1, "#f0ae5a", "≥ 10 %"),
    (0.05, "#f5dfa5", "≥ 5 %"),
    (0.0, "#dfe7ee", "below"),
)
ACROSS, DOWN = 40, 16
_SIDE, _GAP, _HEAD = 8.0, 1.0, 24.0


def risk_map(risks: Floats, says: str) -> Markup:
    """Draw risks (n,), highest first, as squares that stand for equal shares of the records."""
    cells = squares(risks)
    step = _SIDE + _GAP
    parts = key(0, 12, [(colour, told) for _, colour, told in CLASSES])
    for place, risk in enumerate(cells.tolist()):
        x, y = place // DOWN * step, _HEAD + place % DOWN * step
        parts.append(box(x, y, _SIDE, _SIDE, colour_of(risk)))
    return picture(ACROSS * step, _HEAD + DOWN * step, "Risk of all records, sorted", says, *parts)


def squares(risks: Floats) -> Floats:
    """Return the highest risk within each of the squares, highest first."""
    ordered = np.sort(risks)[::-1]
    starts = np.floor(np.arange(ACROSS * DOWN) * len(ordered) / (ACROSS * DOWN)).astype(np.int64)
    return ordered[np.minimum(starts, len(ordered) - 1)]


def colour_of(risk: float) -> str:
    """Return the colour of a risk."""
    return next(colour for least, colour, _ in CLASSES if risk >= least)
