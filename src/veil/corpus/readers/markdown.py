"""Markdown (.md): the rendered text. The title is the first heading."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from veil.corpus.readers.reader import ReadDocument, decoded, piece, read_limited

_FRONT = re.compile(r"---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?(.{1,300}?)[\"']?[ \t]*$", re.MULTILINE)
_UNSEEN = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"[ ]{0,3}(?:```|~~~)")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*")
_RULE = re.compile(r"[ \t]*(?:[-*_|:+=][ \t]*){3,}")
_TARGET = re.compile(r"[ ]{0,3}\[[^\]]{1,300}\]:[ \t]*\S+.*")
_LEAD = re.compile(r"[ \t]*(?:>[ \t]?)*(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)?")
_LINK = re.compile(
    r"!?\[([^\[\]]{0,2000})\](?:\([^()\s]{0,100000}(?:[ \t][^()]{0,500})?\)|\[[^\]]{0,300}\])"
)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")
_STRESS = re.compile(r"(?<!\\)(\*\*\*|\*\*|\*|___|__|~~|``|`)(?=\S)([^*`~\n]{1,2000}?)(?<=\S)\1")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the text without markup, link targets, scripts and comments."""
    del first
    body, title = decoded(read_limited(file)).replace("\r\n", "\n").lstrip(), ""
    if front := _FRONT.match(body):
        label = _FRONT_TITLE.search(front[1])
        title, body = label[1] if label else "", body[front.end() :]
    body = _UNSEEN.sub("", body)
    heading, lines = _lines(body)
    yield piece("\n".join(lines), title or heading)


def _lines(body: str) -> tuple[str, list[str]]:
    """Return the first heading, and all lines without markup."""
    heading, code = "", False
    words: list[str] = []
    for line in body.split("\n"):
        if _FENCE.match(line):
            code = not code
        elif code:
            words.append(line)
        elif _UNDERLINE.fullmatch(line) and words and words[-1].strip():
            heading = heading or words[-1]
        elif not (_RULE.fullmatch(line) or _TARGET.fullmatch(line)):
            match = _HEADING.fullmatch(line)
            words.append(_bare(match[1] if match else line))
            heading = heading or (words[-1] if match else "")
    return heading, words


def _bare(line: str) -> str:
    r"""Return a line without markup.

    >>> _bare("> - [ ] see **the [fern](https://x.example/a_b)**, `x_y` and 2\\*3")
    'see the fern, x_y and 2*3'
    """
    line = _LEAD.sub("", line, count=1)
    for pattern, replacement in ((_LINK, r"\1"), (_TAG, ""), (_STRESS, r"\2"), (_STRESS, r"\2")):
        line = pattern.sub(replacement, line)
    return _ESCAPE.sub(r"\1", line)
