"""Connections with one deadline for all stages, and a limit on the bytes read."""

import base64
import functools
import http.client
import io
import ipaddress
import math
import queue
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from veil.core.errors import ParameterError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


CONNECT = 5.0  # seconds per address of a host
MAX_HEAD = 2**17  # bytes of the response headers


class TooMuchError(Exception):
    """The answer exceeds its size limit."""


class Deadline:
    """The moment by which an exchange must be over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self, most: float = float("inf")) -> float:
        """Return the remaining seconds, at most `most`. Raise `TimeoutError` if there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return min(seconds, most)


NEVER = Deadline(math.inf)


class TimedSocket(io.RawIOBase):
    """A socket that is read and written until the deadline. It does not close the socket.

    At most `most` bytes are read, and at most `MAX_HEAD` of them as response headers.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline, most: int = MAX_HEAD) -> None:
        super().__init__()
        self._sock = sock
        self._deadline = deadline
        self._quota = self._most = most

    def readable(self) -> bool:
        """Return True, as `io` expects of a readable stream."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Read the available bytes. A slow trickle of bytes does not extend the deadline."""
        self._sock.settimeout(self._deadline.remaining())
        count = self._sock.recv_into(buffer)
        self._quota -= count
        if self._quota < 0:
            raise TooMuchError
        return count

    def sendall(self, data: bytes) -> None:
        """Send all of `data`."""
        while data:
            self._sock.settimeout(self._deadline.remaining())
            data = data[self._sock.send(data) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return a buffered reader, as `http.client` expects."""
        del mode  # always bytes, read only
        return io.BufferedReader(self)

    def response(self, method: str) -> http.client.HTTPResponse:
        """Read the response headers."""
        self._quota = MAX_HEAD
        answer = http.client.HTTPResponse(cast(Any, self), method=method)
        try:
            answer.begin()
        except TooMuchError:
            raise http.client.HTTPException from None
        self._quota += self._most - MAX_HEAD
        if (answer.length or 0) > self._most:
            raise TooMuchError
        return answer


class HttpProxy(NamedTuple):
    """An HTTP proxy from the environment."""

    host: str
    port: int
    auth: str  # value of Proxy-Authorization, or ""


def proxy_for(scheme: str, host: str, port: int) -> HttpProxy | None:
    """Return the proxy that the environment names for a host, or None. This machine needs none."""
    if _loopback(host) or urllib.request.proxy_bypass(f"{host}:{port}"):
        return None
    proxies = urllib.request.getproxies()
    url = proxies.get(scheme) or proxies.get("all")
    if not url:
        return None
    try:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        proxy_host, proxy_port = parts.hostname, parts.port or 80
    except ValueError:
        proxy_host = None
    if proxy_host is None or parts.scheme != "http":
        raise ParameterError(
            f"The {scheme} proxy in the environment must have the form http://host:port. Change"
            f" {scheme.upper()}_PROXY, or add the engine's host to NO_PROXY."
        )
    user, password = (
        urllib.parse.unquote(part or "") for part in (parts.username, parts.password)
    )
    return HttpProxy(proxy_host, proxy_port, basic(f"{user}:{password}") if user else "")


def basic(credentials: str) -> str:
    """Return the header value for ``user:password``."""
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def dial(host: str, port: int, deadline: Deadline) -> socket.socket:
    """Connect to the first address of a host that accepts the connection."""
    failure: OSError = OSError()
    for family, kind, protocol, _, address in _addresses(host, port, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(deadline.remaining(CONNECT))
            sock.connect(address)
        except BaseException as error:
            sock.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return sock
    raise failure


def tunnel(
    sock: socket.socket, host: str, port: int, proxy: HttpProxy, deadline: Deadline
) -> bool:
    """Open a tunnel to a host through a proxy. Return False if the proxy refuses."""
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    head = [f"CONNECT {name} HTTP/1.1", f"Host: {name}"]
    head += [f"Proxy-Authorization: {proxy.auth}"] if proxy.auth else []
    timed = TimedSocket(sock, deadline)
    timed.sendall("\r\n".join([*head, "", ""]).encode("ascii"))
    return timed.response("CONNECT").status == 200


def encrypt(sock: socket.socket, host: str, deadline: Deadline) -> ssl.SSLSocket:
    """Return the connection wrapped in TLS, with the certificate verified for `host`."""
    sock.settimeout(deadline.remaining())
    return _context().wrap_socket(sock, server_hostname=host)


@functools.cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


Address = tuple[Any, Any, int, str, Any]


def _addresses(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Look up a host name in a separate thread, because the system's look-up has no timeout."""
    box: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            box.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError):  # UnicodeError: a label too long for a name
            box.put(socket.gaierror(socket.EAI_NONAME, "unknown"))

    threading.Thread(target=look_up, daemon=True).start()
    try:
        answer = box.get(timeout=deadline.remaining())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
