"""HTML and SVG whose texts are always escaped, and numbers as readers see them."""

import html
import math
from dataclasses import dataclass


class Markup(str):
    """A piece of HTML or SVG that is already safe."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a page, with the name that its address and its place in the list use.

    `content` is markup; plain strings are escaped. A `private` one was made with originals: the
    page is then for its owner alone.
    """

    identity: str
    title: str
    content: tuple[str, ...]
    private: bool = False


_SHAPES = frozenset({"path", "line", "rect", "circle"})
_VOID = _SHAPES | {"meta", "br"}


def tag(name: str, *content: str, **attributes: object) -> Markup:
    """Return one element; plain strings are escaped, and None leaves an attribute out.

    In the name of an attribute, inner underscores become hyphens and trailing ones are dropped.

    >>> tag("p", "a < b", class_="x")
    '<p class="x">a &lt; b</p>'
    >>> tag("td", tag("b", "1"), data_row=3)
    '<td data-row="3"><b>1</b></td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}{'/' if name in _SHAPES else ''}>")
    return Markup(f"<{name}{written}>{join(*content)}</{name}>")


def join(*content: str) -> Markup:
    """Join pieces; plain strings are escaped."""
    return Markup(
        "".join(part if isinstance(part, Markup) else html.escape(part) for part in content)
    )


def number(value: float, digits: int = 3) -> str:
    """Write a number with fixed digits and a true minus sign; a dash if it is not finite.

    >>> number(-0.2471), number(-0.0001), number(float("nan"))
    ('−0.247', '0.000', '–')
    """
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    if not float(text):
        text = text.lstrip("-")
    return text.replace("-", "−")


def interval(low: float, high: float, digits: int = 2) -> str:
    """Write an interval, or nothing if it is not known.

    >>> interval(0.5, 0.625), interval(float("nan"), 1.0)
    ('[0.50, 0.62]', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(value: float | None) -> str:
    """Write the p-value of a test, or nothing if there was no test.

    >>> p_value(0.0421), p_value(0.00005), p_value(None)
    ('p = 0.042', 'p < 0.001', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {number(value)}"


def percent(share: float) -> str:
    """Write a share as a percentage, with more digits if it is small.

    >>> percent(0.0512), percent(0.5), percent(0.000013), percent(1e-9), percent(0.0)
    ('5.1 %', '50 %', '0.0013 %', 'less than 0.0001 %', '0 %')
    """
    if not math.isfinite(share):
        return "–"
    hundred = share * 100
    if 0 < hundred < 1e-4:
        return "less than 0.0001 %"
    return f"{hundred:.0f} %" if hundred >= 10 else f"{_two_digits(hundred)} %"


def _two_digits(value: float) -> str:
    if value == 0:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
