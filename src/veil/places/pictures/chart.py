"""The map of a release; the true points only where they are handed in, and then marked."""

import numpy as np

from veil.core.types import Floats
from veil.places.pictures.sheet import (
    RELEASED,
    SOFT,
    TRUE,
    WARNING,
    Sheet,
    dots,
    picture,
    some,
    warning,
    words,
)
from veil.studies.report.markup import Markup, tag
from veil.studies.report.svg import at

WIDTH, HEIGHT, HEAD, EDGE = 640.0, 560.0, 34.0, 10.0
_JOINED = 2_000  # points up to which true and released ones are joined by lines


def chart(released: Floats, said: str, original: Floats | None = None) -> Markup:
    """Draw released points (n, 2) in metres; `said` is what made them.

    They are drawn from west to east, whatever row they are of: their order would be a link.
    """
    order = np.lexsort((released[:, 1], released[:, 0]))
    released, original = released[order], None if original is None else original[order]
    whole = released if original is None else np.concatenate([released, original])
    sheet = Sheet.around(whole, EDGE, HEAD, WIDTH - 2 * EDGE, HEIGHT - HEAD - EDGE)
    shown = some(len(released))
    places = sheet.place(released[shown])
    parts = [sheet.paper()]
    if original is not None:
        parts += _true(sheet, places, original[shown])
    size = 4.5 if len(places) < 2_000 else 2.5
    parts.append(dots(places, RELEASED, size, "released", 0.75))
    parts.append(sheet.bar())
    parts.append(words(EDGE, 22, _head(len(released), len(places), said), 13))
    if original is not None:
        parts.append(warning(WIDTH - EDGE, 22))
        parts.append(words(WIDTH - EDGE - 8, HEAD + 18, "○ true points", 11, "end", TRUE))
    says = f"{len(released):,} released points, north up."
    if original is not None:
        says += f" The true points are shown too: {WARNING}."
    return picture(WIDTH, HEIGHT, "Map of released points", says, *parts)


def _head(count: int, shown: int, said: str) -> str:
    some_of = "" if shown == count else f" ({shown:,} of them drawn)"
    return f"{count:,} released points{some_of}{': ' + said if said else ''}"


def _true(sheet: Sheet, released: Floats, original: Floats) -> list[Markup]:
    """Draw true points as rings, joined with what was released for them."""
    places = sheet.place(original)
    rings = "".join(
        f"M{at(x - 2.5)} {at(y)}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0" for x, y in places.tolist()
    )
    found = [tag("path", d=rings, fill="none", stroke=TRUE, stroke_width="1", class_="original")]
    if len(places) <= _JOINED:
        lines = "".join(
            f"M{at(x)} {at(y)}L{at(u)} {at(v)}"
            for (x, y), (u, v) in zip(places.tolist(), released.tolist(), strict=True)
        )
        found.insert(
            0, tag("path", d=lines, fill="none", stroke=SOFT, stroke_width="0.5", opacity="0.5")
        )
    return found
