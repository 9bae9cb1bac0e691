"""Tables and pages of HTML; a page loads nothing and forbids every load."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files

from veil.drawing.markup import Markup, Section, join, tag


def _read(name: str) -> str:
    return (files("veil.drawing") / name).read_text(encoding="utf-8")


PICTURES = _read("colours.css") + _read("picture.css")  # style of all drawings
PLANES = PICTURES + _read("table.css")  # and of the tables below them
STYLE = PICTURES + _read("page.css") + _read("table.css") + _read("paper.css")
SCRIPT = _read("page.js")  # tooltips, and legends that hide and show curves


def table(caption: str, heads: Sequence[Markup], body: Iterable[Markup]) -> Markup:
    """Return a table from rows of its head and body; a wide one scrolls, by the keyboard too."""
    whole = tag("table", tag("caption", caption), tag("thead", *heads), tag("tbody", *body))
    return tag("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")


def head(*names: str) -> Markup:
    """Return the single row of a simple table's head."""
    return tag("tr", *(tag("th", name, scope="col") for name in names))


def row(name: str, *cells: str) -> Markup:
    """Return one row of a table: its name and its cells."""
    return tag("tr", tag("th", name, scope="row"), *(tag("td", cell) for cell in cells))


def listed(items: Iterable[str]) -> Markup:
    """Return a list of sentences."""
    return tag("ul", *(tag("li", join(item)) for item in items))


def figure(caption: Sequence[str], drawing: Markup) -> Markup:
    """Return a drawing under its caption."""
    return tag("figure", tag("figcaption", *caption), drawing, class_="panel")


def page(
    title: str,
    summary: Sequence[Markup],
    sections: Sequence[Section],
    *,
    style: str = STYLE,
    script: str = SCRIPT,
) -> str:
    """Return the whole page; without a `script`, the page forbids all scripts."""
    links = [tag("li", tag("a", part.title, href=f"#{part.identity}")) for part in sections]
    body = join(
        tag(
            "header",
            tag("h1", title),
            tag("nav", tag("ul", *links), aria_label="Sections"),
        ),
        tag(
            "main",
            tag("section", *(tag("p", sentence) for sentence in summary), class_="summary",
                aria_label="Summary"),
            *(_section(part) for part in sections),
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


def _section(part: Section) -> Markup:
    heading = tag("h2", part.title, id=part.identity)
    return tag("section", heading, *part.content, aria_labelledby=part.identity)


def _policy(style: str, script: str) -> str:
    """Forbid every load; allow our own style and script by their digests, and nothing else."""
    scripts = f" script-src '{_digest(script)}';" if script else ""
    return (
        f"default-src 'none'; style-src '{_digest(style)}';{scripts}"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
