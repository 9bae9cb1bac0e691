"""What all pictures of tables are drawn with."""

from collections.abc import Sequence

from veil.studies.report.markup import Markup, tag
from veil.studies.report.svg import at

INK, SOFT, PALE, RULE = "#1b1b1b", "#5c6670", "#c3ccd6", "#d9dee3"
BEFORE, AFTER = "#aab4bf", "#1d5c8f"
_FONT = "system-ui, sans-serif"


def words(
    x: float, y: float, text: str, size: float = 11, anchor: str = "start", fill: str = INK
) -> Markup:
    """Write words into a drawing."""
    return tag(
        "text", text, x=at(x), y=at(y), font_family=_FONT, font_size=f"{size:g}", fill=fill,
        text_anchor=anchor,
    )  # fmt: skip


def box(x: float, y: float, width: float, height: float, fill: str, says: str = "") -> Markup:
    """Draw a rectangle; `says` is read on pointing at it."""
    drawn = tag("rect", x=at(x), y=at(y), width=at(max(0.0, width)), height=at(max(0.0, height)),
                fill=fill)  # fmt: skip
    return tag("g", drawn, tag("title", says)) if says else drawn


def picture(
    width: float, height: float, title: str, says: str, *parts: Markup, wide: str = "100%"
) -> Markup:
    """Return a whole drawing, with its title and description for those who cannot see it."""
    return tag(
        "svg", tag("title", title), tag("desc", says),
        tag("rect", width=at(width), height=at(height), fill="#ffffff"), *parts, class_="map",
        xmlns="http://www.w3.org/2000/svg", role="img", viewBox=f"0 0 {at(width)} {at(height)}",
        width=wide,
    )  # fmt: skip


def figure(caption: Sequence[str], drawn: Markup) -> Markup:
    """Put a caption above a drawing."""
    return tag("figure", tag("figcaption", *caption), drawn, class_="panel")


def key(x: float, y: float, entries: Sequence[tuple[str, str]]) -> list[Markup]:
    """Return what colours mean, side by side."""
    parts = []
    for colour, text in entries:
        parts += [box(x, y - 8, 10, 10, colour), words(x + 14, y + 1, text, 10, fill=SOFT)]
        x += 26 + 5.6 * len(text)
    return parts
