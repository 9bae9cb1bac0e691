"""One question to a language model over HTTP: on this machine, bounded in bytes and in time.

No message quotes a question, an answer, or more of the address than its host.
"""

import http.client
import ipaddress
import json
import ssl
import threading
import time
import urllib.parse
from contextlib import closing, suppress
from typing import Any, NamedTuple

from veil.core.errors import EngineError, ParameterError

MAX_ANSWER = 2**18  # bytes
_PIECE = 2**14


class SilentError(EngineError):
    """A question had no answer that can be used."""


class Address(NamedTuple):
    """Where questions go."""

    scheme: str
    host: str
    port: int
    path: str


def address(url: str, allowed: str = "") -> Address:
    """Take an address apart; a host that is not this machine must be the one that is allowed."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise ParameterError(
            "The 'url' parameter of judge must be an address such as http://127.0.0.1:8080/v1,"
            " without a user or a password."
        )
    if not here(host) and host != allowed.lower():
        raise ParameterError(
            "The 'url' parameter of judge must be of this machine (127.0.0.1, ::1 or localhost):"
            " variants and queries of the log are sent to it. To send them to another host, name"
            " that host in 'send_texts_to'."
        )
    usual = 443 if parts.scheme == "https" else 80
    path = urllib.parse.quote(parts.path.rstrip("/"), safe="/%:") + "/chat/completions"
    return Address(parts.scheme, host, port or usual, path)


def here(host: str) -> bool:
    """Tell whether a host is this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def ask(to: Address, question: dict[str, Any], seconds: float) -> str:
    """Send one question, and return the text of the answer."""
    kind = http.client.HTTPSConnection if to.scheme == "https" else http.client.HTTPConnection
    ends = time.monotonic() + seconds
    connection = kind(to.host, to.port, timeout=seconds)  # it knows no proxy, and no redirect
    try:
        with closing(connection):
            status, body = _exchange(connection, to, json.dumps(question).encode(), ends)
    except (OSError, http.client.HTTPException, ValueError) as error:
        late = isinstance(error, TimeoutError) or time.monotonic() >= ends
        raise SilentError(_unreached(error, seconds, late=late)) from None
    if status != 200:
        raise SilentError(f"The endpoint answered with the status {status}.")
    return _content(body)


def _exchange(
    connection: http.client.HTTPConnection, to: Address, body: bytes, ends: float
) -> tuple[int, bytes]:
    connection.connect()
    peer = connection.sock.getpeername()[0]
    if here(to.host) and not here(str(peer)):  # nothing was sent yet
        raise SilentError("The name of the endpoint does not lead to this machine.")
    stop = threading.Timer(max(0.0, ends - time.monotonic()), _cut, [connection.sock])
    stop.start()  # a byte now and then does not put the end off
    try:
        connection.request("POST", to.path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        pieces, left = [], MAX_ANSWER
        while piece := answer.read(_PIECE):
            left -= len(piece)
            if left < 0:
                raise SilentError(f"The answer has more than {MAX_ANSWER // 2**10} kB.")
            pieces.append(piece)
    finally:
        stop.cancel()
    if answer.length or time.monotonic() >= ends:
        raise TimeoutError if time.monotonic() >= ends else http.client.IncompleteRead(b"")
    return answer.status, b"".join(pieces)


def _cut(sock: Any) -> None:  # noqa: ANN401 - a socket, encrypted or not
    with suppress(OSError):
        sock.shutdown(2)


def _content(body: bytes) -> str:
    try:
        found = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise SilentError("The answer is not that of an OpenAI-compatible endpoint.")
    return found


def _unreached(error: Exception, seconds: float, *, late: bool) -> str:
    if late:
        return f"The endpoint gave no answer within {seconds:g} s."
    if isinstance(error, ConnectionRefusedError):
        return "The endpoint refuses connections; check that it runs."
    if isinstance(error, ssl.SSLError):
        return "The endpoint does not speak TLS as it should."
    if isinstance(error, OSError):
        return "The endpoint cannot be reached, or closed the connection."
    return "The endpoint answered with something that is not HTTP, or broke off."
