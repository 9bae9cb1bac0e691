"""An address or a request that cannot be served."""

from http import HTTPStatus

from veil.web.pages._shell import document
from veil.web.pages.markup import isolated, tag


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
