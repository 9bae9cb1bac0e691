"""How many records look alike, before and after."""

from veil.core.types import Floats
from veil.studies.report.markup import Markup, percent, tag
from veil.studies.report.svg import at
from veil.tables.glance import SIZES
from veil.tables.pictures.sheet import AFTER, BEFORE, RULE, SOFT, box, key, picture, words

_WIDTH, _LEFT, _ROW, _TOP, _RIGHT = 340.0, 84.0, 28.0, 30.0, 46.0


def sizes(before: Floats, after: Floats) -> Markup:
    """Draw the share of records by the number of those that look like them."""
    removed = max(0.0, 1 - float(after.sum()))
    rows = [(name, one, two) for name, one, two in zip(SIZES, before, after, strict=True)]
    if removed > 1e-9:
        rows.append(("removed", 0.0, removed))
    height = _TOP + len(rows) * _ROW + 8
    parts = key(_LEFT, 14, [(BEFORE, "before"), (AFTER, "after")])
    parts.append(tag("path", d=f"M{at(_LEFT)} {at(_TOP - 4)}V{at(height - 4)}", stroke=RULE))
    reach = _WIDTH - _LEFT - _RIGHT
    for place, (name, one, two) in enumerate(rows):
        y = _TOP + place * _ROW
        parts.append(words(_LEFT - 6, y + 15, name, 11, "end"))
        for at_y, share, colour, when in (
            (y, one, BEFORE, "before"),
            (y + 11, two, AFTER, "after"),
        ):
            told = f"{name}, {when}: {percent(float(share))}"
            parts.append(box(_LEFT, at_y, reach * float(share), 10, colour, told))
            if share > 0:
                x = _LEFT + reach * float(share) + 4
                parts.append(words(x, at_y + 9, percent(float(share)), 9, fill=SOFT))
    says = (
        f"Before, {percent(float(before[0]))} of the records are alone; after,"
        f" {percent(float(after[0]))}."
    )
    return picture(_WIDTH, height, "Records by how many look alike", says, *parts)
