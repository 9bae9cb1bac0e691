"""Who answers at the addresses of the pages; `veil.web.pages` writes the HTML."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from veil.core.errors import GateError, VeilError
from veil.proxy.results import Found
from veil.proxy.types import Budget, Decision
from veil.search.pipeline import check_query
from veil.web import pages
from veil.web.bodies import FORM_BYTES, fields, read_body, require_type, whole_number
from veil.web.dp import asked_of
from veil.web.faults import GoneError, StatusError, judge
from veil.web.guard import is_foreign, is_led
from veil.web.messages import Request, Response, header_values, page
from veil.web.pages import Common
from veil.web.service import Service

Way = Literal["private", "clear", "here"]
_ENTRIES = 50  # of the ledger on one page
_HELD = "Another site opened this address, so that nothing was searched for and nothing was sent."
_FORM = "application/x-www-form-urlencoded"


async def home(service: Service, request: Request) -> Response:
    """Show the search box."""
    common = await common_of(service, request)
    given = fields(request.scope["query_string"])
    if "stop" in given and not is_foreign(request.scope):  # a link of the plane
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
    if request.method == "HEAD" or is_led(request.scope):
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


def _search(service: Service, query: str, stop: int, way: Way) -> Found:
    if way == "here":
        return service.desk.search_here(query)
    setting = service.plane.stops[stop].setting
    return service.desk.search(query, setting, plain=way == "clear")


async def _refused(
    service: Service, request: Request, query: str, stop: int, error: VeilError
) -> Response:
    verdict = judge(error)
    if verdict.kind == "server" or isinstance(error, GoneError):
        raise error
    gate = await _gate(service, request, query) if isinstance(error, GateError) else None
    common = replace(await common_of(service, request), stop=stop)
    html = pages.refused(common, query, verdict.kind, verdict.message, gate)
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
