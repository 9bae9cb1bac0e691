"""Access control: only our own pages, a person at the browser, and programs with the token.

Every page open in the browser can reach a server on the loopback address. These headers,
which browsers send and pages cannot forge, protect it:

- ``Host`` must be one of ours; otherwise another site points its name to this machine.
- ``Origin``, if present, must be our own.
- ``Sec-Fetch-Site`` must say that no other site started the request, unless it opens a page.

A request without any of them comes from a program, which is not bound by these rules anyway.
Starlette's TrustedHostMiddleware checks only the first, and accepts several of them in one
request.

Callers also need the token of this installation. A browser sends it once, in a URL or
a form, and gets a cookie that no script can read and no other site can make it send. A program
sends the token with each request, as ``Authorization: Bearer``. Everybody else sees a plain page
that explains how to get in.

Browsers send a cookie to every port of a machine, so a server of another user can obtain it. If
the system reveals the owner of a connection (`veil.web.peers`), the cookie is useless to other
users: their connections are refused, whatever they send.
"""

import hmac
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from veil.core.errors import ParameterError
from veil.web import pages
from veil.web.messages import (
    ASGIApp,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    StatusError,
    fields,
    header_values,
    is_program,
    page,
    read_body,
    require_type,
)
from veil.web.peers import is_other_user
from veil.web.token import check_token

KEPT = "veil.stranger"  # key of the connection's owner in the state of its requests
STRANGER = "Another user of this machine made this request, so it was refused."


def is_stranger(scope: Scope) -> bool:
    """Return whether another user of this machine sent a request."""
    stranger = scope.get("state", {}).get(KEPT)
    return bool(
        is_other_user(scope.get("client"), scope.get("server")) if stranger is None else stranger
    )


HEAD_BYTES = 256 * 1024  # a URL may contain the longest query, percent-encoded
_AHEAD = ("prefetch", "prerender", "preview")
_OURS = ("none", "same-origin")  # the person, or our own page
_OPEN = ("/opensearch.xml", "/favicon.ico")  # fetched by the browser; they reveal nothing
_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._:[]")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def origins(hosts: Iterable[str]) -> dict[str, str]:
    """Return the accepted values of ``Host``, each with the origin of its pages.

    >>> origins(["localhost:8765", "https://veil.example"])
    {'localhost:8765': 'http://localhost:8765', 'veil.example': 'https://veil.example'}
    """
    accepted = {}
    for host in hosts:
        origin = host.lower() if "://" in host else f"http://{host.lower()}"
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc}":
            raise ParameterError(
                "An allowed host must be a name, name:port or https://name:port, without a path."
            )
        if not parts.netloc or not set(parts.netloc) <= _HOST or not parts.hostname:
            raise ParameterError("An allowed host must be a name or an address, in ASCII.")
        accepted[parts.netloc] = origin
    return accepted


def host_names(names: Iterable[str], port: int) -> list[str]:
    """Return names as browsers write them in ``Host``, with the port unless they have one.

    >>> host_names(["localhost", "https://veil.example"], 8765)
    ['localhost:8765', 'https://veil.example']
    """
    hosts = []
    for name in names:
        bare = name.rpartition("]")[2]
        if "://" in name or ":" in bare:
            hosts.append(name)
            continue
        hosts.append(f"{name}:{port}")
        if port == 80:  # which browsers leave out
            hosts.append(name)
    return hosts


class Guard:
    """Rejects requests started by other sites, before any route sees them."""

    def __init__(self, app: ASGIApp, known: Mapping[str, str]) -> None:
        self._app, self._known = app, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] != "http":
            return
        _check_head(scope)
        scope["veil.origin"] = self._origin(scope)
        _check_origin(scope)
        _check_site(scope)
        if any(word in value.lower() for value in _purposes(scope) for word in _AHEAD):
            raise StatusError(403, "Pages must not be prefetched. Open the address instead.")
        await self._app(scope, receive, send)

    def _origin(self, scope: Scope) -> str:
        """Return the origin of our pages under the requested name."""
        hosts = header_values(scope, "host")
        if len(hosts) != 1:
            raise StatusError(400, f"A request must name one host. Got {len(hosts)} instead.")
        if hosts[0].lower() not in self._known:
            raise StatusError(
                421,
                "The host must be a name of this server. Open the address printed when it"
                " started, or add the name with --allow-host.",
            )
        return self._known[hosts[0].lower()]


def _check_head(scope: Scope) -> None:
    """Reject a head that is too long, or that other programs may parse differently."""
    lines = [len(name) + len(value) + 4 for name, value in scope["headers"]]  # ": ", line break
    target = len(scope.get("raw_path", b"")) + len(scope["query_string"])
    target += bool(scope["query_string"])  # the question mark
    if len(f"{scope['method']}  HTTP/1.1\r\n\r\n") + target + sum(lines) > HEAD_BYTES:
        raise StatusError(
            431,
            f"The head of a request must have at most {HEAD_BYTES:,} bytes. Send less.",
            connection="close",
        )
    coded = header_values(scope, "transfer-encoding")
    if coded and (header_values(scope, "content-length") or scope.get("http_version") == "1.0"):
        raise StatusError(
            400, "The request must give its length only once.",
            connection="close",
        )  # fmt: skip


def is_cross_site(scope: Scope) -> bool:
    """Return whether another site may have started a request that opens a page.

    Browsers report it on trusted connections: loopback, or TLS. On others it is unknown, and the
    answer is True.
    """
    sites = header_values(scope, "sec-fetch-site")
    return not _is_ours(sites) if sites else _is_referred(scope) or not _is_trusted(scope)


def is_followed_link(scope: Scope) -> bool:
    """Return whether a page led here, even our own: an engine's result may be a link."""
    return is_cross_site(scope) or header_values(scope, "sec-fetch-site") == ["same-origin"]


def _is_ours(sites: list[str]) -> bool:
    return len(sites) == 1 and sites[0] in _OURS


def _is_trusted(scope: Scope) -> bool:
    return str(scope["veil.origin"]).startswith("https:") or has_local_host(scope)


def has_local_host(scope: Scope) -> bool:
    """Return whether the request names this machine, rather than a proxy in front of it."""
    host = str(scope["veil.origin"]).partition("://")[2]
    return host in LOOPBACK or host.rpartition(":")[0] in LOOPBACK


def _is_referred(scope: Scope) -> bool:
    """Return whether the referring page is on another site."""
    return any(
        not f"{address}/".startswith(f"{scope['veil.origin']}/")
        for address in header_values(scope, "referer")
    )


def _check_origin(scope: Scope) -> None:
    """Reject forms and scripts of other sites."""
    values = header_values(scope, "origin")
    # a page that sends no referrer hides its origin, too, but cannot forge Sec-Fetch-Site
    own = header_values(scope, "sec-fetch-site") == ["same-origin"]
    if values and values != [scope["veil.origin"]] and not (own and values == ["null"]):
        raise _foreign()


def _check_site(scope: Scope) -> None:
    """Reject requests started by other sites, except those that only open a page.

    Opening a page reveals nothing to the other site.
    """
    sites = header_values(scope, "sec-fetch-site")
    reads = scope["method"] in ("GET", "HEAD")
    if not sites:
        if not reads and _is_referred(scope):  # older browsers
            raise _foreign()
        return
    if _is_ours(sites) or (reads and scope["path"] in _OPEN):
        return
    opens = header_values(scope, "sec-fetch-mode") == ["navigate"]
    if not (reads and opens) or is_program(scope["path"]):
        raise _foreign()


def _foreign() -> StatusError:
    return StatusError(403, "Another site started this request, so it was refused.")


def _purposes(scope: Scope) -> list[str]:
    names = ("sec-purpose", "purpose", "x-moz", "x-purpose", "moz-purpose")
    return [value for name in names for value in header_values(scope, name)]


ENTER = "/enter"
OPEN = frozenset(  # the same for everybody; they reveal nothing
    ("/favicon.ico", "/opensearch.xml", "/robots.txt", "/static/icon.svg", "/static/page.css")
)
_DAYS = 90
_FORMS = 16  # read concurrently
_FORM_BYTES = 4_096
_SAY = {"www-authenticate": "Bearer"}


class Entrance:
    """Lets only requests with the token pass."""

    def __init__(self, app: ASGIApp, token: str, patience: float) -> None:
        self._app, self._patience = app, patience
        self._token = check_token(token)
        self._reading = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if has_local_host(scope) and is_stranger(scope):
            raise StatusError(403, STRANGER)
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
            form = await self._form(request)
        elif request.method in ("GET", "HEAD"):
            form = fields(scope["query_string"])
        else:
            allowed = "GET, HEAD, POST"
            raise StatusError(405, f"This address takes {allowed} only.", allow=allowed)
        text = form.get("token", "").rpartition("token=")[2].strip()  # or the whole address
        if not self._fits(text):
            return page(pages.entrance(wrong=bool(text)), 401, _SAY)
        headers = {"set-cookie": self._cookie(scope), "referrer-policy": "no-referrer"}
        if is_cross_site(scope):  # led on from there the browser would not send the cookie yet
            return page(pages.entered(), 200, headers)
        return Response(None, 303, {"location": "/", **headers})

    async def _form(self, request: Request) -> dict[str, str]:
        """Read the form; few are read concurrently, because anybody can send one slowly."""
        require_type(request, "application/x-www-form-urlencoded")
        if self._reading >= _FORMS:
            raise StatusError(
                503,
                "Too many token forms are being sent. Try again in ten seconds.",
                "busy",
                retry_after="10",
            )
        self._reading += 1
        try:
            return fields(await read_body(request, _FORM_BYTES, self._patience))
        finally:
            self._reading -= 1

    def _has_token(self, scope: Scope) -> bool:
        for header in header_values(scope, "authorization"):
            scheme, _, value = header.partition(" ")
            if scheme.lower() == "bearer" and self._fits(value.strip()):
                return True
        own = cookie_name(scope["veil.origin"])
        cookies = ";".join(header_values(scope, "cookie")).split(";")
        pairs = [cookie.strip().partition("=") for cookie in cookies]
        return any(name == own and self._fits(value) for name, _, value in pairs)

    def _fits(self, text: str) -> bool:
        """Compare in a time that reveals nothing about the token."""
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token.encode())

    def _cookie(self, scope: Scope) -> str:
        origin = scope["veil.origin"]
        secure = "; Secure" if origin.startswith("https:") else ""
        age = _DAYS * 24 * 3600
        return (
            f"{cookie_name(origin)}={self._token}; Path=/; Max-Age={age}; HttpOnly;"
            f" SameSite=Strict{secure}"
        )


def cookie_name(origin: str) -> str:
    """Return a server's cookie name with its port, because all ports share cookies.

    >>> cookie_name("http://127.0.0.1:8765")
    'veil-8765'
    """
    parts = urlsplit(origin)
    return f"veil-{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _outside(scope: Scope) -> Response:
    """Return the page or error that explains how to get in."""
    if is_program(scope["path"]):
        raise StatusError(
            401,
            (
                "The request must have the token of the page, as 'Authorization: Bearer TOKEN'."
                " Run: veil token."
            ),
            www_authenticate="Bearer",
        )
    back: pages.Back = ""
    if is_cross_site(scope):  # browsers withhold the cookie until our own page leads on
        back = "again" if scope["path"] == "/search" else "home"
    return page(pages.entrance(back=back), 401, _SAY)
