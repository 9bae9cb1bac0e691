"""Requests and responses: the one place that needs Starlette."""

from collections.abc import Awaitable, Callable, Mapping

from veil.core.errors import MissingExtraError

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
    """Make a response of a page; half a character, which cannot be sent, becomes a question."""
    return Response(
        html.encode("utf-8", "replace"), status, dict(headers or {}), "text/html; charset=utf-8"
    )


def document(json: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Make a response of a JSON document."""
    return Response(json, status, dict(headers or {}), "application/json")


def header_values(scope: Scope, name: str) -> list[str]:
    """Return all values of a header, of which a careful reader expects one at most."""
    wanted = name.encode("ascii")
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == wanted]


def is_program(path: str) -> bool:
    """Tell whether an address is for programs, which are answered in JSON."""
    return path.startswith("/api/") or path == "/openapi.json"
