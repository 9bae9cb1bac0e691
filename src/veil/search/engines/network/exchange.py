"""One HTTP exchange over a connection of its own: no cookies, no session, nothing to link by.

Messages name the host and nothing else of the address; neither a query nor an answer is quoted.
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

USER_AGENT = "Mozilla/5.0"  # the commonest beginning of all; tells neither program nor version
_BYTES = 2**20  # of any answer
_BYTES_PER_ITEM = 40 * 2**10  # a text of MAX_TEXT characters of two bytes
_MOST_BYTES = 64 * 2**20
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


_FAULTS: dict[type[OSError], str] = {  # the first that fits
    ssl.SSLCertVerificationError: "shows a certificate that cannot be verified",
    ssl.SSLError: "does not speak TLS as it should; check that its address is https",
    socket.gaierror: "cannot be found: no such host is known",
    ConnectionRefusedError: "refuses connections; check that it runs",
    ConnectionError: "closed the connection without an answer",
}


@brief()
class Answer(NamedTuple):
    """What came back."""

    where: str
    status: int
    kind: str  # media type
    wait: float  # seconds asked for by Retry-After
    body: bytes
    until: Deadline = NEVER  # by which it must be read, too


def most_bytes(k: int, megabytes: int = 0) -> int:
    """Return how many bytes an answer of `k` items may have, unless the user says how many."""
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
    """Send one request and return its answer, whatever its status but a redirect.

    `most` is how many bytes are read at most.

    Raises
    ------
    NoAnswer
        If there is none, or none that can be used.
    """
    to = target(url)
    proxy = proxy_for(to.scheme, to.host, to.port)
    request = _head(method, to, proxy, kind, len(body), authorization(auth)) + body
    name, deadline, sent = f"The engine at {to.where}", Deadline(timeout), False
    try:
        with _connected(to, proxy, deadline, most) as timed:
            sent = True  # from here on some of it may have left
            answer = _converse(method, to, timed, request, deadline)
    except TimeoutError:
        late = f"{name} gave no answer within {timeout:g} s."
        raise NoAnswer(late, again=True, sent=sent) from None
    except TooMuchError:
        raise NoAnswer(
            f"{name} answered with more than {most / 2**20:.3g} MB, which is not read; check its"
            " address, or the 'megabytes' parameter."
        ) from None
    except OSError as error:
        raise _unreached(name, error, sent=sent) from None
    except (http.client.HTTPException, ValueError) as error:
        cut = isinstance(error, http.client.IncompleteRead)
        fault = "broke its answer off" if cut else "answered with something that is not HTTP"
        raise NoAnswer(f"{name} {fault}.", again=cut, sent=sent) from None
    if 300 <= answer.status < 400:
        raise NoAnswer(
            f"{name} redirects to another address ({answer.status}), which is not followed; give"
            " the address it leads to."
        )
    return answer


def require_connection(url: str, timeout: float) -> None:
    """Connect as `exchange` does, and send nothing; raise `NoAnswer` where that fails."""
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
            f"The proxy of the environment does not lead to {to.where}.", sent=False
        ) from None


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
    method: str, to: EngineAddress, proxy: HttpProxy | None, kind: str, size: int, secret: str
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


@contextmanager
def _connected(
    to: EngineAddress, proxy: HttpProxy | None, deadline: Deadline, most: int
) -> Iterator[TimedSocket]:
    """Connect, encrypted where the address says so; nothing of the request is sent yet."""
    at = to if proxy is None else proxy
    with closing(dial(at.host, at.port, deadline)) as sock:
        if to.scheme == "http":
            yield TimedSocket(sock, deadline, most)
            return
        if proxy is not None and not tunnel(sock, to.host, to.port, proxy, deadline):
            raise NoAnswer(
                f"The proxy of the environment does not lead to {to.where}.", sent=False
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
    while piece := response.read(2**16):  # in pieces: a length that is announced may be a lie
        pieces.append(piece)
    if response.length:
        raise http.client.IncompleteRead(b"")
    if headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise NoAnswer(f"The engine at {to.where} compressed its answer without being asked to.")
    wait = _seconds(headers.get("Retry-After", ""))
    kind, body = headers.get_content_type(), b"".join(pieces)
    return Answer(to.where, response.status, kind, wait, body, until)


def _unreached(name: str, error: OSError, *, sent: bool) -> NoAnswer:
    """Say why a connection failed."""
    for kind, meaning in _FAULTS.items():
        if isinstance(error, kind):
            again = not isinstance(error, ssl.SSLError)
            return NoAnswer(f"{name} {meaning}.", again=again, sent=sent)
    return NoAnswer(f"{name} cannot be reached; check the network.", again=True, sent=sent)


def _seconds(retry_after: str) -> float:
    """Read a number of seconds or a date; 0 for neither."""
    if retry_after.strip().isdecimal():
        return float(retry_after[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
