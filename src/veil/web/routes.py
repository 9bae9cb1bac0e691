"""The table of addresses, and the pages behind them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

from veil.core.errors import GateError, VeilError
from veil.proxy.types import Decision
from veil.search.pipeline import check_query
from veil.web import pages
from veil.web.api import OPERATIONS, api_routes
from veil.web.bodies import FORM_BYTES, fields, read_body, require_type, whole_number
from veil.web.faults import GoneError, RefusedError, judge
from veil.web.files import file_routes
from veil.web.guard import is_foreign, is_led
from veil.web.kept import Kept
from veil.web.messages import (
    Handler,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    document,
    header_values,
    page,
)
from veil.web.openapi import openapi
from veil.web.opensearch import MEDIA_TYPE, description
from veil.web.pages import Common
from veil.web.service import Service

Table = Mapping[tuple[str, str], Handler]

_ENTRIES = 50  # of the ledger on one page
_HELD = "Another site opened this address, so that nothing was searched for and nothing was sent."
_FORM = "application/x-www-form-urlencoded"


def table(service: Service) -> Table:
    """Return every address, and who answers there."""
    pages_ = _Pages(service)
    return {
        ("GET", "/"): pages_.home,
        ("GET", "/search"): pages_.search_asked,
        ("POST", "/search"): pages_.search_posted,
        ("GET", "/results"): pages_.results,
        ("GET", "/plane"): pages_.plane,
        ("GET", "/ledger"): pages_.ledger,
        ("POST", "/ledger/forget"): pages_.forget,
        ("GET", "/opensearch.xml"): _opensearch,
        ("GET", "/robots.txt"): _robots,
        ("GET", "/openapi.json"): _openapi,
        **file_routes(),
        **api_routes(service),
    }


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
            raise RefusedError(404, "There is nothing at this address.")
        if method not in self._methods[path]:
            allowed = ", ".join(self._methods[path])
            raise RefusedError(405, f"This address takes {allowed} only.", allow=allowed)
        handler = self._routes["GET" if method == "HEAD" else method, path]
        response = await handler(Request(scope, receive))
        await response(scope, receive, send)


def _allowed(method: str) -> tuple[str, ...]:
    return ("GET", "HEAD") if method == "GET" else (method,)


class _Pages:
    """The pages, and what they remember: the stop chosen last, and the last answers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept = Kept()
        chosen = service.desk.chosen()
        place = service.plane.place(chosen) if chosen else None
        self._stop = service.plane.default if place is None else place

    async def home(self, request: Request) -> Response:
        common = await self._common(request)
        given = fields(request.scope["query_string"])
        if "stop" in given and not is_foreign(request.scope):  # a link of the plane
            last = len(self._service.plane.stops) - 1
            common = replace(common, stop=whole_number(given["stop"], "stop", 0, last))
        return page(pages.home(common))

    async def plane(self, request: Request) -> Response:
        return page(pages.plane(await self._common(request)))

    async def search_asked(self, request: Request) -> Response:
        """Search for what the browser's address bar asks; what another site asks is held."""
        given = fields(request.scope["query_string"])
        query = given.get("q", "")
        if not query.strip():
            return await self.home(request)
        if request.method == "HEAD" or is_led(request.scope):
            return page(pages.held(await self._common(request), query, _HELD))
        return self._led(request, await self._searched(request, query, self._stop))

    async def search_posted(self, request: Request) -> Response:
        """Search for what the form of our own page asks."""
        require_type(request, _FORM)
        given = fields(await read_body(request, FORM_BYTES, self._service.patience))
        last = len(self._service.plane.stops) - 1
        stop = whole_number(given["stop"], "stop", 0, last) if "stop" in given else self._stop
        plain = given.get("plain") == "1"
        answer = await self._searched(request, given.get("q", ""), stop, plain=plain)
        return self._led(request, answer)

    async def results(self, request: Request) -> Response:
        """Show once more what came of a search; nothing is asked for that."""
        found = self._kept.find(fields(request.scope["query_string"]).get("page", ""))
        if found is None:
            raise RefusedError(410, "These results are not kept any more; search again.")
        return found

    def _led(self, request: Request, answer: Response) -> Response:
        """Lead a browser to an address that it can go back to; programs are answered at once."""
        if header_values(request.scope, "sec-fetch-mode") != ["navigate"]:
            return answer
        return Response(None, 303, {"location": f"/results?page={self._kept.put(answer)}"})

    async def _searched(
        self, request: Request, query: str, stop: int, *, plain: bool = False
    ) -> Response:
        service = self._service
        try:
            check_query(query)
            service.bucket.take()
            search = partial(
                service.desk.search, query, service.plane.stops[stop].setting, plain=plain
            )
            found = await service.searches.run(request, search)
        except VeilError as error:
            return await self._refused(request, query, stop, error)
        desk = service.desk
        if stop != self._stop:  # one that was searched with
            self._stop = stop
            await service.looks.run(
                request, partial(desk.choose, service.plane.stops[stop].setting)
            )
        common = Common(desk.engine, desk.network, found.budget, service.plane, stop)
        return page(pages.results(common, query, found))

    async def _refused(
        self, request: Request, query: str, stop: int, error: VeilError
    ) -> Response:
        verdict = judge(error)
        if verdict.kind == "server" or isinstance(error, GoneError):
            raise error
        gate = await self._gate(request, query) if isinstance(error, GateError) else None
        common = replace(await self._common(request), stop=stop)
        html = pages.refused(common, query, verdict.kind, verdict.message, gate)
        return page(html, verdict.status, verdict.headers)

    async def _gate(self, request: Request, query: str) -> Decision | None:
        try:
            return await self._service.looks.run(request, partial(self._service.desk.gate, query))
        except VeilError:
            return None

    async def ledger(self, request: Request) -> Response:
        given = fields(request.scope["query_string"])
        before = (
            whole_number(given["before"], "before", 1, 2**63 - 1) if "before" in given else None
        )
        desk, run = self._service.desk, self._service.looks.run
        found = await run(request, partial(desk.releases, _ENTRIES + 1, before))
        older = found[_ENTRIES - 1].number if len(found) > _ENTRIES else None
        return page(pages.ledger(await self._common(request), found[:_ENTRIES], older))

    async def forget(self, request: Request) -> Response:
        require_type(request, _FORM)
        given = fields(await read_body(request, FORM_BYTES, self._service.patience))
        number = whole_number(given.get("number", ""), "number", 1, 2**63 - 1)
        desk = self._service.desk
        if not await self._service.looks.run(request, partial(desk.forget, number)):
            raise RefusedError(404, "The ledger has no entry with this number.")
        self._kept.clear()
        return Response(None, 303, {"location": "/ledger"})

    async def _common(self, request: Request) -> Common:
        desk = self._service.desk
        budget = await self._service.looks.run(request, desk.budget)
        return Common(desk.engine, desk.network, budget, self._service.plane, self._stop)


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
