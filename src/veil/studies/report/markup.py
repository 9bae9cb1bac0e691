"""HTML and SVG that cannot be forgotten to be escaped: a string is text unless it is Markup."""

import html
import math


class Markup(str):
    """A piece of HTML or SVG that is already safe."""

    __slots__ = ()


_VOID = frozenset({"meta", "br", "path", "line", "rect", "circle"})
_SELF_CLOSED = frozenset({"path", "line", "rect", "circle"})


def tag(name: str, *content: str, **attributes: object) -> Markup:
    """Return one element; plain strings are escaped, None leaves an attribute out.

    A trailing or inner underscore of an attribute's name stands for nothing or for a hyphen.

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
        return Markup(f"<{name}{written}{'/' if name in _SELF_CLOSED else ''}>")
    return Markup(f"<{name}{written}>{join(*content)}</{name}>")


def join(*content: str) -> Markup:
    """Put pieces one after the other; plain strings are escaped."""
    return Markup(
        "".join(part if isinstance(part, Markup) else html.escape(part) for part in content)
    )


def number(value: float, digits: int = 3) -> str:
    """Write a number with fixed digits, a true minus sign, and a dash when it is none.

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
    """Write an interval, or nothing when it is not known.

    >>> interval(0.5, 0.625), interval(float("nan"), 1.0)
    ('[0.50, 0.62]', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(value: float | None) -> str:
    """Write the p-value of a test, or nothing where there was none.

    >>> p_value(0.0421), p_value(0.00005), p_value(None)
    ('p = 0.042', 'p < 0.001', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {number(value)}"


def percent(share: float) -> str:
    """Write a share as a percentage, with more digits where it is small.

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
