"""A page whose content another part made."""

from veil.web.pages._shell import document
from veil.web.pages.common import Common
from veil.web.pages.markup import Markup, tag


def added(common: Common, path: str, label: str, html: str) -> str:
    """Return a page of the table around its content, which is HTML."""
    return document(label, tag("h1", label), Markup(html), common=common, here=path)
