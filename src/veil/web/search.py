"""The search pages: form, results, files, plane and ledger.

A query is only searched if the user typed it; queries from other sites wait for a button. The
browser is redirected to an address without the query, so that its history contains none.

Files of the user's own documents are opened read-only, and so that nothing in them runs as our
page. Text is shown as plain text, web pages and mails as the text in the index. Files for
other programs are downloads, including PDF: a viewer in the browser would treat it
as our page. Everything is sandboxed as well, in case a browser ignores this.
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
_ENTRIES = 50  # ledger entries on a page
_OTHER_SITE = "Another site opened this address. Nothing was searched or sent."
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
    """Show the measured plane that the slider moves along."""
    return page(pages.plane(await service.common(request)))


async def search(service: Service, request: Request) -> Response:
    """Search for the query in our form or in the browser's address bar."""
    return await (_posted if request.method == "POST" else _asked)(service, request)


async def _asked(service: Service, request: Request) -> Response:
    """Search for a query from the address bar; one from another site waits for the user."""
    address = fields(request.scope["query_string"])
    query = address.get("q", "")
    if not query.strip():
        return await home(service, request)
    if request.method == "HEAD" or is_followed_link(request.scope):
        return page(pages.confirm(await service.common(request), query, _OTHER_SITE))
    way: Way = "here" if service.own else "private"
    answer = await _run_search(service, request, query, service.slider.stop, way)
    return _redirect(service, request, answer)


async def _posted(service: Service, request: Request) -> Response:
    """Search for the query in our form."""
    require_type(request, _FORM)
    form = fields(await read_body(request, FORM_BYTES, service.patience))
    last = len(service.plane.stops) - 1
    stop = whole_number(form["stop"], "stop", 0, last) if "stop" in form else service.slider.stop
    answer = await _run_search(service, request, form.get("q", ""), stop, _way(service, form))
    return _redirect(service, request, answer)


def _way(service: Service, form: Mapping[str, str]) -> Way:
    """Return how to search: own documents with the query itself, except for a simulation.

    Whatever a form says, a query is sent unprotected only if a rule allows it, and searched
    directly only on this machine.
    """
    if service.own:
        return "private" if form.get("demo") == "1" else "here"
    return "clear" if form.get("plain") == "1" else "private"


async def results(service: Service, request: Request) -> Response:
    """Show the results of an earlier search again; no engine is queried."""
    answer = service.answers.find(fields(request.scope["query_string"]).get("page", ""))
    if answer is None:
        raise StatusError(410, "These results are no longer stored. Search again.")
    return answer


def _redirect(service: Service, request: Request, answer: Response) -> Response:
    """Redirect browsers to an address they can go back to; programs get the answer at once."""
    if header_values(request.scope, "sec-fetch-mode") != ["navigate"]:
        return answer
    return Response(None, 303, {"location": f"/results?page={service.answers.put(answer)}"})


async def _run_search(
    service: Service, request: Request, query: str, stop: int, way: Way
) -> Response:
    try:
        check_query(query)
        service.bucket.take()
        search = partial(_search, service, query, stop, way)
        outcome = await service.searches.run(request, search)
    except VeilError as error:
        return await _refused(service, request, query, stop, error)
    if stop != service.slider.stop and way != "here":  # the search used this setting
        service.slider.stop = stop
        save = partial(service.desk.choose, service.plane.stops[stop].setting)
        await service.looks.run(request, save)
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
    """Show the releases, newest first."""
    older = fields(request.scope["query_string"]).get("before")
    before = None if older is None else whole_number(older, "before", 1, 2**63 - 1)
    desk, run = service.desk, service.looks.run
    releases = await run(request, partial(desk.releases, _ENTRIES + 1, before))
    last = releases[_ENTRIES - 1].number if len(releases) > _ENTRIES else None
    return page(pages.ledger(await service.common(request), releases[:_ENTRIES], last))


async def forget(service: Service, request: Request) -> Response:
    """Delete an entry of the ledger."""
    require_type(request, _FORM)
    form = fields(await read_body(request, FORM_BYTES, service.patience))
    number = whole_number(form.get("number", ""), "number", 1, 2**63 - 1)
    desk = service.desk
    if not await service.looks.run(request, partial(desk.forget, number)):
        raise StatusError(404, "The number must be that of a ledger entry. Reload the ledger.")
    service.answers.clear()
    return Response(None, 303, {"location": "/ledger"})


_POLICY = (
    "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_CHANGED = (
    "[Veil: this file has changed since it was indexed. Run 'veil index' again to search its"
    " current version.]\n\n"
)


async def open_file(service: Service, request: Request) -> Response:
    """Answer with the file of a result, given the id of the result."""
    name = fields(request.scope["query_string"]).get("id", "")
    opened = await service.looks.run(request, partial(service.desk.opened, name))
    if opened is None:
        raise StatusError(404, "The document must be in the index. Run 'veil index' again.")
    if opened.state == "gone":
        raise StatusError(
            410,
            "The file was moved or deleted after it was indexed, or cannot be opened. Run 'veil"
            " index' again.",
        )
    return _as_text(opened) if opened.text is not None else _download(opened)


def _as_text(opened: OpenedDocument) -> Response:
    note = _CHANGED if opened.state == "changed" else ""
    content = f"{note}{opened.text}".encode("utf-8", "replace")
    headers = {"content-security-policy": _POLICY, "content-disposition": "inline"}
    return Response(content, 200, headers, "text/plain; charset=utf-8")


def _download(opened: OpenedDocument) -> Response:
    """Return a file as a download, named as changed if it has changed."""
    stem, dot, ending = opened.name.rpartition(".")
    mark = " (changed since it was indexed)" if opened.state == "changed" else ""
    name = printable(f"{stem}{mark}{dot}{ending}")
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"content-security-policy": _POLICY, "content-disposition": disposition}
    return Response(opened.data, 200, headers, opened.media)
