"""What surrounds every page: its head, the navigation, the budget and the foot.

The pages of the navigation: where each is, what it is called, and who makes it.
A new page is one row, or an entry point of another package in the group ``veil.pages``:
``risk-map = "package.module:function"`` is the page *Risk map* at ``/risk-map``. The function is
given what the address asks for, as ``{"day": "today"}``, and returns the HTML of the content; what
it quotes there it must escape. It is loaded when the page is asked for, stands behind the guard,
the token and the headers of all others, and may block.
"""

import re
from functools import cache
from http import HTTPStatus
from importlib.metadata import entry_points
from typing import Literal, NamedTuple

from veil.core.errors import UnknownNameError
from veil.proxy.settings import Budget
from veil.search.locality import Locality
from veil.web.pages.markup import (
    ON,
    Common,
    Markup,
    amount,
    bar,
    bits,
    count,
    isolated,
    join,
    moment,
    tag,
    void,
)

GROUP = "veil.pages"
_TAKEN = ("/api", "/enter", "/results", "/search", "/static")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Page(NamedTuple):
    """A page: its address, its name, and who makes it, as ``module:function``.

    `whole` is for pages of this package, which answer a request themselves.
    """

    path: str
    label: str
    place: str
    whole: bool = False


PAGES = (
    Page("/", "Search", "veil.web.routes:home", whole=True),
    Page("/plane", "Plane", "veil.web.routes:plane", whole=True),
    Page("/places", "Places", "veil.web.routes:places", whole=True),
    Page("/database", "Ask a database", "veil.web.routes:database", whole=True),
    Page("/tables", "Tables", "veil.web.routes:tables", whole=True),
    Page("/sensitive", "Sensitive documents", "veil.web.routes:sensitive", whole=True),
    Page("/ledger", "Ledger", "veil.web.routes:ledger", whole=True),
)


@cache  # every page lists them
def all_pages() -> tuple[Page, ...]:
    """Return the pages of this package, and those that others announce."""
    found = list(PAGES)
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        path = f"/{point.name}"
        if not _NAME.fullmatch(point.name):
            raise UnknownNameError(
                f"The page {point.value} must have a name of small letters, digits and hyphens;"
                " rename its entry point."
            )
        if path in (*_TAKEN, *(page.path for page in found)):
            raise UnknownNameError(
                f"The page {point.value} cannot be at {path}, which is taken; rename its entry"
                " point."
            )
        found.append(Page(path, point.name.replace("-", " ").capitalize(), point.value))
    return tuple(found)


def budget_bars(budget: Budget) -> Markup:
    """Show the state of the budget, as bars and in words: of epsilons, and of bits beside it."""
    first = _shown("day", spent_text(budget), budget.spent, budget.limit, budget.left)
    if not budget.bits and budget.bits_limit is None:
        return tag("div", first, class_="days")
    words = leaked_text(budget)
    second = _shown("bits", words, budget.bits, budget.bits_limit, budget.bits_left)
    return tag("div", first, second, class_="days")


def _shown(name: str, says: str, spent: float, limit: float | None, left: float | None) -> Markup:
    words = tag("span", says, id=f"{name}-says")
    if limit is None:
        return tag("p", words, class_="day")
    full = spent / limit if limit > 0 else 1.0
    shown = bar(full, says, labelled=f"{name}-says")
    return tag("p", words, shown, class_="day" if left else "day spent")


def leaked_text(budget: Budget) -> str:
    """Say how many bits were given away of how many.

    >>> leaked_text(Budget("2026-11-16", 0.0, 10000.0, bits=6.5, bits_limit=300.0))
    '6.5 of 300 bits'
    >>> leaked_text(Budget("2026-11-16", 0.0, 10000.0, bits=6.5))
    '6.5 bits, no limit is set'
    """
    if budget.bits_limit is None:
        return f"{bits(budget.bits)}, no limit is set"
    if not budget.bits_left:
        return f"all of {bits(budget.bits_limit)}"
    return f"{amount(budget.bits)} of {bits(budget.bits_limit)}"


def spent_text(budget: Budget) -> str:
    """Say what was spent of what.

    >>> spent_text(Budget("2026-11-16", 720.0, 10000.0))
    'Last 24 hours: 720 of 10,000 spent'
    >>> spent_text(Budget("2026-11-16", 720.0, None))
    'Last 24 hours: 720 spent, no limit is set'
    >>> spent_text(Budget("2026-11-16", 0.0, 10000.0, 2))
    'Last 24 hours: 0 of 10,000 spent, and 2 releases without a bound'
    """
    besides = (
        f", and {count(budget.unproved, 'release')} without a bound" if budget.unproved else ""
    )
    if budget.limit is None:
        return f"Last 24 hours: {amount(budget.spent)} spent{besides}, no limit is set"
    if is_spent(budget):
        free = f"; some of it comes free at {moment(budget.free)}" if budget.free else ""
        return f"Last 24 hours: all of {amount(budget.limit)} spent{besides}{free}"
    return f"Last 24 hours: {amount(budget.spent)} of {amount(budget.limit)} spent{besides}"


def is_spent(budget: Budget) -> bool:
    """Whether nothing is left."""
    return budget.left is not None and budget.left <= 0


_KEYS = (
    ("/", "to the search box"),
    ("Esc", "out of the search box"),
    ("↓", "to the first result, and on"),
    ("↑", "back"),
)

_WHERE: dict[Locality, str] = {
    "own": ", on this machine: your queries do not leave it.",
    "stand-in": ", on this machine in place of one elsewhere: variants do not leave it.",
    "elsewhere": ": variants leave this machine.",
}


def document(
    title: str,
    *content: str,
    common: Common | None = None,
    here: str = "",
    kind: str = "page",
    drawn: bool = False,
    scripts: tuple[str, ...] = (),
) -> str:
    """Put a whole page together.

    The title never holds a query: browsers keep titles in their history.

    Parameters
    ----------
    common
        What every page shows; None on a page that knows nothing of it.
    here
        Address of the page in the navigation, if it is one of those.
    kind
        Class of the content, for the style sheet.
    drawn
        Whether the page holds planes, which have a style and a script of their own.
    scripts
        Other scripts of the page, by their names.
    """
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _top(common, here),
        tag("main", *content, id="content", class_=kind, tabindex="-1"),
        _foot(common),
    )
    head = tag("head", _head(title, drawn, scripts))
    return f"<!doctype html>\n{tag('html', head, body, lang='en', translate='no')}\n"


def _head(title: str, drawn: bool, more: tuple[str, ...]) -> Markup:
    styles = ("drawing.css", "page.css") if drawn or more else ("page.css",)
    scripts = ("page.js", "plane.js", "drawing.js") if drawn else ("page.js",)
    return join(
        void("meta", charset="utf-8"),
        void("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{title} · Veil" if title else "Veil"),
        void("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        void("link", rel="search", type="application/opensearchdescription+xml", title="Veil",
             href="/opensearch.xml"),
        *(void("link", rel="stylesheet", href=f"/static/{one}") for one in styles),
        *(tag("script", src=f"/static/{one}", defer=ON) for one in (*scripts, *more)),
    )  # fmt: skip


def _top(common: Common | None, here: str) -> Markup:
    links = [
        tag("li", tag("a", one.label, href=one.path, aria_current=_current(one.path == here)))
        for one in all_pages()
    ]
    return tag(
        "header",
        tag("a", "Veil", href="/", class_="name"),
        tag("nav", tag("ul", *links), aria_label="Pages"),
        budget_bars(common.budget) if common else "",
        class_="top",
    )


def _current(is_here: bool) -> str | None:
    return "page" if is_here else None


def _foot(common: Common | None) -> Markup:
    keys = [
        tag("div", tag("dt", tag("kbd", key)), tag("dd", does)) for key, does in _KEYS
    ]  # fmt: skip
    return tag(
        "footer",
        tag("p", *_engine(common)) if common else "",
        tag("details", tag("summary", "Keys"), tag("dl", *keys, class_="keys")),
        class_="foot",
    )


def _engine(common: Common) -> tuple[str, ...]:
    where = _WHERE[common.standing]
    return ("Engine ", tag("code", common.engine), where)


def added(common: Common, path: str, label: str, html: str) -> str:
    """Return a page of the table around its content, which is HTML."""
    return document(label, tag("h1", label), Markup(html), common=common, here=path)


def error(status: int, message: str) -> str:
    """Return the page for an address or a request that cannot be served."""
    head = _named(status)
    return document(
        head,
        tag("h1", head),
        tag("p", isolated(message)) if message else "",
        tag("p", tag("a", "To the search box", href="/")),
        kind="home",
    )


def _named(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Error {status}"


Back = Literal["", "again", "home"]
_PLACES: dict[Back, str] = {"again": "", "home": "/"}  # nothing: the very address


def entrance(*, wrong: bool = False, back: Back = "") -> str:
    """Return the page that says how to get in; it is the same whatever was asked for.

    `back` says where to go on where another site led here, with the cookie that browsers then
    keep to themselves.
    """
    box = void(
        "input", type="password", id="token", name_="token", required=ON, autocomplete="off",
        spellcheck="false", autocapitalize="off", autofocus=ON,
    )  # fmt: skip
    return _document(
        "Not let in",
        tag("h1", "Not let in yet"),
        tag("p", "This is not the token of this installation.", role="alert") if wrong else "",
        tag("p", "Another site led here. If this browser was let in before, ",
            tag("a", "go on", href=_PLACES[back]), ".") if back else "",
        tag("p", "This is somebody’s private search page. It opens for who has its token."),
        tag("p", "Open the address that ", tag("code", "veil serve"), " printed when it was"
            " started; or paste the token, which ", tag("code", "veil token"), " prints:"),
        tag(
            "form",
            tag("label", "Token", for_="token"),
            tag("div", box, tag("button", "Come in", type="submit"), class_="line"),
            action="/enter",
            method="post",
            class_="search",
        ),
    )  # fmt: skip


def entered() -> str:
    """Return a page that leads on to the search box at once."""
    return _document(
        "Let in",
        tag("h1", "You are in"),
        tag("p", tag("a", "To the search box", href="/")),
        more=void("meta", http_equiv="refresh", content="0; url=/"),
    )


def _document(title: str, *content: str, more: Markup | None = None) -> str:
    head = join(
        void("meta", charset="utf-8"),
        void("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name_="color-scheme", content="light dark"),
        more or Markup(""),
        tag("title", f"{title} · Veil"),
        void("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        void("link", rel="stylesheet", href="/static/page.css"),
    )
    top = tag("header", tag("span", "Veil", class_="name"), class_="top")
    body = tag("body", top, tag("main", *content, id="content", class_="home"))
    return f"<!doctype html>\n{tag('html', tag('head', head), body, lang='en', translate='no')}\n"
