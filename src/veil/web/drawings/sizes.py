"""How many records look like how many others, before and after."""

import numpy as np

from veil.core.types import Floats
from veil.studies.report.markup import Markup
from veil.tables.table import Table
from veil.web.drawings.bars import bars, percent, twins

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
        twins(_LABELS, before, after),
    )


def _shares(table: Table) -> Floats:
    """Return the share of the records in classes of each range of sizes (ranges,)."""
    count = np.bincount(table.classes)[table.classes]
    at = np.searchsorted(_FROM, count, side="right") - 1
    return np.bincount(at, minlength=len(_FROM)) / max(1, len(table))
