"""The results: whatever an engine puts into them, it is shown as text."""

from urllib.parse import urlsplit

from veil.proxy.types import Item
from veil.web.pages._words import count
from veil.web.pages.markup import Markup, isolated, join, tag

_FIRST = 10  # results that are shown at once
_SNIPPET = 300  # characters
_TITLE = 200
_ADDRESS = 90


def items(found: tuple[Item, ...]) -> Markup:
    """List the results, best first."""
    if not found:
        words = "No results. Other words, or a stop nearer to useful, may help."
        return tag("p", words, class_="empty")
    first, more = ([_item(one) for one in part] for part in (found[:_FIRST], found[_FIRST:]))
    rest = tag("details", tag("summary", count(len(more), "more result")),
               tag("ol", *more, class_="results", start=_FIRST + 1)) if more else ""  # fmt: skip
    return join(tag("ol", *first, class_="results"), rest)


def cut(text: str, length: int) -> str:
    """Shorten a text at a word, and say so by an ellipsis.

    >>> cut("one two three", 9), cut("one", 9), cut("abcdefghijkl", 9)
    ('one two…', 'one', 'abcdefghi…')
    """
    if len(text) <= length:
        return text
    head = text[:length]
    at = head.rfind(" ")
    return f"{head[:at] if at > length // 2 else head}…"


def _item(one: Item) -> Markup:
    name = isolated(cut(" ".join(one.title.split()) or one.id, _TITLE))
    head = _linked(one.link, name) if one.link else name
    text = " ".join(one.text[: 4 * _SNIPPET].split())
    return tag(
        "li",
        tag("h2", head),
        tag("p", isolated(_address(one)), class_="id"),
        tag("p", cut(text, _SNIPPET), class_="text", dir="auto") if text else "",
        data_rank=one.rank,
    )


def _linked(address: str, name: Markup) -> Markup:
    return tag(
        "a", name, href=address, rel="noreferrer noopener nofollow", referrerpolicy="no-referrer"
    )


def _address(one: Item) -> str:
    """Show where a link leads: its host first, without the user name that can disguise it."""
    if not one.link:
        return cut(one.id, _ADDRESS)
    try:
        parts = urlsplit(one.link)
        host = parts.hostname or ""
    except ValueError:
        return cut(one.link, _ADDRESS)
    return cut(f"{host}{parts.path.rstrip('/')}", _ADDRESS)
