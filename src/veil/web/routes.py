"""The table of addresses, and who answers at those of the pages.

Open a file of the user's own: read-only, and so that nothing in it runs as our page.
Text is shown as plain text, pages and mails as the text that the index has of them. What other
programs read is handed over as a download, also PDF: a viewer in the browser would take it for a
page of ours. All of it is in a sandbox, for a browser that thinks otherwise.

The description by which a browser takes the page as a search engine.
There is no address for suggestions: a browser would send what is typed letter by letter.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape
from importlib import import_module
from importlib.resources import files
from typing import Literal, cast
from urllib.parse import quote

from veil.core.errors import EngineError, GateError, VeilError
from veil.core.formatting import printable
from veil.corpus.document_file import OpenedDocument
from veil.data.memo import private_caches
from veil.proxy.results import SearchOutcome
from veil.proxy.settings import Budget, Decision
from veil.search.pipeline import check_query
from veil.studies.report import drawing
from veil.web import dp, pages
from veil.web import places as places_web
from veil.web import sensitive as sensitive_web
from veil.web import tables as tables_web
from veil.web import text as verbs
from veil.web.asks import Ask
from veil.web.dp import asked_of
from veil.web.guard import is_cross_site, is_followed_link
from veil.web.messages import (
    FORM_BYTES,
    JSON_BYTES,
    GoneError,
    Handler,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    StatusError,
    classify_error,
    document,
    fields,
    header_values,
    page,
    read_body,
    read_json,
    require_type,
    whole_number,
)
from veil.web.operation import Operation, openapi
from veil.web.pages import Common, added
from veil.web.pages.shell import Page, all_pages
from veil.web.service import Service

Way = Literal["private", "clear", "here"]
_ENTRIES = 50  # of the ledger on one page
_HELD = "Another site opened this address, so that nothing was searched for and nothing was sent."
_FORM = "application/x-www-form-urlencoded"


async def home(service: Service, request: Request) -> Response:
    """Show the search box."""
    common = await common_of(service, request)
    given = fields(request.scope["query_string"])
    if "stop" in given and not is_cross_site(request.scope):  # a link of the plane
        last = len(service.plane.stops) - 1
        common = replace(common, stop=whole_number(given["stop"], "stop", 0, last))
    return page(pages.home(common))


async def plane(service: Service, request: Request) -> Response:
    """Show what the slider moves along."""
    return page(pages.plane(await common_of(service, request)))


async def places(service: Service, request: Request) -> Response:
    """Show where a file of points is opened, masked and drawn."""
    return page(pages.places(await common_of(service, request)))


async def database(service: Service, request: Request) -> Response:
    """Show where a database is asked in SQL."""
    found = service.database
    asked = None
    if found is not None:  # the ledger is a file, which others may be writing to
        asked = await service.looks.run(request, partial(asked_of, found))
    return page(pages.database(await common_of(service, request), asked))


async def tables(service: Service, request: Request) -> Response:
    """Show where a table is opened, measured and protected."""
    return page(pages.tables(await common_of(service, request)))


async def sensitive(service: Service, request: Request) -> Response:
    """Show where an index is searched as somebody who is not cleared, and as somebody who is."""
    room = service.sensitive
    documents = None if room is None else len(room.stored.collection.documents)
    return page(pages.sensitive(await common_of(service, request), documents))


async def search_asked(service: Service, request: Request) -> Response:
    """Search for what the browser's address bar asks; what another site asks is held."""
    given = fields(request.scope["query_string"])
    query = given.get("q", "")
    if not query.strip():
        return await home(service, request)
    if request.method == "HEAD" or is_followed_link(request.scope):
        return page(pages.held(await common_of(service, request), query, _HELD))
    way: Way = "here" if service.own else "private"
    answer = await _searched(service, request, query, service.slider.stop, way)
    return _led(service, request, answer)


async def search_posted(service: Service, request: Request) -> Response:
    """Search for what the form of our own page asks."""
    require_type(request, _FORM)
    given = fields(await read_body(request, FORM_BYTES, service.patience))
    last = len(service.plane.stops) - 1
    stop = whole_number(given["stop"], "stop", 0, last) if "stop" in given else service.slider.stop
    answer = await _searched(service, request, given.get("q", ""), stop, _way(service, given))
    return _led(service, request, answer)


def _way(service: Service, given: Mapping[str, str]) -> Way:
    """Return how to search: documents of the user's own as it is, unless a demonstration is asked.

    Whatever a form says, a query is never sent in clear but by a rule, nor searched as it is but
    here: the desk sees to that.
    """
    if service.own:
        return "private" if given.get("demo") == "1" else "here"
    return "clear" if given.get("plain") == "1" else "private"


async def results(service: Service, request: Request) -> Response:
    """Show once more what came of a search; nothing is asked for that."""
    found = service.kept.find(fields(request.scope["query_string"]).get("page", ""))
    if found is None:
        raise StatusError(410, "These results are not kept any more; search again.")
    return found


def _led(service: Service, request: Request, answer: Response) -> Response:
    """Lead a browser to an address that it can go back to; programs are answered at once."""
    if header_values(request.scope, "sec-fetch-mode") != ["navigate"]:
        return answer
    return Response(None, 303, {"location": f"/results?page={service.kept.put(answer)}"})


async def _searched(
    service: Service, request: Request, query: str, stop: int, way: Way
) -> Response:
    try:
        check_query(query)
        service.bucket.take()
        search = partial(_search, service, query, stop, way)
        found = await service.searches.run(request, search)
    except VeilError as error:
        return await _refused(service, request, query, stop, error)
    if stop != service.slider.stop and way != "here":  # one that was searched with
        service.slider.stop = stop
        chosen = partial(service.desk.choose, service.plane.stops[stop].setting)
        await service.looks.run(request, chosen)
    return page(pages.results(_common(service, found.budget, stop), query, found))


def _search(service: Service, query: str, stop: int, way: Way) -> SearchOutcome:
    if way == "here":
        return service.desk.search_here(query)
    setting = service.plane.stops[stop].setting
    return service.desk.search(query, setting, plain=way == "clear")


async def _refused(
    service: Service, request: Request, query: str, stop: int, error: VeilError
) -> Response:
    verdict = classify_error(error)
    if verdict.kind == "server" or isinstance(error, GoneError):
        raise error
    gate = await _gate(service, request, query) if isinstance(error, GateError) else None
    common = replace(await common_of(service, request), stop=stop)
    unsent = isinstance(error, EngineError) and error.sent == 0
    html = pages.refused(common, query, verdict.kind, verdict.message, gate, unsent=unsent)
    return page(html, verdict.status, verdict.headers)


async def _gate(service: Service, request: Request, query: str) -> Decision | None:
    try:
        return await service.looks.run(request, partial(service.desk.gate, query))
    except VeilError:
        return None


async def ledger(service: Service, request: Request) -> Response:
    """Show what was released, newest first."""
    given = fields(request.scope["query_string"])
    before = whole_number(given["before"], "before", 1, 2**63 - 1) if "before" in given else None
    desk, run = service.desk, service.looks.run
    found = await run(request, partial(desk.releases, _ENTRIES + 1, before))
    older = found[_ENTRIES - 1].number if len(found) > _ENTRIES else None
    return page(pages.ledger(await common_of(service, request), found[:_ENTRIES], older))


async def forget(service: Service, request: Request) -> Response:
    """Forget an entry of the ledger."""
    require_type(request, _FORM)
    given = fields(await read_body(request, FORM_BYTES, service.patience))
    number = whole_number(given.get("number", ""), "number", 1, 2**63 - 1)
    desk = service.desk
    if not await service.looks.run(request, partial(desk.forget, number)):
        raise StatusError(404, "The ledger has no entry with this number.")
    service.kept.clear()
    return Response(None, 303, {"location": "/ledger"})


async def common_of(service: Service, request: Request) -> Common:
    """Return what every page shows."""
    budget = await service.looks.run(request, service.desk.budget)
    return _common(service, budget, service.slider.stop)


def _common(service: Service, budget: Budget, stop: int) -> Common:
    desk = service.desk
    return Common(
        desk.engine, desk.network, budget, service.plane, stop, desk.standing, desk.collection
    )


_CSS, _JS, _SVG = "text/css; charset=utf-8", "text/javascript; charset=utf-8", "image/svg+xml"
_FILES = {"page.css": _CSS, "page.js": _JS, "places.js": _JS, "plane.js": _JS, "icon.svg": _SVG}
_FILES |= dict.fromkeys(("database.js", "sensitive.js", "tables.js"), _JS)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that a page loads from ``/static/``, and of which kind it is."""

    kind: str
    content: bytes


@cache
def assets() -> dict[str, Asset]:
    """Return every file that is served under ``/static/``, by its name.

    The style and the script of the planes are those of `veil.studies.report.drawing`.
    """
    folder = files("veil.web") / "static"
    found = {name: Asset(kind, (folder / name).read_bytes()) for name, kind in _FILES.items()}
    found["drawing.css"] = Asset(_CSS, drawing.STYLE.encode())
    found["drawing.js"] = Asset(_JS, drawing.SCRIPT.encode())
    return found


ICON = "icon.svg"


def file_routes() -> dict[tuple[str, str], Handler]:
    """Return the address of each file, and who answers there."""
    found = assets()
    table = {("GET", f"/static/{name}"): _handler(asset) for name, asset in found.items()}
    table["GET", "/favicon.ico"] = _handler(found[ICON])
    return table


def _handler(asset: Asset) -> Handler:
    tag = f'"{hashlib.sha256(asset.content).hexdigest()[:32]}"'
    headers = {"cache-control": "no-cache", "etag": tag}

    async def answer(request: Request) -> Response:
        known = ",".join(header_values(request.scope, "if-none-match")).split(",")
        if tag in (one.strip().removeprefix("W/") for one in known):
            return Response(None, 304, headers)
        return Response(asset.content, 200, headers, asset.kind)

    return answer


FILE = "/file"
_POLICY = (
    "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_CHANGED = (
    "[Veil: this file changed after it was indexed; run 'veil index' again to search it as it is"
    " now.]\n\n"
)


async def open_file(service: Service, request: Request) -> Response:
    """Answer with the file of a result, by the id of the result."""
    name = fields(request.scope["query_string"]).get("id", "")
    opened = await service.looks.run(request, partial(service.desk.opened, name))
    if opened is None:
        raise StatusError(404, "The index lists no such document.")
    if opened.state == "gone":
        raise StatusError(
            410,
            "The file is no longer where it was when it was indexed, or cannot be opened; run"
            " 'veil index' again.",
        )
    return _shown(opened) if opened.text is not None else _given(opened)


def _shown(opened: OpenedDocument) -> Response:
    note = _CHANGED if opened.state == "changed" else ""
    content = f"{note}{opened.text}".encode("utf-8", "replace")
    headers = {"content-security-policy": _POLICY, "content-disposition": "inline"}
    return Response(content, 200, headers, "text/plain; charset=utf-8")


def _given(opened: OpenedDocument) -> Response:
    """Hand a file over; that it changed is told in its name, which is where a person looks."""
    stem, dot, ending = opened.name.rpartition(".")
    mark = " (changed since it was indexed)" if opened.state == "changed" else ""
    name = printable(f"{stem}{mark}{dot}{ending}")
    told = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"content-security-policy": _POLICY, "content-disposition": told}
    return Response(opened.data, 200, headers, opened.media)


MEDIA_TYPE = "application/opensearchdescription+xml"
SHORT_NAME = "Veil"  # at most 16 characters


def description(origin: str) -> str:
    """Return the description for a browser that reaches the page under this origin."""
    at = escape(origin)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
  <ShortName>{SHORT_NAME}</ShortName>
  <Description>Private search: the engine sees variants of a query, not the query.</Description>
  <InputEncoding>UTF-8</InputEncoding>
  <OutputEncoding>UTF-8</OutputEncoding>
  <Image type="image/svg+xml">{at}/static/icon.svg</Image>
  <Url type="text/html" method="get" template="{at}/search?q={{searchTerms}}"/>
  <Url type="{MEDIA_TYPE}" rel="self" template="{at}/opensearch.xml"/>
</OpenSearchDescription>
"""


_PARTS = (verbs, places_web, dp, tables_web, sensitive_web)
OPERATIONS: tuple[Operation, ...] = tuple(one for part in _PARTS for one in part.OPERATIONS)


def api_routes(service: Service) -> dict[tuple[str, str], Handler]:
    """Return the addresses of the interface, and who answers there."""
    return {(one.method, one.path): partial(_answer, service, one) for one in OPERATIONS}


async def _answer(service: Service, operation: Operation, request: Request) -> Response:
    """Answer one request of a program."""
    service.bucket.take()
    if operation.method == "POST":
        require_type(request, "application/json")
        body = await read_body(request, JSON_BYTES, service.patience)
        ask = operation.ask.read(read_json(body), strict=True)
    else:
        ask = operation.ask.read(fields(request.scope["query_string"]), strict=False)
    service.bucket.charge(ask.weight - 1)
    turns = service.searches if operation.method == "POST" else service.looks
    answer = await turns.run(request, partial(_written, service, operation, ask))
    return document(answer)


@private_caches()
def _written(service: Service, operation: Operation, ask: Ask) -> bytes:
    """Do the work; no law that was made for others is used, or left to them."""
    ask.check()
    return operation.run(service, ask).model_dump_json(by_alias=True).encode()


Table = Mapping[tuple[str, str], Handler]
Answer = Callable[[Service, Request], Awaitable[Response]]
Content = Callable[[Mapping[str, str]], str]


def table(service: Service) -> Table:
    """Return every address, and who answers there."""
    return {
        **{("GET", row.path): partial(_page, service, row) for row in all_pages()},
        ("GET", "/search"): partial(search_asked, service),
        ("POST", "/search"): partial(search_posted, service),
        ("GET", "/results"): partial(results, service),
        ("GET", FILE): partial(open_file, service),
        ("POST", "/ledger/forget"): partial(forget, service),
        ("GET", "/opensearch.xml"): _opensearch,
        ("GET", "/robots.txt"): _robots,
        ("GET", "/openapi.json"): _openapi,
        **file_routes(),
        **api_routes(service),
    }


async def _page(service: Service, row: Page, request: Request) -> Response:
    """Answer with a page of the table, which is loaded now."""
    if row.whole:
        return await cast(Answer, _loaded(row.place))(service, request)
    given = fields(request.scope["query_string"])
    html = await service.looks.run(request, partial(_content, row.place, given))
    common = await common_of(service, request)
    return page(added(common, row.path, row.label, html))


def _content(place: str, given: Mapping[str, str]) -> str:
    return cast(Content, _loaded(place))(given)


def _loaded(place: str) -> object:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class Router:
    """Find who answers at an address; HEAD is answered like GET."""

    def __init__(self, routes: Table) -> None:
        self._routes = routes
        self._methods: dict[str, list[str]] = {}
        for method, path in routes:
            self._methods.setdefault(path, []).extend(_allowed(method))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path, method = scope["path"], scope["method"]
        if path not in self._methods:
            raise StatusError(404, "There is nothing at this address.")
        if method not in self._methods[path]:
            allowed = ", ".join(self._methods[path])
            raise StatusError(405, f"This address takes {allowed} only.", allow=allowed)
        handler = self._routes["GET" if method == "HEAD" else method, path]
        response = await handler(Request(scope, receive))
        await response(scope, receive, send)


def _allowed(method: str) -> tuple[str, ...]:
    return ("GET", "HEAD") if method == "GET" else (method,)


async def _opensearch(request: Request) -> Response:
    return Response(description(request.scope["veil.origin"]), media_type=MEDIA_TYPE)


async def _robots(request: Request) -> Response:
    del request
    return Response("User-agent: *\nDisallow: /\n", media_type="text/plain")


async def _openapi(request: Request) -> Response:
    del request
    return document(_described())


@cache
def _described() -> bytes:
    return json.dumps(openapi(OPERATIONS)).encode()
