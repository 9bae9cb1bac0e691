"""Elements of drawings: texts, boxes, keys of colours, and the picture around them.

Colours are named after what they mean. Each has a light value in the file itself and a class, by
which `picture.css` gives it the colour of a page, light or dark.
"""

from collections.abc import Sequence
from typing import Literal

from veil.drawing.markup import Markup, tag

Colour = Literal["ground", "sheet", "ink", "soft", "rule", "before", "after", "alert"]

COLOURS: dict[Colour, str] = {
    "ground": "#ffffff",
    "sheet": "#fdfdfb",
    "ink": "#1b1f24",
    "soft": "#57606a",
    "rule": "#d0d7de",
    "before": "#8a939c",
    "after": "#00497f",
    "alert": "#b54900",
}
_FONT = "system-ui, sans-serif"


def at(value: float) -> str:
    """Write a coordinate."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def paint(
    fill: Colour | None = None, stroke: Colour | None = None, class_: str = ""
) -> dict[str, str]:
    """Return the attributes that colour an element; without a fill it is an outline.

    >>> paint("after", class_="petal")
    {'fill': '#00497f', 'class_': 'fill-after petal'}
    """
    classes = [f"fill-{fill}"] if fill else []
    attributes = {"fill": COLOURS[fill] if fill else "none"}
    if stroke:
        attributes["stroke"] = COLOURS[stroke]
        classes.append(f"stroke-{stroke}")
    return {**attributes, "class_": " ".join(filter(None, [*classes, class_]))}


def words(
    x: float,
    y: float,
    text: str,
    size: float = 11,
    anchor: Literal["start", "middle", "end"] = "start",
    colour: Colour = "ink",
    **attributes: str,
) -> Markup:
    """Write a text."""
    return tag(
        "text", text, x=at(x), y=at(y), font_family=_FONT, font_size=f"{size:g}",
        text_anchor=anchor, **paint(colour, class_=attributes.pop("class_", "")), **attributes,
    )  # fmt: skip


def shorten(text: str, most: int) -> str:
    """Cut a label to a number of characters.

    >>> shorten("occupation", 6)
    'occup…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def box(
    x: float, y: float, width: float, height: float, colour: Colour | str, tip: str = ""
) -> Markup:
    """Draw a rectangle in a named colour or another one; `tip` is read on pointing at it."""
    coloured = paint(colour) if colour in COLOURS else {"fill": colour}
    drawing = tag("rect", x=at(x), y=at(y), width=at(max(0.0, width)), height=at(max(0.0, height)),
                  **coloured)  # fmt: skip
    return tag("g", drawing, tag("title", tip)) if tip else drawing


def key(x: float, y: float, entries: Sequence[tuple[Colour | str, str]]) -> list[Markup]:
    """Return what colours mean, side by side."""
    parts = []
    for colour, text in entries:
        parts += [box(x, y - 8, 10, 10, colour), words(x + 14, y + 1, text, 10, colour="soft")]
        x += 26 + 5.6 * len(text)
    return parts


def picture(
    width: float,
    height: float,
    title: str,
    description: str,
    *parts: Markup,
    wide: str | None = None,
) -> Markup:
    """Return a whole drawing, with a title and a description for screen readers.

    It is also a complete file. `wide` is its width on a page, by default that of the drawing.
    """
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        tag("rect", width=at(width), height=at(height), **paint("ground")),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"0 0 {at(width)} {at(height)}",
        width=wide or at(width),
        height=None if wide else at(height),
        class_="picture",
    )
