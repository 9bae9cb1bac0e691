"""The results: whatever an engine puts into them, it is shown as text."""

from urllib.parse import urlencode

from veil.core.formatting import printable
from veil.proxy.results import Item, Link, link_of
from veil.web.pages._words import count
from veil.web.pages.markup import Markup, isolated, join, tag

_FIRST = 10  # results that are shown at once
_SNIPPET = 300  # characters
_TITLE = 200
_ADDRESS = 90
_PATH = 30  # of it at least, after a long name of a host, which is never cut


def items(found: tuple[Item, ...], *, here: bool = False) -> Markup:
    """List the results, best first; `here` of a search that no slider is for."""
    if not found:
        stop = "" if here else ", or a stop nearer to useful,"
        words = f"No results. Other words{stop} may help."
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
    found = link_of(one.id)
    name = isolated(cut(_words(one.title) or printable(one.id), _TITLE))
    text = _words(one.text[: 4 * _SNIPPET])
    return tag(
        "li",
        tag(
            "h2",
            _own(one, name) if one.path else name if found is None else _linked(found.href, name),
        ),
        tag("p", *_where(one.id, None if one.path else found), class_="id"),
        tag("p", cut(text, _SNIPPET), class_="text", dir="auto") if text else "",
        data_rank=one.rank,
    )


def _words(text: str) -> str:
    return " ".join(printable(text).split())


def _own(one: Item, name: Markup) -> Markup:
    """Link to the file that a result is of, which this server opens."""
    return tag(
        "a", name, href=f"/file?{urlencode({'id': one.id})}", target="_blank", rel="noopener"
    )


def _linked(address: str, name: Markup) -> Markup:
    return tag(
        "a", name, href=address, rel="noreferrer noopener nofollow", referrerpolicy="no-referrer"
    )


def _where(name: str, found: Link | None) -> tuple[Markup, ...]:
    """Show where a link leads: its host first and whole, whatever the direction of the rest."""
    if found is None:
        return (isolated(cut(printable(name), _ADDRESS)),)
    path = cut(found.path.rstrip("/"), max(_PATH, _ADDRESS - len(found.host)))
    return tag("bdi", found.host, class_="host"), isolated(path) if path else Markup("")
