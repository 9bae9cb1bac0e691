"""The pages of the navigation: where each is, what it is called, and who makes it.

A new page is one row, or an entry point of another package in the group ``veil.pages``:
``risk-map = "package.module:function"`` is the page *Risk map* at ``/risk-map``. The function is
given what the address asks for, as ``{"day": "today"}``, and returns the HTML of the content; what
it quotes there it must escape. It is loaded when the page is asked for, stands behind the guard,
the token and the headers of all others, and may block.
"""

import re
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

from veil.core.errors import UnknownNameError

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
    Page("/", "Search", "veil.web.answering:home", whole=True),
    Page("/plane", "Plane", "veil.web.answering:plane", whole=True),
    Page("/places", "Places", "veil.web.answering:places", whole=True),
    Page("/database", "Ask a database", "veil.web.answering:database", whole=True),
    Page("/tables", "Tables", "veil.web.answering:tables", whole=True),
    Page("/sensitive", "Sensitive documents", "veil.web.answering:sensitive", whole=True),
    Page("/ledger", "Ledger", "veil.web.answering:ledger", whole=True),
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
