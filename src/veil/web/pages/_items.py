"""The results: whatever an engine puts into them, it is shown as text."""

from urllib.parse import urlsplit

from veil.proxy.types import Item
from veil.web.pages.markup import Markup, isolated, tag

_SNIPPET = 300  # characters
_TITLE = 200
_ADDRESS = 90


def items(found: tuple[Item, ...]) -> Markup:
    """List the results, best first."""
    if not found:
        return tag(
            "p",
            "No results. The engine found nothing for the variants; a stop nearer to useful, or"
            " other words, may help.",
            class_="empty",
        )
    return tag("ol", *(_item(one) for one in found), class_="results")


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
