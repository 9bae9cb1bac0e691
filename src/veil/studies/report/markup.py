"""HTML that cannot be forgotten to be escaped, and the page around it."""

import base64
import hashlib
import html
import math
from collections.abc import Sequence
from importlib.resources import files

from veil.studies.results import Section


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


def _read(name: str) -> str:
    return (files("veil.studies.report") / name).read_text(encoding="utf-8")


PLANES = _read("colours.css") + _read("plane.css")  # what planes need wherever they stand
STYLE = _read("colours.css") + _read("page.css") + _read("plane.css") + _read("paper.css")
SCRIPT = _read("page.js")


def page(
    title: str,
    summary: Sequence[Markup],
    sections: Sequence[Section],
    *,
    style: str = STYLE,
    script: str = SCRIPT,
) -> str:
    """Put the whole page together; without a `script` the page forbids all of them."""
    links = [
        tag("li", tag("a", one.title, href=f"#{one.identity}")) for one in sections
    ]  # fmt: skip
    body = join(
        tag(
            "header",
            tag("h1", title),
            tag("nav", tag("ul", *links), aria_label="Sections"),
        ),
        tag(
            "main",
            tag("section", *(tag("p", one) for one in summary), class_="summary",
                aria_label="Summary"),
            *(_section(one) for one in sections),
        ),
        *([tag("script", Markup(script))] if script else []),
    )  # fmt: skip
    top = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    return f"<!doctype html>\n{tag('html', tag('head', top), tag('body', body), lang='en')}\n"


def _section(one: Section) -> Markup:
    heading = tag("h2", one.title, id=one.identity)
    return tag("section", heading, *one.content, aria_labelledby=one.identity)


def _policy(style: str, script: str) -> str:
    """Forbid every load; allow our own style and script by their digests, and nothing else."""
    scripts = f" script-src '{_digest(script)}';" if script else ""
    return (
        f"default-src 'none'; style-src '{_digest(style)}';{scripts}"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
