"""The table of addresses: of the pages, of their forms, and of the interface."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import cast

from veil.web import answering
from veil.web.api import OPERATIONS, api_routes
from veil.web.bodies import fields
from veil.web.faults import StatusError
from veil.web.files import file_routes
from veil.web.messages import Handler, Receive, Request, Response, Scope, Send, document, page
from veil.web.openapi import openapi
from veil.web.opened import FILE, open_file
from veil.web.opensearch import MEDIA_TYPE, description
from veil.web.pages import added
from veil.web.pages.table import Page, all_pages
from veil.web.service import Service

Table = Mapping[tuple[str, str], Handler]
Answer = Callable[[Service, Request], Awaitable[Response]]
Content = Callable[[Mapping[str, str]], str]


def table(service: Service) -> Table:
    """Return every address, and who answers there."""
    return {
        **{("GET", row.path): partial(_page, service, row) for row in all_pages()},
        ("GET", "/search"): partial(answering.search_asked, service),
        ("POST", "/search"): partial(answering.search_posted, service),
        ("GET", "/results"): partial(answering.results, service),
        ("GET", FILE): partial(open_file, service),
        ("POST", "/ledger/forget"): partial(answering.forget, service),
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
    common = await answering.common_of(service, request)
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
