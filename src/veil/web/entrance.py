"""Who may come in: who has the token of this installation.

A browser is let in by an address that holds the token, or by a form; it then has a cookie, which
no script reads and no other site can make it send. A program sends the token with each request,
as ``Authorization: Bearer``. Everybody else sees one plain page that says how to get in.
"""

import hmac
from urllib.parse import urlsplit

from veil.web import pages
from veil.web.bodies import fields, read_body, require_type
from veil.web.faults import StatusError
from veil.web.guard import is_foreign, is_named_local
from veil.web.messages import (
    ASGIApp,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    header_values,
    is_program,
    page,
)
from veil.web.peers import is_stranger
from veil.web.token import check_token

ENTER = "/enter"
OPEN = frozenset(  # they are the same for everybody, and tell nothing
    ("/favicon.ico", "/opensearch.xml", "/robots.txt", "/static/icon.svg", "/static/page.css")
)
_DAYS = 90
_FORMS = 16  # that are read at once
_FORM_BYTES = 4_096
_SAY = {"www-authenticate": "Bearer"}


class Entrance:
    """Let requests with the token pass, and nothing else."""

    def __init__(self, app: ASGIApp, token: str, patience: float) -> None:
        self._app, self._patience = app, patience
        self._token = check_token(token)
        self._reading = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if is_named_local(scope) and is_stranger(scope):
            raise StatusError(
                403, "Another user of this machine started this request, so that nothing was done."
            )
        reads = scope["method"] in ("GET", "HEAD")
        if scope["path"] == ENTER:
            response = await self._enter(Request(scope, receive))
        elif self._has_token(scope) or (reads and scope["path"] in OPEN):
            await self._app(scope, receive, send)
            return
        else:
            response = _outside(scope)
        await response(scope, receive, send)

    async def _enter(self, request: Request) -> Response:
        scope = request.scope
        if request.method == "POST":
            given = await self._form(request)
        elif request.method in ("GET", "HEAD"):
            given = fields(scope["query_string"])
        else:
            allowed = "GET, HEAD, POST"
            raise StatusError(405, f"This address takes {allowed} only.", allow=allowed)
        told = given.get("token", "").rpartition("token=")[2].strip()  # or the whole address
        if not self._fits(told):
            return page(pages.entrance(wrong=bool(told)), 401, _SAY)
        headers = {"set-cookie": self._cookie(scope), "referrer-policy": "no-referrer"}
        if is_foreign(scope):  # led on from there the browser would not send the cookie yet
            return page(pages.entered(), 200, headers)
        return Response(None, 303, {"location": "/", **headers})

    async def _form(self, request: Request) -> dict[str, str]:
        """Read the form; few may keep us waiting for it, since anybody can."""
        require_type(request, "application/x-www-form-urlencoded")
        if self._reading >= _FORMS:
            raise StatusError(
                503, "Too many want to come in at once; try again.", "busy", retry_after="10"
            )
        self._reading += 1
        try:
            return fields(await read_body(request, _FORM_BYTES, self._patience))
        finally:
            self._reading -= 1

    def _has_token(self, scope: Scope) -> bool:
        for told in header_values(scope, "authorization"):
            scheme, _, value = told.partition(" ")
            if scheme.lower() == "bearer" and self._fits(value.strip()):
                return True
        own = cookie_name(scope["veil.origin"])
        cookies = ";".join(header_values(scope, "cookie")).split(";")
        pairs = [each.strip().partition("=") for each in cookies]
        return any(name == own and self._fits(value) for name, _, value in pairs)

    def _fits(self, told: str) -> bool:
        """Compare in a time that tells nothing of the token."""
        return hmac.compare_digest(told.encode("utf-8", "replace"), self._token.encode())

    def _cookie(self, scope: Scope) -> str:
        origin = scope["veil.origin"]
        secure = "; Secure" if origin.startswith("https:") else ""
        age = _DAYS * 24 * 3600
        return (
            f"{cookie_name(origin)}={self._token}; Path=/; Max-Age={age}; HttpOnly;"
            f" SameSite=Strict{secure}"
        )


def cookie_name(origin: str) -> str:
    """Name the cookie of a server: servers on other ports of a machine share its cookies.

    >>> cookie_name("http://127.0.0.1:8765")
    'veil-8765'
    """
    parts = urlsplit(origin)
    return f"veil-{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _outside(scope: Scope) -> Response:
    """Say how to get in."""
    if is_program(scope["path"]):
        raise StatusError(
            401,
            "This needs the token of the page, as 'Authorization: Bearer TOKEN'; run: veil token.",
            www_authenticate="Bearer",
        )
    back: pages.Back = ""
    if is_foreign(scope):  # the cookie is not sent then; it is when our own page leads on
        back = "again" if scope["path"] == "/search" else "home"
    return page(pages.entrance(back=back), 401, _SAY)
