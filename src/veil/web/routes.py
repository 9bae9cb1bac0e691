"""The table of addresses, as routes of Starlette.

The names of methods and addresses are matched by Starlette; what it answers otherwise (404, 405)
gets our sentence. There is no address for suggestions: a browser would send what is typed letter
by letter.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib import import_module
from importlib.resources import files
from typing import NoReturn, cast

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router

from veil.core.errors import UnknownNameError
from veil.data.memo import private_caches
from veil.studies.report import drawing
from veil.web import database, pages, places, search, sensitive, tables, text
from veil.web.asks import Ask
from veil.web.messages import (
    JSON_BYTES,
    ASGIApp,
    Handler,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    StatusError,
    document,
    fields,
    header_values,
    page,
    read_body,
    read_json,
    require_type,
)
from veil.web.operation import Operation, openapi
from veil.web.pages.shell import Page, all_pages
from veil.web.service import Service
from veil.web.verbs import operation_of, verb_operations

_CSS, _JS, _SVG = "text/css; charset=utf-8", "text/javascript; charset=utf-8", "image/svg+xml"
_FILES = {"page.css": _CSS, "page.js": _JS, "places.js": _JS, "plane.js": _JS, "icon.svg": _SVG}
_FILES |= dict.fromkeys(("database.js", "sensitive.js", "tables.js"), _JS)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that a page loads from ``/static/``, with its media type."""

    kind: str
    content: bytes


@cache
def assets() -> dict[str, Asset]:
    """Return every file that is served under ``/static/``, by its name.

    The style and the script of the planes are those of `veil.studies.report.drawing`.
    """
    folder = files("veil.web") / "static"
    contents = {name: Asset(kind, (folder / name).read_bytes()) for name, kind in _FILES.items()}
    contents["drawing.css"] = Asset(_CSS, drawing.STYLE.encode())
    contents["drawing.js"] = Asset(_JS, drawing.SCRIPT.encode())
    return contents


def _file(asset: Asset) -> Handler:
    tag = f'"{hashlib.sha256(asset.content).hexdigest()[:32]}"'
    headers = {"cache-control": "no-cache", "etag": tag}

    async def answer(request: Request) -> Response:
        tags = ",".join(header_values(request.scope, "if-none-match")).split(",")
        if tag in (name.strip().removeprefix("W/") for name in tags):
            return Response(None, 304, headers)
        return Response(asset.content, 200, headers, asset.kind)

    return answer


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


OPERATIONS: tuple[Operation, ...] = tuple(
    operation
    for module in (text, places, database, tables, sensitive)
    for operation in module.OPERATIONS
)


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


async def _verb(service: Service, request: Request) -> Response:
    """Answer a request for a verb that has no operation of its own."""
    names = request.path_params
    find = partial(operation_of, names["domain"], names["verb"])
    try:
        operation = await to_thread.run_sync(find)  # a work queue would read the body
    except UnknownNameError:
        raise StatusError(404, "There is nothing at this address.") from None
    return await _answer(service, operation, request)


@private_caches()
def _written(service: Service, operation: Operation, ask: Ask) -> bytes:
    """Run the operation; it shares no cached law with requests of others."""
    ask.check()
    return operation.run(service, ask).model_dump_json(by_alias=True).encode()


Answer = Callable[[Service, Request], Awaitable[Response]]
Content = Callable[[Mapping[str, str]], str]


def routes(service: Service) -> list[Route]:
    """Return every address: pages, what they load, and the interface for programs."""
    post = ["POST"]
    return [
        *(Route(row.path, partial(_page, service, row)) for row in all_pages()),
        Route("/search", partial(search.search, service), methods=["GET", "POST"]),
        Route("/results", partial(search.results, service)),
        Route("/file", partial(search.open_file, service)),
        Route("/ledger/forget", partial(search.forget, service), methods=post),
        Route("/opensearch.xml", _opensearch),
        Route("/robots.txt", _robots),
        Route("/openapi.json", _openapi),
        *(Route(f"/static/{name}", _file(asset)) for name, asset in assets().items()),
        Route("/favicon.ico", _file(assets()["icon.svg"])),
        *(
            Route(operation.path, partial(_answer, service, operation), methods=[operation.method])
            for operation in OPERATIONS
        ),
        Route("/api/{domain}/{verb}", partial(_verb, service), methods=post),
    ]


def application(service: Service) -> ASGIApp:
    """Return what answers at these addresses; other addresses and methods are a StatusError."""
    router = Router(routes(service), redirect_slashes=False, default=_nothing)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].isprintable():  # a pattern may overlook a line break at its end
            await _nothing(scope, receive, send)
        try:
            # with an "app" in the scope Starlette raises an error, and does not answer itself
            await router({**scope, "app": router}, receive, send)
        except HTTPException as error:
            allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
            raise StatusError(405, f"This address takes {allowed} only.", allow=allowed) from None

    return answer


async def _nothing(scope: Scope, receive: Receive, send: Send) -> NoReturn:
    del scope, receive, send
    raise StatusError(404, "There is nothing at this address.")


async def _page(service: Service, row: Page, request: Request) -> Response:
    """Answer with a page of the table, which is loaded now."""
    if row.whole:
        return await cast(Answer, _loaded(row.place))(service, request)
    query = fields(request.scope["query_string"])
    html = await service.looks.run(request, partial(_content, row.place, query))
    common = await service.common(request)
    return page(pages.added(common, row.path, row.label, html))


def _content(place: str, query: Mapping[str, str]) -> str:
    return cast(Content, _loaded(place))(query)


def _loaded(place: str) -> object:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


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
    return json.dumps(openapi(all_operations())).encode()


def all_operations() -> tuple[Operation, ...]:
    """Return the operations of the pages, and those of all verbs that have no other."""
    paths = {operation.path for operation in OPERATIONS}
    return (*OPERATIONS, *(verb for verb in verb_operations() if verb.path not in paths))
