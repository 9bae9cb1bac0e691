"""Requests and responses: bodies of a bounded size, security headers, and errors.

Starlette has requests, responses and routes; this module has what it does not:

- Its handler of errors raises them again, so that a server logs message and traceback, which can
  quote a text. Here every error becomes a status and one sentence that quotes nothing, and no
  exception leaves the application.
- It reads a body of any size, for any time. Here both are bounded, and a body that is too long is
  read to an end before it is refused, so that a browser shows the answer.
- It takes a field that is given twice, and JSON with NaN or a name given twice. Two readers of one
  request could then understand it differently, so it is refused here.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NoReturn, cast
from urllib.parse import parse_qsl

import anyio

from veil.core.errors import (
    AssetError,
    BudgetError,
    EngineError,
    GateError,
    LedgerError,
    MissingExtraError,
    RiskError,
    TrustError,
    VeilError,
    error_location,
)
from veil.web import pages

try:
    from starlette.requests import Request as Request
    from starlette.responses import Response as Response
    from starlette.types import ASGIApp as ASGIApp
    from starlette.types import Message as Message
    from starlette.types import Receive as Receive
    from starlette.types import Scope as Scope
    from starlette.types import Send as Send
except ImportError as error:
    raise MissingExtraError("The search page needs Starlette: pip install 'veil[web]'.") from error


Handler = Callable[[Request], Awaitable[Response]]


def page(html: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a page as a response; half a surrogate pair, which cannot be sent, becomes ``?``."""
    return Response(
        html.encode("utf-8", "replace"), status, dict(headers or {}), "text/html; charset=utf-8"
    )


def document(json: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON document as a response."""
    return Response(json, status, dict(headers or {}), "application/json")


def header_values(scope: Scope, name: str) -> list[str]:
    """Return all values of a header: a second one is for the caller to refuse."""
    wanted = name.encode("ascii")
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == wanted]


def is_program(path: str) -> bool:
    """Whether an address is for programs, which are answered in JSON."""
    return path.startswith("/api/") or path == "/openapi.json"


POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS: dict[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # not no-referrer: browsers would then send "Origin: null" with the forms of our own pages
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # browsers would look up the hosts of all results, and so reveal them to others
    "x-dns-prefetch-control": "off",
    "x-robots-tag": "noindex, nofollow",
}
_ENCODED = [(name.encode("ascii"), value.encode("ascii")) for name, value in HEADERS.items()]
_CACHE = (b"cache-control", b"no-store")


class SecurityHeaders:
    """Add the headers to every answer; those that it already has stay."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                names = {name.lower() for name, _ in own}
                more = [pair for pair in (*_ENCODED, _CACHE) if pair[0] not in names]
                message = {**message, "headers": own + more}
            await send(message)

        await self._app(scope, receive, secured)


Kind = Literal["budget", "gate", "risk", "engine", "input", "busy", "server"]

_JUDGED: tuple[tuple[type[VeilError], int, Kind], ...] = (  # the first that fits
    (BudgetError, 403, "budget"),
    (GateError, 403, "gate"),
    (RiskError, 403, "risk"),
    (EngineError, 502, "engine"),
    (AssetError, 500, "server"),
    (LedgerError, 500, "server"),
    (MissingExtraError, 500, "server"),
    (TrustError, 500, "server"),
    (VeilError, 422, "input"),  # a text or a parameter
)


class StatusError(VeilError):
    """A request that is refused, with the status of the answer."""

    def __init__(self, status: int, message: str, kind: Kind = "input", **headers: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class GoneError(VeilError):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """The answer to a request that failed."""

    status: int
    kind: Kind
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


def classify_error(error: Exception) -> ErrorReply:
    """Return the answer for an error."""
    if isinstance(error, StatusError):
        return ErrorReply(error.status, error.kind, str(error), error.headers)
    for family, status, kind in _JUDGED:
        if isinstance(error, family):
            return ErrorReply(status, kind, str(error))
    return ErrorReply(500, "server", f"{error_location(error)}.")


def error_response(verdict: ErrorReply, path: str) -> Response:
    """Return the response: JSON for programs, a page for people."""
    if is_program(path):
        text = json.dumps({"error": verdict.message, "kind": verdict.kind}, ensure_ascii=False)
        return document(text.encode("utf-8", "replace"), verdict.status, verdict.headers)
    return page(pages.error(verdict.status, verdict.message), verdict.status, verdict.headers)


class ErrorHandler:
    """Turn every error of the application into a response.

    `note` receives the place of an unexpected error, for the person who runs the server.
    """

    def __init__(self, app: ASGIApp, note: Callable[[str], None]) -> None:
        self._app, self._note = app, note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and let no error out."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except GoneError:
            return
        except Exception as error:  # noqa: BLE001 - the last line: nothing may pass
            verdict = classify_error(error)
            if verdict.status == 500:
                self._note(verdict.message)
            if not started:
                with suppress(Exception):  # the caller is gone, or the page cannot be made
                    await error_response(verdict, scope["path"])(scope, receive, send)


FORM_BYTES = 128 * 1024  # the longest query, of which every character takes twelve
JSON_BYTES = 1024 * 1024
_DRAIN = 8 * 1024 * 1024  # read and thrown away, so that a browser shows the answer
_FIELDS = 20


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """Return the body of a request, or refuse one that is too long or too slow."""
    body: bytes | None = None
    if _declared(request) <= _DRAIN:
        with anyio.move_on_after(seconds) as waited:
            body = await _read(request, limit)
        if waited.cancelled_caught:
            raise StatusError(
                408, f"The request was not complete after {seconds:g} seconds.", connection="close"
            )
    if body is None:
        raise StatusError(
            413, f"A request may have at most {limit:,} bytes; send less.", connection="close"
        )
    return body


async def _read(request: Request, limit: int) -> bytes | None:
    """Read to the end; None if that is too much."""
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise GoneError
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
        if size > _DRAIN:
            return None
        if size <= limit:
            pieces.append(message.get("body", b""))
    return b"".join(pieces) if size <= limit else None


def _declared(request: Request) -> int:
    lengths = header_values(request.scope, "content-length")
    return int(lengths[0]) if lengths and lengths[0].isdecimal() and len(lengths[0]) < 19 else 0


def require_type(request: Request, wanted: str) -> None:
    """Refuse a body of another type: any site can send the types of plain forms."""
    types = header_values(request.scope, "content-type")
    if len(types) != 1 or types[0].partition(";")[0].strip().lower() != wanted:
        raise StatusError(415, f"The content type of the request must be {wanted}.")


def fields(encoded: bytes) -> dict[str, str]:
    """Read the fields of a form, or of the part of an address after the question mark.

    >>> fields(b"q=caf%C3%A9+noir&stop=3")
    {'q': 'café noir', 'stop': '3'}
    """
    try:
        pairs = parse_qsl(
            encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
    except UnicodeDecodeError:
        raise StatusError(422, "The fields of the request must be text in UTF-8.") from None
    except ValueError:
        raise StatusError(422, f"A request may have at most {_FIELDS} fields.") from None
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise StatusError(422, "Each field of the request may be given once.")
    return unique


def whole_number(text: str, name: str, low: int, high: int) -> int:
    """Read a whole number of a field, or say what it must be."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and low <= int(text) <= high):
        raise StatusError(
            422, f"The field '{name}' must be a whole number from {low} to {high:,}."
        )
    return int(text)


def read_json(body: bytes) -> object:
    """Read JSON by its standard: each name once, no NaN, in UTF-8, not too deep."""
    try:
        return cast(
            object,
            json.loads(body.decode(), object_pairs_hook=_unique, parse_constant=_no_number),
        )
    except StatusError:
        raise
    except UnicodeDecodeError:
        raise StatusError(422, "The request must be JSON in UTF-8.") from None
    except RecursionError:
        raise StatusError(422, "The request is nested too deeply.") from None
    except ValueError:
        raise StatusError(422, "The request must be JSON.") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise StatusError(422, "Each name in an object of the request may be given once.")
    return unique


def _no_number(constant: str) -> NoReturn:
    raise StatusError(422, f"The request must be JSON, which has no {constant}.")
