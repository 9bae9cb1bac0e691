"""One HTTP exchange over a connection of its own: no cookies, no session, nothing to link by.

Messages name the host and nothing else of the address; neither a query nor an answer is quoted.
"""

import email.utils
import http.client
import socket
import ssl
import time
from contextlib import closing
from typing import NamedTuple

from veil.retrieval.engines._address import Target, authorization, target
from veil.retrieval.engines._network import NoAnswer
from veil.retrieval.engines._wire import (
    MAX_BYTES,
    Deadline,
    Proxy,
    Timed,
    TooMuchError,
    dial,
    encrypt,
    proxy_for,
    tunnel,
)

USER_AGENT = "Mozilla/5.0"  # the commonest beginning of all; tells neither program nor version
_AGAIN = (429, 500, 502, 503, 504)
_MEANING = {
    401: "wants credentials; name the variable that holds them with 'auth'",
    403: "denies access",
    404: "has nothing at that address; check the url",
    405: "does not take this kind of request; check the url",
    413: "finds the request too long",
    414: "finds the request too long",
    429: "asks for fewer requests; lower 'concurrency', or wait",
}


class Answer(NamedTuple):
    """What came back."""

    where: str
    status: int
    kind: str  # media type
    wait: float  # seconds asked for by Retry-After
    body: bytes


def exchange(
    method: str, url: str, *, timeout: float, auth: str = "", body: bytes = b"", kind: str = ""
) -> Answer:
    """Send one request and return its answer, whatever its status but a redirect.

    Raises
    ------
    NoAnswer
        If there is none, or none that can be used.
    """
    to = target(url)
    proxy = proxy_for(to.scheme, to.host, to.port)
    request = _head(method, to, proxy, kind, len(body), authorization(auth)) + body
    name = f"The engine at {to.where}"
    try:
        answer = _exchange(method, to, proxy, request, Deadline(timeout))
    except TimeoutError:
        raise NoAnswer(f"{name} gave no answer within {timeout:g} s.", again=True) from None
    except TooMuchError:
        raise NoAnswer(f"{name} answered with more than {MAX_BYTES // 2**20} MB.") from None
    except OSError as error:
        raise _unreached(name, error) from None
    except (http.client.HTTPException, ValueError) as error:
        cut = isinstance(error, http.client.IncompleteRead)
        fault = "broke its answer off" if cut else "answered with something that is not HTTP"
        raise NoAnswer(f"{name} {fault}.", again=cut) from None
    if 300 <= answer.status < 400:
        raise NoAnswer(
            f"{name} redirects to another address ({answer.status}), which is not followed; give"
            " the address it leads to."
        )
    return answer


def accept(answer: Answer, *, code: str = "", hints: dict[int, str] | None = None) -> bytes:
    """Return the body of an answer that is a success, or raise what its status means.

    `code` is the engine's own name for the fault; `hints` replace the usual meanings.
    """
    if 200 <= answer.status < 300:
        return answer.body
    usual = "failed" if answer.status >= 500 else "refused the request"
    meaning = (_MEANING | (hints or {})).get(answer.status, usual)
    detail = f"{answer.status}, {code}" if code else f"{answer.status}"
    raise NoAnswer(
        f"The engine at {answer.where} answered {detail}: it {meaning}.",
        again=answer.status in _AGAIN,
        wait=answer.wait,
    )


def _head(
    method: str, to: Target, proxy: Proxy | None, kind: str, size: int, secret: str
) -> bytes:
    """Return all headers there ever are, always in this order."""
    plain = proxy is not None and to.scheme == "http"
    lines = [
        f"{method} http://{to.where}{to.path} HTTP/1.1"
        if plain
        else f"{method} {to.path} HTTP/1.1",
        f"Host: {to.where}",
        f"User-Agent: {USER_AGENT}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    lines += [f"Content-Type: {kind}", f"Content-Length: {size}"] if kind else []
    lines += [f"Authorization: {secret}"] if secret else []
    lines += [f"Proxy-Authorization: {proxy.auth}"] if plain and proxy and proxy.auth else []
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _exchange(
    method: str, to: Target, proxy: Proxy | None, request: bytes, deadline: Deadline
) -> Answer:
    at = to if proxy is None else proxy
    with closing(dial(at.host, at.port, deadline)) as sock:
        if to.scheme == "http":
            return _converse(method, to, sock, request, deadline)
        if proxy is not None and not tunnel(sock, to.host, to.port, proxy, deadline):
            raise NoAnswer(f"The proxy of the environment does not lead to {to.where}.")
        with closing(encrypt(sock, to.host, deadline)) as safe:
            return _converse(method, to, safe, request, deadline)


def _converse(
    method: str, to: Target, sock: socket.socket, request: bytes, deadline: Deadline
) -> Answer:
    timed = Timed(sock, deadline)
    timed.sendall(request)
    response = timed.response(method)
    headers = response.headers
    if (response.length or 0) > MAX_BYTES:
        raise TooMuchError
    pieces = []
    while piece := response.read(2**16):  # in pieces: a length that is announced may be a lie
        pieces.append(piece)
    if response.length:
        raise http.client.IncompleteRead(b"")
    if headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise NoAnswer(f"The engine at {to.where} compressed its answer without being asked to.")
    wait = _seconds(headers.get("Retry-After", ""))
    return Answer(to.where, response.status, headers.get_content_type(), wait, b"".join(pieces))


def _unreached(name: str, error: OSError) -> NoAnswer:
    """Say why a connection failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return NoAnswer(f"{name} shows a certificate that cannot be verified.")
    if isinstance(error, ssl.SSLError):
        return NoAnswer(
            f"{name} does not speak TLS as it should; check that its address is https."
        )
    if isinstance(error, socket.gaierror):
        return NoAnswer(f"{name} cannot be found: no such host is known.", again=True)
    if isinstance(error, ConnectionRefusedError):
        return NoAnswer(f"{name} refuses connections; check that it runs.", again=True)
    if isinstance(error, ConnectionError):
        return NoAnswer(f"{name} closed the connection without an answer.", again=True)
    return NoAnswer(f"{name} cannot be reached; check the network.", again=True)


def _seconds(retry_after: str) -> float:
    """Read a number of seconds or a date; 0 for neither."""
    if retry_after.strip().isdecimal():
        return float(retry_after[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
