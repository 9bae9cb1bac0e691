"""The parts of a document, and its Markdown and HTML."""

import html as html_module
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from veil.core.formatting import printable
from veil.dpia.answers import GAP
from veil.drawing.markup import Markup, join, tag
from veil.drawing.page import STYLE, head, page, table
from veil.studies.results import Section


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below that of a step."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a `hint` is set in smaller letters."""

    text: str
    hint: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list of entries, each with an optional bold prefix."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Questions with the paragraphs of their answers."""

    entries: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first cell of a row is its name."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part = Heading | Paragraph | Items | Pairs | Grid


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the document with an entry in the table of contents."""

    identity: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document: title, summary and chapters."""

    title: str
    summary: tuple[str, ...]
    chapters: tuple[Chapter, ...]


_SPECIAL = re.compile(r"([\\`*_\[\]#|~$])")
_LINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
_OPENING = re.compile(r"^(\s*)([-+=:]|\d+(?=[.)]))")


def escape(text: str, *, within: bool = False) -> str:
    r"""Write a text on one line so that it stands for itself, also where it begins a line.

    `within` a line a number or a dash is no list, and is left as it is.

    >>> escape("*a* <b>|</b>"), escape("- 1"), escape("2. x"), escape("http://x.y")
    ('\\*a\\* &lt;b&gt;\\|&lt;/b&gt;', '\\- 1', '2\\. x', 'http:\\//x.y')
    """
    line = " ".join(printable(text).split())
    line = _SPECIAL.sub(r"\\\1", html_module.escape(line, quote=False))
    line = _LINK.sub(r"\\", line)
    return line if within else _OPENING.sub(_guarded, line)


def _guarded(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}\\" if match[2].isdigit() else f"{match[1]}\\{match[2]}"


def markdown(document: Document) -> str:
    """Return the document as Markdown."""
    lines = [f"# {escape(document.title, within=True)}"]
    lines += [f"> {_marked(sentence)}" for sentence in document.summary]
    for chapter in document.chapters:
        lines.append(f"## {escape(chapter.title, within=True)}")
        lines += [block for part in chapter.parts for block in _markdown_part(part)]
    return "\n\n".join(lines) + "\n"


def _marked(text: str, *, within: bool = False) -> str:
    return escape(text, within=within).replace(GAP, f"**{GAP}**")


def _markdown_part(part: Part) -> Iterator[str]:
    match part:
        case Heading(text):
            yield f"### {escape(text, within=True)}"
        case Paragraph(text):
            yield _marked(text)
        case Items(entries):
            yield "\n".join(f"- {_bold(first)}{_marked(rest)}" for first, rest in entries)
        case Pairs(entries):
            for question, answer in entries:
                yield f"**{escape(question, within=True)}**"
                yield from map(_marked, answer)
        case Grid():
            yield _markdown_grid(part)


def _bold(text: str) -> str:
    return f"**{escape(text.strip(), within=True)}** " if text else ""


def _markdown_grid(grid: Grid) -> str:
    rows = [grid.heads, tuple("---" for _ in grid.heads), *grid.rows]
    cells = [
        [cell if number == 1 else _marked(cell, within=True) for cell in row]
        for number, row in enumerate(rows)
    ]
    written = "\n".join("| " + " | ".join(row) + " |" for row in cells)
    return f"*{escape(grid.caption)}*\n\n{written}"


_OWN = (files("veil.dpia") / "page.css").read_text(encoding="utf-8")


def html(document: Document) -> str:
    """Return the document as HTML, with all texts escaped."""
    sections = [
        Section(chapter.identity, chapter.title, tuple(map(_html_part, chapter.parts)))
        for chapter in document.chapters
    ]
    summary = [mark_gaps(sentence) for sentence in document.summary]
    return page(document.title, summary, sections, style=STYLE + _OWN, script="")


def mark_gaps(text: str) -> Markup:
    """Return a text escaped, with its gaps highlighted."""
    first, *rest = text.split(GAP)
    return join(first, *(part for text in rest for part in (tag("mark", GAP), text)))


def _html_part(part: Part) -> Markup:
    match part:
        case Heading(text):
            return tag("h3", text)
        case Paragraph(text, hint):
            return tag("p", mark_gaps(text), class_="hint" if hint else None)
        case Items(entries):
            return tag(
                "ul",
                *(tag("li", tag("strong", first), mark_gaps(rest)) for first, rest in entries),
            )
        case Pairs(entries):
            return tag("dl", *(_pair(question, answer) for question, answer in entries))
        case Grid():
            return _html_grid(part)


def _pair(question: str, answer: tuple[str, ...]) -> Markup:
    lines = tag("dd", *(tag("p", mark_gaps(line)) for line in answer))
    return tag("div", tag("dt", mark_gaps(question)), lines)


def _html_grid(grid: Grid) -> Markup:
    body = [
        tag(
            "tr",
            tag("th", mark_gaps(first), scope="row"),
            *(tag("td", mark_gaps(cell)) for cell in rest),
        )
        for first, *rest in grid.rows
    ]
    return table(grid.caption, [head(*grid.heads)], body)
