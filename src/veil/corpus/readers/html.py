"""HTML (.html): the text of a page without scripts, styles and URLs."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import BinaryIO

from veil.corpus.readers.reader import (
    MAX_CHARS,
    ReadDocument,
    SkipError,
    decoded,
    piece,
    read_limited,
)

_CHARSET = re.compile(rb"<meta[^>]{0,500}?charset\s{0,20}=\s{0,20}[\"']?([\w.:-]{1,40})", re.I)
_UNSEEN = frozenset(("script", "style", "template", "noscript", "svg", "math", "iframe", "object"))
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5"
    " h6 header hr li main nav ol option p pre section table td th tr ul".split()
)
_SPACES = re.compile(r"[^\S\n]+")


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the visible text. The title is the page's title, or the first heading."""
    del first
    data = read_limited(file)
    charset = _CHARSET.search(data[:4096])
    title, text = shown(decoded(data, charset[1].decode("ascii") if charset else ""))
    yield piece(text, title)


def shown(markup: str) -> tuple[str, str]:
    """Return the title and the visible text of a page.

    >>> shown("<title>Ferns</title><style>p {}</style><p>They like <b>shade</b>.</p>")
    ('Ferns', 'They like shade.')
    """
    page = _Page()
    page.feed(markup)
    page.close()
    lines = (line.strip() for line in _SPACES.sub(" ", "".join(page.words)).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return "".join(page.title).strip() or "".join(page.heading).strip(), text


class _Page(HTMLParser):
    """Collects visible text. Hidden elements are counted, not stacked, so depth costs nothing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.title: list[str] = []
        self.heading: list[str] = []
        self._unseen = ""  # the open hidden element
        self._depth = 0  # of nested elements with the same name
        self._in = ""
        self._size = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if self._unseen:
            self._depth += tag == self._unseen
        elif tag in _UNSEEN:
            self._unseen, self._depth = tag, 1
        elif tag == "title" or (tag == "h1" and not self.heading):
            self._in = tag
        self._break(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            self._depth -= tag == self._unseen
            self._unseen = self._unseen if self._depth else ""
        elif tag == self._in:
            self._in = ""
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        self._size += len(data)
        if self._size > 2 * MAX_CHARS:
            raise SkipError("too-large")
        if self._in == "title":
            self.title.append(data)
            return
        if self._in == "h1":
            self.heading.append(data)
        self.words.append(re.sub(r"\s+", " ", data))

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS and not self._unseen:
            self.words.append("\n")
