"""Layout shared by all pages: templates, navigation, and error pages.

To add a page, add a row here, or in another package an entry point in the group ``veil.pages``:
``risk-map = "package.module:function"`` is the page *Risk map* at ``/risk-map``. The function
receives the query of the URL, such as ``{"day": "today"}``, and returns the HTML of the content;
it must escape what it quotes there. It is loaded on first use, runs behind the access control and
headers of all other pages, and may block.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib.metadata import entry_points
from typing import Literal, NamedTuple

from veil.core.errors import MissingExtraError, UnknownNameError
from veil.proxy.settings import Budget, brief
from veil.proxy.slider import MeasuredPlane
from veil.search.locality import Locality
from veil.web.pages import words

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError as missing:
    raise MissingExtraError("The search page needs Jinja2: pip install 'veil[web]'.") from missing

GROUP = "veil.pages"
_TAKEN = ("/api", "/enter", "/results", "/search", "/static")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Page(NamedTuple):
    """A page: its path, its label, and its function, as ``module:function``.

    A `whole` page belongs to this package and returns the complete response.
    """

    path: str
    label: str
    place: str
    whole: bool = False


PAGES = (
    Page("/", "Search", "veil.web.search:home", whole=True),
    Page("/plane", "Plane", "veil.web.search:plane", whole=True),
    Page("/places", "Places", "veil.web.places:show", whole=True),
    Page("/database", "Ask a database", "veil.web.database:show", whole=True),
    Page("/tables", "Tables", "veil.web.tables:show", whole=True),
    Page("/sensitive", "Sensitive documents", "veil.web.sensitive:show", whole=True),
    Page("/ledger", "Ledger", "veil.web.search:ledger", whole=True),
)


@cache  # every page lists them
def all_pages() -> tuple[Page, ...]:
    """Return the pages of this package, then those of other packages."""
    pages = list(PAGES)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        path = f"/{point.name}"
        if not _NAME.fullmatch(point.name):
            raise UnknownNameError(
                f"The page {point.value} must have a name of lower-case letters, digits and"
                " hyphens. Rename its entry point."
            )
        if path in (*_TAKEN, *(page.path for page in pages)):
            raise UnknownNameError(
                f"The page {point.value} must not be at {path}, which is taken. Rename its entry"
                " point."
            )
        pages.append(Page(path, point.name.replace("-", " ").capitalize(), point.value))
    return tuple(pages)


_WHERE: dict[Locality, str] = {
    "own": ", on this machine: your queries do not leave it.",
    "stand-in": ", on this machine in place of a remote engine: variants do not leave it.",
    "elsewhere": ": variants leave this machine.",
}


@dataclass(frozen=True, slots=True)
class Common:
    """The data of every page: the engine, the budget, and the slider.

    Attributes
    ----------
    engine, network
        Spec of the engine, and whether variants leave the machine.
    budget
        What was spent in the last 24 hours, and the limit.
    plane
        The measured plane of the slider.
    stop
        Position of the slider: an index into ``plane.stops``.
    standing, collection
        Locality of the engine, and the name of the documents searched here.
    """

    engine: str
    network: bool
    budget: Budget
    plane: MeasuredPlane
    stop: int
    standing: Locality = "elsewhere"
    collection: str = ""

    @property
    def own(self) -> bool:
        """Whether the user's own documents on this machine are searched."""
        return self.standing == "own"

    @property
    def foreign(self) -> bool:
        """Whether the plane was measured on other documents than those searched here."""
        return self.collection != self.plane.collection

    @property
    def where(self) -> str:
        """What leaves this machine, as the end of a sentence about the engine."""
        return _WHERE[self.standing]


class Bar(NamedTuple):
    """The numbers of a bar, as written in its template."""

    value: str
    width: str
    lines: tuple[tuple[str, ...], ...]


def bar(value: float, within: tuple[float, float] | None, level: float | None) -> Bar:
    """Return a bar for a value from 0 to 1, with its interval and a reference level.

    >>> bar(0.25, None, 0.5)
    Bar(value='0.25', width='25%', lines=(('level', '50%', '0%', '50%', '100%'),))
    """
    full = _inside(value)
    lines: list[tuple[str, float, float, float, float]] = []
    if within and all(map(math.isfinite, within)):
        low, high = (100 * _inside(end) for end in within)
        lines = [
            ("whisker", low, 50, high, 50),
            ("whisker", low, 25, low, 75),
            ("whisker", high, 25, high, 75),
        ]
    if level is not None and math.isfinite(level):
        at = 100 * _inside(level)
        lines.append(("level", at, 0, at, 100))
    written = tuple((kind, *(f"{end:.4g}%" for end in ends)) for kind, *ends in lines)
    return Bar(f"{full:.4g}", f"{100 * full:.4g}%", written)


def _inside(value: float) -> float:
    return min(1.0, max(0.0, value)) if math.isfinite(value) else 1.0


_ENVIRONMENT = Environment(
    loader=PackageLoader("veil.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_ENVIRONMENT.globals["navigation"] = lambda: all_pages()
_ENVIRONMENT.filters |= {"bar": bar, "brief": brief} | {
    name: getattr(words, name)
    for name in (
        "amount", "bits", "count", "figures", "leaked_text", "listed", "moment", "ordinal",
        "share", "share_at_most", "shares", "spent_text",
    )
}  # fmt: skip


def render(template: str, values: Mapping[str, object]) -> str:
    """Return a page of ``web/templates``, with every text escaped."""
    return _ENVIRONMENT.get_template(template).render(values)


def trusted(html: str) -> Markup:
    """Mark HTML as safe: our drawings, and the content of an installed page.

    No other function does so, and nothing written by a user or an engine may pass through here.
    """
    return Markup(html)  # noqa: S704 - see above


def added(common: Common, path: str, label: str, html: str) -> str:
    """Return a page of another package around its content, which is HTML."""
    values = {"common": common, "title": label, "here": path, "content": trusted(html)}
    return render("added.html", values)


def error(status: int, message: str) -> str:
    """Return the page for an address or a request that cannot be served."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = f"Error {status}"
    return render("error.html", {"common": None, "title": title, "message": message})


Back = Literal["", "again", "home"]
_PLACES: dict[Back, str | None] = {"": None, "again": "", "home": "/"}  # "": the same address


def entrance(*, wrong: bool = False, back: Back = "") -> str:
    """Return the page that explains how to get in; it does not depend on the request.

    `back` is the link to follow if another site led here: browsers then withhold the cookie until
    our own page leads on.
    """
    return render("entrance.html", {"wrong": wrong, "back": _PLACES[back]})


def entered() -> str:
    """Return a page that redirects to the search form."""
    return render("entered.html", {})
