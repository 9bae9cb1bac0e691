"""A plane as a page of its own."""

import math
from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import require_folder, whole_file
from veil.studies.report.markup import Markup, interval, join, number, page, percent, tag
from veil.studies.report.svg import at
from veil.studies.report.tables import head, table
from veil.studies.table import Section
from veil.tables.pictures.sheet import AFTER, RULE, SOFT, picture, words
from veil.tables.plane import NOTHING, Plane, Spot

_SIDE, _LEFT, _TOP, _FOOT, _RIGHT = 360.0, 52.0, 14.0, 46.0, 110.0
_HOW = (
    "To the right the attacker is right about more records, upwards the release keeps more of what"
    " the table says: the best place is above on the left. Above the dashed line more is kept than"
    " is given away."
)


def write_plane(plane: Plane, path: Path) -> None:
    """Write the page, whole or not at all."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("A plane is drawn as a page; name a file that ends in .html.")
    require_folder(path)
    title = f"{plane.name}: risk against {plane.attacker}, and utility by {plane.utility}"
    worst = max(plane.rows, key=lambda row: float(row.utility) - float(row.risk))
    summary = [
        join(
            f"Published as it is, {percent(float(plane.plain.risk))} of the records are found; the"
            " method that keeps most beyond what it gives away is ",
            tag("strong", worst.spec),
            ".",
        )
    ]
    sections = [
        Section("plane", "Risk and utility", (tag("p", _HOW, class_="hint"), drawn(plane))),
        Section("figures", "Figures", (figures(plane), scores(plane))),
    ]
    with whole_file(path, private=True) as part:
        part.write_text(page(title, summary, sections), encoding="utf-8")


def drawn(plane: Plane) -> Markup:
    """Draw the methods, and the table itself."""
    diagonal = f"M{at(_x(0))} {at(_y(0))}L{at(_x(1))} {at(_y(1))}"
    parts = [
        tag("rect", x=at(_LEFT), y=at(_TOP), width=at(_SIDE), height=at(_SIDE), fill="#fdfdfb",
            stroke=RULE),
        tag("path", d=diagonal, fill="none", stroke=SOFT, stroke_dasharray="4 3"),
    ]  # fmt: skip
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(words(_x(value), _TOP + _SIDE + 16, f"{value:g}", 10, "middle", SOFT))
        parts.append(words(_LEFT - 6, _y(value) + 3, f"{value:g}", 10, "end", SOFT))
    parts.append(words(_LEFT + _SIDE / 2, _TOP + _SIDE + 36, "risk →", 12, "middle"))
    turned = f"translate(14 {at(_TOP + _SIDE / 2)}) rotate(-90)"
    parts.append(tag("g", words(0, 0, "utility →", 12, "middle"), transform=turned))
    parts += [_spot(row, AFTER) for row in plane.rows]
    parts.append(_spot(plane.plain, "#c4431a"))
    told = "; ".join(
        f"{row.spec}: risk {row.risk:.3f}, utility {row.utility:.3f}" for row in plane
    )
    svg = picture(_LEFT + _SIDE + _RIGHT, _TOP + _SIDE + _FOOT, "Risk and utility", told, *parts)
    return tag("div", tag("figure", svg, class_="panel"), class_="panels")


def _spot(row: Spot, colour: str) -> Markup:
    x, y = _x(float(row.risk)), _y(float(row.utility))
    bars = f"M{at(_x(row.risk.low))} {at(y)}H{at(_x(row.risk.high))}"
    bars += f"M{at(x)} {at(_y(row.utility.low))}V{at(_y(row.utility.high))}"
    says = f"{row.spec}: risk {row.risk:.3f}, utility {row.utility:.3f}"
    short = row.spec if len(row.spec) <= 28 else f"{row.spec[:27]}…"
    return tag(
        "g",
        tag("path", d=bars, stroke=colour, fill="none", opacity="0.6"),
        tag("circle", cx=at(x), cy=at(y), r="4.5", fill=colour),
        words(x + 8, y + 4, short, 10, fill=colour),
        tag("title", says),
    )


def figures(plane: Plane) -> Markup:
    """Return a table with a line of each method."""
    body = [
        tag(
            "tr",
            tag("th", row.spec, scope="row"),
            tag("td", number(row.risk), " ", tag("small", interval(row.risk.low, row.risk.high))),
            tag("td", number(row.worst)),
            tag("td", number(row.utility), " ", tag("small", _spread(row))),
            tag("td", percent(row.removed)),
            tag("td", row.guarantee),
        )
        for row in (plane.plain, *plane.rows)
    ]
    heads = [head("method", "risk", "worst record", "utility", "rows removed", "proved")]
    return table("Risk and utility, with 95 % intervals", heads, body)


def scores(plane: Plane) -> Markup:
    """Return the QuIPU scores of curves of more than one point."""
    body = [
        tag("tr", tag("th", name, scope="row"), tag("td", number(score)))
        for name, score in {**plane.scores, "all of them": plane.quipu}.items()
    ]
    return table("QuIPU scores: 1 is best, and that of a single point is 0",
                 [head("curve", "score")], body)  # fmt: skip


def _spread(row: Spot) -> str:
    same = math.isclose(row.utility.low, row.utility.high)
    return "" if same or row.spec == NOTHING else interval(row.utility.low, row.utility.high)


def _x(risk: float) -> float:
    return _LEFT + _SIDE * (0.04 + 0.92 * risk)


def _y(utility: float) -> float:
    return _TOP + _SIDE * (0.96 - 0.92 * utility)
