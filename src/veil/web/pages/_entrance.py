"""The plain page for who has not come in yet, and the one that leads on."""

from typing import Literal

from veil.web.pages.markup import ON, Markup, join, tag, void

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
