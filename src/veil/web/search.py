"""The pages of the search: the box, the results, their files, the plane and the ledger.

A query is searched for only if the user typed it: what another site asks waits for a button. What
a browser is answered moves to an address without the query, so that its history holds none.

Files of the user's own documents are opened read-only, and so that nothing in them runs as our
page. Text is shown as plain text, pages and mails as the text that the index has of them. What
other programs read is handed over as a download, also PDF: a viewer in the browser would take it
for a page of ours. All of it is in a sandbox, for a browser that thinks otherwise.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal
from urllib.parse import quote

from veil.core.errors import EngineError, GateError, VeilError
from veil.core.formatting import printable
from veil.corpus.document_file import OpenedDocument
from veil.proxy.results import SearchOutcome
from veil.proxy.settings import Decision
from veil.search.pipeline import check_query
from veil.web import pages
from veil.web.guard import is_cross_site, is_followed_link
from veil.web.messages import (
    FORM_BYTES,
    GoneError,
    Request,
    Response,
    StatusError,
    classify_error,
    fields,
    header_values,
    page,
    read_body,
    require_type,
    whole_number,
)
from veil.web.service import Service

Way = Literal["private", "clear", "here"]
_ENTRIES = 50  # of the ledger on one page
_HELD = "Another site opened this address, so that nothing was searched for and nothing was sent."
_FORM = "application/x-www-form-urlencoded"


async def home(service: Service, request: Request) -> Response:
    """Show the search box."""
    common = await service.common(request)
    query = fields(request.scope["query_string"])
    if "stop" in query and not is_cross_site(request.scope):  # a link of the plane
        last = len(service.plane.stops) - 1
        common = replace(common, stop=whole_number(query["stop"], "stop", 0, last))
    return page(pages.home(common))


async def plane(service: Service, request: Request) -> Response:
    """Show what the slider moves along."""
    return page(pages.plane(await service.common(request)))


async def search(service: Service, request: Request) -> Response:
    """Search for what the form of our own page or the browser's address bar sends."""
    return await (_posted if request.method == "POST" else _asked)(service, request)


async def _asked(service: Service, request: Request) -> Response:
    """Search for what the browser's address bar asks; what another site asks is held."""
    address = fields(request.scope["query_string"])
    query = address.get("q", "")
    if not query.strip():
        return await home(service, request)
    if request.method == "HEAD" or is_followed_link(request.scope):
        return page(pages.held(await service.common(request), query, _HELD))
    way: Way = "here" if service.own else "private"
    answer = await _searched(service, request, query, service.slider.stop, way)
    return _led(service, request, answer)


async def _posted(service: Service, request: Request) -> Response:
    """Search for what the form of our own page asks."""
    require_type(request, _FORM)
    form = fields(await read_body(request, FORM_BYTES, service.patience))
    last = len(service.plane.stops) - 1
    stop = whole_number(form["stop"], "stop", 0, last) if "stop" in form else service.slider.stop
    answer = await _searched(service, request, form.get("q", ""), stop, _way(service, form))
    return _led(service, request, answer)


def _way(service: Service, form: Mapping[str, str]) -> Way:
    """Return how to search: documents of the user's own as it is, unless a demonstration is asked.

    Whatever a form says, a query is never sent in clear but by a rule, nor searched as it is but
    here: the desk sees to that.
    """
    if service.own:
        return "private" if form.get("demo") == "1" else "here"
    return "clear" if form.get("plain") == "1" else "private"


async def results(service: Service, request: Request) -> Response:
    """Show once more what came of a search; nothing is asked for that."""
    answer = service.kept.find(fields(request.scope["query_string"]).get("page", ""))
    if answer is None:
        raise StatusError(410, "These results are not kept any more; search again.")
    return answer


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
        outcome = await service.searches.run(request, search)
    except VeilError as error:
        return await _refused(service, request, query, stop, error)
    if stop != service.slider.stop and way != "here":  # one that was searched with
        service.slider.stop = stop
        chosen = partial(service.desk.choose, service.plane.stops[stop].setting)
        await service.looks.run(request, chosen)
    return page(pages.results(service.common_of(outcome.budget, stop), query, outcome))


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
    common = replace(await service.common(request), stop=stop)
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
    older = fields(request.scope["query_string"]).get("before")
    before = None if older is None else whole_number(older, "before", 1, 2**63 - 1)
    desk, run = service.desk, service.looks.run
    releases = await run(request, partial(desk.releases, _ENTRIES + 1, before))
    last = releases[_ENTRIES - 1].number if len(releases) > _ENTRIES else None
    return page(pages.ledger(await service.common(request), releases[:_ENTRIES], last))


async def forget(service: Service, request: Request) -> Response:
    """Forget an entry of the ledger."""
    require_type(request, _FORM)
    form = fields(await read_body(request, FORM_BYTES, service.patience))
    number = whole_number(form.get("number", ""), "number", 1, 2**63 - 1)
    desk = service.desk
    if not await service.looks.run(request, partial(desk.forget, number)):
        raise StatusError(404, "The ledger has no entry with this number.")
    service.kept.clear()
    return Response(None, 303, {"location": "/ledger"})


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
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"content-security-policy": _POLICY, "content-disposition": disposition}
    return Response(opened.data, 200, headers, opened.media)
