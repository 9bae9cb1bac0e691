"""Requests and responses: bounded bodies, security headers, and errors.

This module adds what Starlette lacks:

- Starlette raises errors again, so that a server logs message and traceback, which can
  quote a text. Here every error becomes a status and one sentence that quotes nothing, and no
  exception leaves the application.
- Starlette reads bodies of any size, for any time. Here both are bounded, and a body that is
  too long is read to its end before it is refused, so that a browser shows the answer.
- Starlette accepts repeated fields, and JSON with NaN or repeated names. Two readers of one
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
    """Return a page as a response; lone surrogates, which cannot be sent, become ``?``."""
    return Response(
        html.encode("utf-8", "replace"), status, dict(headers or {}), "text/html; charset=utf-8"
    )


def document(json: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON document as a response."""
    return Response(json, status, dict(headers or {}), "application/json")


def header_values(scope: Scope, name: str) -> list[str]:
    """Return all values of a header, so that the caller can reject repetitions."""
    key_bytes = name.encode("ascii")
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == key_bytes]


def is_program(path: str) -> bool:
    """Return whether an address is for programs, which get JSON."""
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
    # not no-referrer: browsers would send "Origin: null" with the forms of our own pages
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # browsers would look up the hosts of all results, and so reveal them
    "x-dns-prefetch-control": "off",
    "x-robots-tag": "noindex, nofollow",
}
_ENCODED = [(name.encode("ascii"), value.encode("ascii")) for name, value in HEADERS.items()]
_CACHE = (b"cache-control", b"no-store")


class SecurityHeaders:
    """Adds the security headers to every response that lacks them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                names = {name.lower() for name, _ in own}
                more = [pair for pair in (*_ENCODED, _CACHE) if pair[0] not in names]
                message = {**message, "headers": own + more}
            await send(message)

        await self._app(scope, receive, secured)


Kind = Literal["budget", "gate", "risk", "engine", "input", "busy", "server"]

_JUDGED: tuple[tuple[type[VeilError], int, Kind], ...] = (  # the first match counts
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
    """A rejected request, with the status of the response."""

    def __init__(self, status: int, message: str, kind: Kind = "input", **headers: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class GoneError(VeilError):
    """The client has disconnected."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """The response to a request that failed."""

    status: int
    kind: Kind
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


def classify_error(error: Exception) -> ErrorReply:
    """Return the response for an error."""
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
    """Turns every error of the application into a response.

    `note` receives the location of an unexpected error, for the operator of the server.
    """

    def __init__(self, app: ASGIApp, note: Callable[[str], None]) -> None:
        self._app, self._note = app, note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request without raising anything."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except GoneError:
            return
        except Exception as error:  # noqa: BLE001 - no exception may leave the application
            verdict = classify_error(error)
            if verdict.status == 500:
                self._note(verdict.message)
            if not started:
                with suppress(Exception):  # the client is gone, or the page cannot be rendered
                    await error_response(verdict, scope["path"])(scope, receive, send)


FORM_BYTES = 128 * 1024  # the longest query, at twelve bytes per character
JSON_BYTES = 1024 * 1024
_DRAIN = 8 * 1024 * 1024  # read and discarded, so that a browser shows the answer
_FIELDS = 20


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """Return the body of a request, or reject it if it is too long or too slow."""
    body: bytes | None = None
    if _declared(request) <= _DRAIN:
        with anyio.move_on_after(seconds) as waited:
            body = await _read(request, limit)
        if waited.cancelled_caught:
            raise StatusError(
                408,
                f"The request must arrive within {seconds:g} seconds. Send it again.",
                connection="close",
            )
    if body is None:
        raise StatusError(
            413, f"A request must have at most {limit:,} bytes. Send less.", connection="close"
        )
    return body


async def _read(request: Request, limit: int) -> bytes | None:
    """Read to the end; None if the body is too long."""
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


def require_type(request: Request, expected: str) -> None:
    """Reject a body of another type, because any site can send the types of plain forms."""
    types = header_values(request.scope, "content-type")
    if len(types) != 1 or types[0].partition(";")[0].strip().lower() != expected:
        raise StatusError(415, f"The content type of the request must be {expected}.")


def fields(encoded: bytes) -> dict[str, str]:
    """Parse the fields of a form or of a query string.

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
        raise StatusError(422, f"A request must have at most {_FIELDS} fields.") from None
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise StatusError(422, "Each field of the request must be given only once.")
    return unique


def whole_number(text: str, name: str, low: int, high: int) -> int:
    """Return the integer in a field, or reject it with its bounds."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and low <= int(text) <= high):
        raise StatusError(422, f"The field '{name}' must be an integer from {low} to {high:,}.")
    return int(text)


def read_json(body: bytes) -> object:
    """Parse JSON strictly: UTF-8, unique names, no NaN, limited depth."""
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
        raise StatusError(422, "The request must not be nested so deeply.") from None
    except ValueError:
        raise StatusError(422, "The request must be JSON.") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise StatusError(422, "Each name in an object of the request must be given only once.")
    return unique


def _no_number(constant: str) -> NoReturn:
    raise StatusError(422, f"The request must be JSON, which has no {constant}.")
