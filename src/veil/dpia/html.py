"""The document as one page of HTML that asks nothing of any network, and prints well."""

from importlib.resources import files

from veil.dpia.document import Document, Grid, Heading, Items, Pairs, Paragraph, Part
from veil.dpia.questions import GAP
from veil.studies.report.markup import STYLE, Markup, join, page, tag
from veil.studies.report.tables import head, table
from veil.studies.table import Section

_OWN = (files("veil.dpia") / "page.css").read_text(encoding="utf-8")


def html(document: Document) -> str:
    """Draw the document; every text of it is escaped."""
    sections = [
        Section(chapter.identity, chapter.title, tuple(map(_part, chapter.parts)))
        for chapter in document.chapters
    ]
    summary = [marked(sentence) for sentence in document.summary]
    return page(document.title, summary, sections, style=STYLE + _OWN, script="")


def marked(text: str) -> Markup:
    """Escape a text, and mark in it what is not stated."""
    first, *rest = text.split(GAP)
    return join(first, *(part for one in rest for part in (tag("mark", GAP), one)))


def _part(part: Part) -> Markup:
    match part:
        case Heading(text):
            return tag("h3", text)
        case Paragraph(text, hint):
            return tag("p", marked(text), class_="hint" if hint else None)
        case Items(entries):
            return tag(
                "ul", *(tag("li", tag("strong", first), marked(rest)) for first, rest in entries)
            )
        case Pairs(entries):
            return tag("dl", *(_pair(asked, told) for asked, told in entries))
        case Grid():
            return _grid(part)


def _pair(asked: str, told: tuple[str, ...]) -> Markup:
    answer = tag("dd", *(tag("p", marked(line)) for line in told))
    return tag("div", tag("dt", marked(asked)), answer)


def _grid(grid: Grid) -> Markup:
    body = [
        tag("tr", tag("th", marked(first), scope="row"), *(tag("td", marked(one)) for one in rest))
        for first, *rest in grid.rows
    ]
    return table(grid.caption, [head(*grid.heads)], body)
