"""Checks of a page of the web interface that another package adds."""

from collections.abc import Callable, Mapping

from veil.testing.contract import CANARY, Check, require

Page = Callable[[Mapping[str, str]], str]
_ACTIVE = ("<script", "http://", "https://", "javascript:")


def returns_markup(page: Page) -> None:
    """Check that a page is text, the same for the same query, and loads nothing from elsewhere."""
    content = page({})
    require(isinstance(content, str) and content.strip(), "a page must return HTML as a string")
    require(page({}) == content, "the same query must give the same page")
    require(
        not any(part in content.lower() for part in _ACTIVE),
        "a page must have no script, and load nothing from elsewhere",
    )


def escapes_its_query(page: Page) -> None:
    """Check that no parameter of the address gets into the page as markup."""
    names = ("q", "day", "name", "value", "text", "spec", "size", "k")
    attempt = f"\"'><b>{CANARY}</b>"
    content = page(dict.fromkeys(names, attempt))
    require(attempt not in content, "a page must escape what it quotes from its address")


PAGE: tuple[Check, ...] = (returns_markup, escapes_its_query)
