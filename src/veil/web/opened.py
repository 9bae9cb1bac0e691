"""Open a file of the user's own: read-only, and so that nothing in it runs as our page.

Text is shown as plain text, pages and mails as the text that the index has of them. What other
programs read is handed over as a download, also PDF: a viewer in the browser would take it for a
page of ours. All of it is in a sandbox, for a browser that thinks otherwise.
"""

from functools import partial
from urllib.parse import quote

from veil.core.formatting import printable
from veil.corpus.document_file import Opened
from veil.web.bodies import fields
from veil.web.faults import StatusError
from veil.web.messages import Request, Response
from veil.web.service import Service

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


def _shown(opened: Opened) -> Response:
    note = _CHANGED if opened.state == "changed" else ""
    content = f"{note}{opened.text}".encode("utf-8", "replace")
    headers = {"content-security-policy": _POLICY, "content-disposition": "inline"}
    return Response(content, 200, headers, "text/plain; charset=utf-8")


def _given(opened: Opened) -> Response:
    """Hand a file over; that it changed is told in its name, which is where a person looks."""
    stem, dot, ending = opened.name.rpartition(".")
    mark = " (changed since it was indexed)" if opened.state == "changed" else ""
    name = printable(f"{stem}{mark}{dot}{ending}")
    told = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"content-security-policy": _POLICY, "content-disposition": told}
    return Response(opened.data, 200, headers, opened.media)
