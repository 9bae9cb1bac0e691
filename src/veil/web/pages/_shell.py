"""What surrounds every page: its head, the navigation, the bar of the budget, and the foot."""

from veil.search.locality import Place
from veil.web.pages._day import day
from veil.web.pages.common import Common
from veil.web.pages.markup import ON, Markup, join, tag, void
from veil.web.pages.table import all_pages

_KEYS = (
    ("/", "to the search box"),
    ("Esc", "out of the search box"),
    ("↓", "to the first result, and on"),
    ("↑", "back"),
)

_WHERE: dict[Place, str] = {
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
    styles = ("drawing.css", "page.css") if drawn else ("page.css",)
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
        day(common.budget) if common else "",
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
