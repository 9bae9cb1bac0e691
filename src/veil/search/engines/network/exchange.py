"""One HTTP exchange on a new connection, without cookies or sessions that link requests.

Messages contain only host and port of the address, and quote neither queries nor answers.
"""

import email.utils
import http.client
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from veil.core.formatting import brief
from veil.search.engines.network.connection import (
    NEVER,
    Deadline,
    HttpProxy,
    TimedSocket,
    TooMuchError,
    dial,
    encrypt,
    proxy_for,
    tunnel,
)
from veil.search.engines.network.remote import EngineAddress, NoAnswer, authorization, target

USER_AGENT = "Mozilla/5.0"  # the most common prefix; reveals neither program nor version
_BYTES = 2**20  # of any answer
_BYTES_PER_ITEM = 40 * 2**10  # a text of MAX_TEXT characters of two bytes
_MOST_BYTES = 64 * 2**20
_AGAIN = (429, 500, 502, 503, 504)
_MEANING = {
    401: "requires credentials. Name their environment variable with 'auth'",
    403: "denies access",
    404: "has nothing at that address. Check the url",
    405: "does not accept this kind of request. Check the url",
    413: "rejects the request as too long",
    414: "rejects the request as too long",
    429: "asks for fewer requests. Lower 'concurrency', or wait",
}


_FAULTS: dict[type[OSError], str] = {  # the first match counts
    ssl.SSLCertVerificationError: "has a certificate that cannot be verified",
    ssl.SSLError: "failed the TLS handshake. Check that it serves https",
    socket.gaierror: "cannot be found: unknown host",
    ConnectionRefusedError: "refuses connections. Check that it is running",
    ConnectionError: "closed the connection without an answer",
}


@brief()
class Answer(NamedTuple):
    """The response to one request."""

    where: str
    status: int
    kind: str  # media type
    wait: float  # seconds, from Retry-After
    body: bytes
    until: Deadline = NEVER  # the deadline for parsing, too


def most_bytes(k: int, megabytes: int = 0) -> int:
    """Return the maximum size in bytes of an answer with `k` items, or of `megabytes` if set."""
    if megabytes:
        return megabytes * 2**20
    return min(_BYTES + _BYTES_PER_ITEM * k, _MOST_BYTES)


def exchange(
    method: str,
    url: str,
    *,
    timeout: float,
    most: int = 2**20,
    auth: str = "",
    body: bytes = b"",
    kind: str = "",
) -> Answer:
    """Send one request and return its answer, with any status except a redirect.

    Raises
    ------
    NoAnswer
        If no usable answer of at most `most` bytes arrives within `timeout` seconds.
    """
    to = target(url)
    proxy = proxy_for(to.scheme, to.host, to.port)
    request = _head(method, to, proxy, kind, len(body), authorization(auth)) + body
    name, deadline, may_have_left = f"The engine at {to.where}", Deadline(timeout), False
    try:
        with _connected(to, proxy, deadline, most) as timed:
            may_have_left = True
            answer = _converse(method, to, timed, request, deadline)
    except TimeoutError:
        late = f"{name} gave no answer within {timeout:g} s."
        raise NoAnswer(late, again=True, sent=may_have_left) from None
    except TooMuchError:
        raise NoAnswer(
            f"{name} answered with more than {most / 2**20:.3g} MB. Check its address, or raise"
            " 'megabytes'."
        ) from None
    except OSError as error:
        raise _unreached(name, error, sent=may_have_left) from None
    except (http.client.HTTPException, ValueError) as error:
        cut = isinstance(error, http.client.IncompleteRead)
        fault = "closed the connection early" if cut else "did not answer with HTTP"
        raise NoAnswer(f"{name} {fault}.", again=cut, sent=may_have_left) from None
    if 300 <= answer.status < 400:
        raise NoAnswer(
            f"{name} redirects to another address ({answer.status}). Redirects are not followed."
            " Use the target address."
        )
    return answer


def require_connection(url: str, timeout: float) -> None:
    """Connect as `exchange` does, without sending a request. Raise `NoAnswer` if that fails."""
    to = target(url)
    name, deadline = f"The engine at {to.where}", Deadline(timeout)
    try:
        with _connected(to, proxy_for(to.scheme, to.host, to.port), deadline, 0):
            return
    except TimeoutError:
        late = f"{name} cannot be reached within {timeout:g} s."
        raise NoAnswer(late, again=True, sent=False) from None
    except OSError as error:
        raise _unreached(name, error, sent=False) from None
    except http.client.HTTPException:
        raise NoAnswer(
            f"The proxy set in the environment did not connect to {to.where}.", sent=False
        ) from None


def accept(answer: Answer, *, code: str = "", hints: dict[int, str] | None = None) -> bytes:
    """Return the body of a successful answer, or raise `NoAnswer` with the meaning of its status.

    `code` is the engine's name for the error; `hints` override the usual meanings.
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
    method: str, to: EngineAddress, proxy: HttpProxy | None, kind: str, size: int, secret: str
) -> bytes:
    """Return the request line and the headers, always the same ones in the same order."""
    via_proxy = proxy is not None and to.scheme == "http"
    lines = [
        f"{method} http://{to.where}{to.path} HTTP/1.1"
        if via_proxy
        else f"{method} {to.path} HTTP/1.1",
        f"Host: {to.where}",
        f"User-Agent: {USER_AGENT}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    lines += [f"Content-Type: {kind}", f"Content-Length: {size}"] if kind else []
    lines += [f"Authorization: {secret}"] if secret else []
    lines += [f"Proxy-Authorization: {proxy.auth}"] if via_proxy and proxy and proxy.auth else []
    return "\r\n".join([*lines, "", ""]).encode("ascii")


@contextmanager
def _connected(
    to: EngineAddress, proxy: HttpProxy | None, deadline: Deadline, most: int
) -> Iterator[TimedSocket]:
    """Connect, with TLS for https. Nothing of the request is sent."""
    at = to if proxy is None else proxy
    with closing(dial(at.host, at.port, deadline)) as sock:
        if to.scheme == "http":
            yield TimedSocket(sock, deadline, most)
            return
        if proxy is not None and not tunnel(sock, to.host, to.port, proxy, deadline):
            raise NoAnswer(
                f"The proxy set in the environment did not connect to {to.where}.", sent=False
            )
        with closing(encrypt(sock, to.host, deadline)) as safe:
            yield TimedSocket(safe, deadline, most)


def _converse(
    method: str, to: EngineAddress, timed: TimedSocket, request: bytes, until: Deadline
) -> Answer:
    timed.sendall(request)
    response = timed.response(method)
    headers = response.headers
    pieces = []
    while piece := response.read(2**16):  # in pieces: Content-Length may be wrong
        pieces.append(piece)
    if response.length:
        raise http.client.IncompleteRead(b"")
    if headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise NoAnswer(
            f"The engine at {to.where} sent a compressed answer, which is not accepted."
        )
    wait = _seconds(headers.get("Retry-After", ""))
    kind, body = headers.get_content_type(), b"".join(pieces)
    return Answer(to.where, response.status, kind, wait, body, until)


def _unreached(name: str, error: OSError, *, sent: bool) -> NoAnswer:
    """Return a `NoAnswer` with the reason why a connection failed."""
    for kind, meaning in _FAULTS.items():
        if isinstance(error, kind):
            again = not isinstance(error, ssl.SSLError)
            return NoAnswer(f"{name} {meaning}.", again=again, sent=sent)
    return NoAnswer(f"{name} cannot be reached. Check the network.", again=True, sent=sent)


def _seconds(retry_after: str) -> float:
    """Return the seconds of a Retry-After header, a number or a date; 0 if it is neither."""
    if retry_after.strip().isdecimal():
        return float(retry_after[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
