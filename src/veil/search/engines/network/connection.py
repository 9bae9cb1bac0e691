"""Connections that end with a deadline, at whatever stage, and read no more than a limit."""

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


CONNECT = 5.0  # seconds for one address of a host
MAX_HEAD = 2**17  # bytes of the head of an answer


class TooMuchError(Exception):
    """More came than is read."""


class Deadline:
    """The moment by which an exchange must be over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float = float("inf")) -> float:
        """Return the seconds left, at most `most`; raise when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, most)


NEVER = Deadline(math.inf)


class TimedSocket(io.RawIOBase):
    """A socket, read and written until the deadline; it does not close the socket.

    No more than `most` bytes are read, and of these no more than a few as the head of an answer.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline, most: int = MAX_HEAD) -> None:
        super().__init__()
        self._sock = sock
        self._deadline = deadline
        self._left = self._most = most

    def readable(self) -> bool:
        """Tell `io` that this can be read."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Read what there is; a byte now and then does not put the deadline off."""
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise TooMuchError
        return count

    def sendall(self, data: bytes) -> None:
        """Send everything."""
        while data:
            self._sock.settimeout(self._deadline.left())
            data = data[self._sock.send(data) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        """Give `http.client` something to read lines from."""
        del mode  # always bytes, read only
        return io.BufferedReader(self)

    def response(self, method: str) -> http.client.HTTPResponse:
        """Read the head of an answer."""
        self._left = MAX_HEAD
        answer = http.client.HTTPResponse(cast(Any, self), method=method)
        try:
            answer.begin()
        except TooMuchError:
            raise http.client.HTTPException from None
        self._left += self._most - MAX_HEAD
        if (answer.length or 0) > self._most:
            raise TooMuchError
        return answer


class HttpProxy(NamedTuple):
    """A proxy of the environment."""

    host: str
    port: int
    auth: str  # value of Proxy-Authorization, or nothing


def proxy_for(scheme: str, host: str, port: int) -> HttpProxy | None:
    """Return the proxy that the environment names for a host; none for this machine."""
    if _loopback(host) or urllib.request.proxy_bypass(f"{host}:{port}"):
        return None
    named = urllib.request.getproxies()
    url = named.get(scheme) or named.get("all")
    if not url:
        return None
    try:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        found, at = parts.hostname, parts.port or 80
    except ValueError:
        found = None
    if found is None or parts.scheme != "http":
        raise ParameterError(
            f"The {scheme} proxy of the environment must be of the form http://host:port; change"
            f" {scheme.upper()}_PROXY, or name the engine's host in NO_PROXY."
        )
    user, password = (
        urllib.parse.unquote(part or "") for part in (parts.username, parts.password)
    )
    return HttpProxy(found, at, basic(f"{user}:{password}") if user else "")


def basic(credentials: str) -> str:
    """Return the header value for ``user:password``."""
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def dial(host: str, port: int, deadline: Deadline) -> socket.socket:
    """Connect to the first address of a host that takes the connection."""
    failure: OSError = OSError()
    for family, kind, protocol, _, address in _addresses(host, port, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(deadline.left(CONNECT))
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
    """Ask a proxy to pass everything on to a host; False if it will not."""
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    head = [f"CONNECT {name} HTTP/1.1", f"Host: {name}"]
    head += [f"Proxy-Authorization: {proxy.auth}"] if proxy.auth else []
    timed = TimedSocket(sock, deadline)
    timed.sendall("\r\n".join([*head, "", ""]).encode("ascii"))
    return timed.response("CONNECT").status == 200


def encrypt(sock: socket.socket, host: str, deadline: Deadline) -> ssl.SSLSocket:
    """Wrap a connection in TLS and check whose certificate it is."""
    sock.settimeout(deadline.left())
    return _context().wrap_socket(sock, server_hostname=host)


@functools.cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


Address = tuple[Any, Any, int, str, Any]


def _addresses(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Look a name up in a thread of its own: the system's look-up knows no deadline."""
    box: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            box.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError):  # UnicodeError: a label too long for a name
            box.put(socket.gaierror(socket.EAI_NONAME, "unknown"))

    threading.Thread(target=look_up, daemon=True).start()
    try:
        found = box.get(timeout=deadline.left())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, OSError):
        raise found
    return found


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
