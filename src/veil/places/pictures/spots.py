"""The risk-utility plane of a few methods, small enough for a page with a slider."""

from collections.abc import Sequence

from veil.places.pictures.sheet import INK, RELEASED, SOFT, picture, words
from veil.places.plane import Spot
from veil.studies.report.markup import Markup, tag
from veil.studies.report.svg import at

SIDE, LEFT, TOP, FOOT = 240.0, 46.0, 16.0, 44.0


def spots(rows: Sequence[Spot], said: str) -> Markup:
    """Draw methods as points, joined in their order; each carries its number as ``data-stop``."""
    places = [(_x(float(row.risk)), _y(float(row.utility))) for row in rows]
    line = "M" + "L".join(f"{at(x)} {at(y)}" for x, y in places)
    marks = [
        tag(
            "g",
            tag("circle", cx=at(x), cy=at(y), r="5", fill=RELEASED),
            tag("title", f"{row.spec}: risk {row.risk:.3f}, utility {row.utility:.3f}"),
            class_="spot",
            data_stop=number,
        )
        for number, ((x, y), row) in enumerate(zip(places, rows, strict=True))
    ]
    return picture(
        LEFT + SIDE + 14,
        TOP + SIDE + FOOT,
        "Risk and utility",
        said,
        *_axes(),
        tag("path", d=line, fill="none", stroke=SOFT, stroke_width="1"),
        *marks,
    )


def _axes() -> list[Markup]:
    frame = tag(
        "rect", x=at(LEFT), y=at(TOP), width=at(SIDE), height=at(SIDE), fill="#fdfdfb",
        stroke="#c9c9c4",
    )  # fmt: skip
    diagonal = tag(
        "path", d=f"M{at(_x(0))} {at(_y(0))}L{at(_x(1))} {at(_y(1))}", fill="none", stroke=SOFT,
        stroke_width="0.7", stroke_dasharray="4 3",
    )  # fmt: skip
    parts = [frame, diagonal]
    for value in (0.0, 0.5, 1.0):
        parts.append(words(_x(value), TOP + SIDE + 15, f"{value:g}", 10, "middle", SOFT))
        parts.append(words(LEFT - 6, _y(value) + 3, f"{value:g}", 10, "end", SOFT))
    parts.append(words(LEFT + SIDE / 2, TOP + SIDE + 34, "share identified →", 11, "middle", INK))
    up = words(0, 0, "utility →", 11, "middle", INK)
    return [*parts, tag("g", up, transform=f"translate(12 {at(TOP + SIDE / 2)}) rotate(-90)")]


def _x(risk: float) -> float:
    return LEFT + SIDE * (0.04 + 0.92 * risk)


def _y(utility: float) -> float:
    return TOP + SIDE * (0.96 - 0.92 * utility)
