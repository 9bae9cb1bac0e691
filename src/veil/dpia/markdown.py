"""The document as Markdown, in which no answer and no figure is read as markup."""

import html
import re
from collections.abc import Iterator

from veil.core.formatting import printable
from veil.dpia.document import Document, Grid, Heading, Items, Pairs, Paragraph, Part
from veil.dpia.questions import GAP

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
    line = _SPECIAL.sub(r"\\\1", html.escape(line, quote=False))
    line = _LINK.sub(r"\\", line)
    return line if within else _OPENING.sub(_guarded, line)


def _guarded(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}\\" if found[2].isdigit() else f"{found[1]}\\{found[2]}"


def markdown(document: Document) -> str:
    """Write the document."""
    lines = [f"# {escape(document.title, within=True)}"]
    lines += [f"> {_marked(sentence)}" for sentence in document.summary]
    for chapter in document.chapters:
        lines.append(f"## {escape(chapter.title, within=True)}")
        lines += [block for part in chapter.parts for block in _part(part)]
    return "\n\n".join(lines) + "\n"


def _marked(text: str, *, within: bool = False) -> str:
    return escape(text, within=within).replace(GAP, f"**{GAP}**")


def _part(part: Part) -> Iterator[str]:
    match part:
        case Heading(text):
            yield f"### {escape(text, within=True)}"
        case Paragraph(text):
            yield _marked(text)
        case Items(entries):
            yield "\n".join(f"- {_bold(first)}{_marked(rest)}" for first, rest in entries)
        case Pairs(entries):
            for asked, told in entries:
                yield f"**{escape(asked, within=True)}**"
                yield from map(_marked, told)
        case Grid():
            yield _grid(part)


def _bold(text: str) -> str:
    return f"**{escape(text.strip(), within=True)}** " if text else ""


def _grid(grid: Grid) -> str:
    rows = [grid.heads, tuple("---" for _ in grid.heads), *grid.rows]
    cells = [
        [one if number == 1 else _marked(one, within=True) for one in row]
        for number, row in enumerate(rows)
    ]
    written = "\n".join("| " + " | ".join(row) + " |" for row in cells)
    return f"*{escape(grid.caption)}*\n\n{written}"
