"""A server that keeps every byte it is sent, and a detector of leaks."""

import base64
import json
import re
import socket
import struct
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self


class Wire:
    """One connection, seen from the server; what is read is recorded."""

    def __init__(
        self,
        sock: socket.socket,
        record: Callable[[bytes], None],
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        self.sock = sock
        self._record, self._answered = record, answered
        self._held = b""

    def more(self) -> None:
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionError
        self._record(data)
        self._held += data

    def exactly(self, count: int) -> bytes:
        while len(self._held) < count:
            self.more()
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    def until(self, mark: bytes) -> bytes:
        while mark not in self._held:
            self.more()
        return self.exactly(self._held.index(mark) + len(mark))

    def send(self, data: bytes) -> None:
        self._answered()  # before: who has the answer may ask again at once
        self.sock.sendall(data)

    def drip(self, data: bytes, pause: float = 0.05, most: float = 120.0) -> None:
        """Send byte by byte, for ever as far as a client is concerned."""
        end = time.monotonic() + most
        for byte in data * 1000:
            if time.monotonic() > end:
                return
            self.send(bytes([byte]))
            time.sleep(pause)

    def wait(self, most: float = 120.0) -> None:
        """Say nothing until the client leaves."""
        self.sock.settimeout(most)
        with suppress(OSError):
            while data := self.sock.recv(65536):
                self._record(data)

    def reset(self) -> None:
        """Break the connection instead of closing it."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


Serve = Callable[[Wire], None]


class RecordingServer:
    """Serve on the loopback, each connection in a thread; `blob` is every byte received."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._lock = threading.Lock()
        self._chunks: list[bytes] = []
        self._open: set[socket.socket] = set()
        self._waiting: set[socket.socket] = set()  # for an answer
        self.connections = 0
        self.peak = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def blob(self) -> bytes:
        with self._lock:
            return b"".join(self._chunks)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for sock in self._open:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=10)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._handle, args=[sock], daemon=True)
            self._threads.append(thread)
            thread.start()

    def _answered(self, sock: socket.socket) -> None:
        """Count a connection no longer among those that wait for an answer."""
        with self._lock:
            self._waiting.discard(sock)

    def _handle(self, sock: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            self._open.add(sock)
            self._waiting.add(sock)
            self.peak = max(self.peak, len(self._waiting))
        try:
            with sock, suppress(OSError):
                self._serve(Wire(sock, self._keep, lambda: self._answered(sock)))
        finally:
            self._answered(sock)
            with self._lock:
                self._open.discard(sock)

    def _keep(self, data: bytes) -> None:
        with self._lock:
            self._chunks.append(data)


class Request(NamedTuple):
    """One HTTP request."""

    line: str
    headers: tuple[str, ...]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(self.body.decode()))


def read_request(wire: Wire) -> Request:
    head = wire.until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
    lengths = [line.split(":")[1] for line in head if line.lower().startswith("content-length:")]
    return Request(head[0], tuple(head[1:]), wire.exactly(int(lengths[0]) if lengths else 0))


def reply(value: object, status: int = 200, kind: str = "application/json", *more: str) -> bytes:
    """Return an HTTP answer; a value that is not bytes is sent as JSON."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = [f"HTTP/1.1 {status} Status", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, *more, "", ""]).encode() + body


def http(answer: Callable[[Request], bytes]) -> Serve:
    """Serve one request of each connection."""

    def serve(wire: Wire) -> None:
        wire.send(answer(read_request(wire)))

    return serve


def leaks(blob: bytes | str, query: str) -> list[str]:
    """Return the words of a query that stand in some bytes, in whatever form was thought of."""
    data = blob.encode("utf-8", "surrogateescape") if isinstance(blob, str) else blob
    seen = _unwrapped(data)
    return [word for word in _words(query) if any(form in seen for form in _forms(word))] + [
        word for word in _words(query) if any(form in data for form in _base64(word))
    ]


def _unwrapped(data: bytes) -> bytes:
    """Return bytes in lower case, and once more for each way to escape letters."""
    lower = data.lower()
    escaped = re.sub(rb"\\u00([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), lower)
    plain = urllib.parse.unquote_to_bytes(lower).lower()
    return b"\0".join([lower, escaped.lower(), plain, lower.replace(b"\0", b"")])


def _words(query: str) -> list[str]:
    """Return the query, its words and their parts; short ones occur by chance."""
    parts = re.split(r"\W+", query)
    return [word for word in dict.fromkeys([query, *query.split(), *parts]) if len(word) > 4]


def _forms(word: str) -> Iterator[bytes]:
    low = word.lower()
    yield low.encode()
    yield low[::-1].encode()
    yield low.encode().hex().encode()
    yield urllib.parse.quote_plus(low).lower().encode()


def _base64(word: str) -> Iterator[bytes]:
    """Yield what the word becomes at each place in a text that is encoded."""
    for spelt in (word, word.lower(), word.upper(), word.title()):
        for before in range(3):
            coded = base64.b64encode(b"\0" * before + spelt.encode()).rstrip(b"=")
            inner = coded[(0, 2, 3)[before] : -1]
            yield inner
            yield inner.replace(b"+", b"-").replace(b"/", b"_")


def contents(folder: Path) -> bytes:
    """Return all names and all bytes of a folder."""
    found = sorted(folder.rglob("*"))
    return b"\n".join(
        str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b"")
        for path in found
    )
