"""What servers do instead of answering, and one that speaks enough of PostgreSQL's protocol."""

import struct
from collections.abc import Callable, Sequence

from tests.search.engines.recording import Serve, Wire, http, read_request, reply

PAGE = b"<!doctype html><title>Sign in</title>"
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def then(*steps: Callable[[Wire], None]) -> Serve:
    """Read one request, then do these things."""

    def serve(wire: Wire) -> None:
        read_request(wire)
        for step in steps:
            step(wire)

    return serve


def sends(data: bytes) -> Callable[[Wire], None]:
    return lambda wire: wire.send(data)


def drips(data: bytes) -> Callable[[Wire], None]:
    return lambda wire: wire.drip(data)


MISBEHAVIOUR: dict[str, Serve] = {
    "html": http(lambda _: reply(PAGE, 200, "text/html")),
    "unmarked html": http(lambda _: reply(PAGE)),
    "rate": http(lambda _: reply({}, 429, "application/json", "Retry-After: 0")),
    "failure": http(lambda request: reply(request.body + request.line.encode(), 500)),
    "denial": http(lambda request: reply(request.body + request.line.encode(), 403)),
    "junk": http(lambda _: reply(b'{"hits": [')),
    "other shape": http(lambda _: reply({"answer": 42})),
    "deep": http(lambda _: reply(b"[" * 100_000)),
    "not http": then(sends(b"220 mail.example ESMTP\r\n")),
    "silence": Wire.wait,
    "drip of a head": then(drips(b"HTTP/1.1 200 OK\r\nX: ")),
    "drip of a body": then(sends(JSON + b"\r\n["), drips(b" ")),
    "reset": then(Wire.reset),
    "end": then(),
    "half": then(sends(JSON + b"Content-Length: 100\r\n\r\n{")),
    "half a chunk": then(sends(JSON + b"Transfer-Encoding: chunked\r\n\r\n5\r\n[")),
    "redirect": http(lambda request: reply(b"", 302, "a/b", f"Location: /l?{request.line[:40]}")),
    "gzip": http(lambda _: reply(b"\x1f\x8b", 200, "a/b", "Content-Encoding: gzip")),
    "huge": then(sends(JSON + b"Content-Length: 999999999999\r\n\r\n")),
}


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _column(number: int) -> bytes:
    return f"c{number}".encode() + b"\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)


def _row(values: Sequence[str]) -> bytes:
    cells = [struct.pack("!i", len(value)) + value.encode() for value in values]
    return struct.pack("!h", len(values)) + b"".join(cells)


_READY = _message(b"Z", b"T")


def _greet(wire: Wire) -> None:
    while True:
        (size,) = struct.unpack("!i", wire.exactly(4))
        if wire.exactly(size - 4)[:4] == struct.pack("!i", 196608):
            break
        wire.send(b"N")  # neither TLS nor GSS
    wire.send(_message(b"R", struct.pack("!i", 0)))
    wire.send(_message(b"S", b"client_encoding\0UTF8\0") + _message(b"Z", b"I"))


def postgres(
    rows: Sequence[Sequence[str]], fault: Callable[[Wire, bytes], None] | None = None
) -> Serve:
    """Give these rows of four texts to any statement; `fault` happens instead in a search."""
    answer = [
        _message(b"1", b"") + _message(b"2", b""),
        _message(b"T", struct.pack("!h", 4) + b"".join(map(_column, range(4)))),
        *(_message(b"D", _row(values)) for values in rows),
        _message(b"C", b"SELECT 1\0") + _READY,
    ]

    def serve(wire: Wire) -> None:
        _greet(wire)
        asked = b""
        while (kind := wire.exactly(1)) != b"X":
            (size,) = struct.unpack("!i", wire.exactly(4))
            asked += wire.exactly(size - 4)
            if kind == b"Q":
                wire.send(_message(b"C", b"BEGIN\0") + _READY)
            if kind == b"S" and fault is not None and b"tsquery" in asked:
                fault(wire, asked)
            elif kind == b"S":
                wire.send(b"".join(answer))

    return serve


def _error(wire: Wire, asked: bytes) -> None:
    """Quote everything, as the real one does."""
    quoted = asked.replace(b"\0", b" ")
    fields = [b"SERROR", b"VERROR", b"C42601", b"Msyntax error at " + quoted, b"D" + quoted, b""]
    wire.send(_message(b"E", b"\0".join(fields) + b"\0") + _READY)


POSTGRES_MISBEHAVIOUR: dict[str, Serve] = {
    "not postgres": lambda wire: wire.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "silence": Wire.wait,
    "reset": Wire.reset,
    "drip": lambda wire: wire.drip(b"S\0\0\1"),
    "error that quotes": postgres([], _error),
    "late silence": postgres([], lambda wire, _: wire.wait()),
    "late reset": postgres([], lambda wire, _: wire.reset()),
    "late drip": postgres([], lambda wire, _: wire.drip(_message(b"1", b""))),
    "late junk": postgres([], lambda wire, _: wire.send(b"<html>" * 100)),
}
