"""A secure sum with a process for each client, over TCP on the loopback address."""

import hmac
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from socket import socket

from veil.ratings.federated.masks import Words
from veil.ratings.federated.messages import Hello, Keys, Masked
from veil.ratings.federated.primitives import signing_public
from veil.ratings.federated.refusal import ProtocolError
from veil.ratings.federated.rounds import asked, hang_up, serve_round
from veil.ratings.federated.server import Server
from veil.ratings.federated.wire import Line, listen

LOOPBACK = "127.0.0.1"
HELLO = b"hello"
_START = 60.0  # seconds that all processes have to start
Seen = tuple[Words, dict[int, Masked], dict[int, int], dict[int, int]]


def in_processes(
    server: Server,
    inputs: Mapping[int, Words],
    threshold: int,
    leave: Mapping[int, str],
    signing: Mapping[int, bytes],
    seconds: float,
) -> Seen:
    """Start the clients, run the round, and end them."""
    token = secrets.token_bytes(16)
    with ExitStack() as stack:
        port = stack.enter_context(listen(LOOPBACK, 0, len(inputs)))
        terms = {
            "port": port.getsockname()[1],
            "token": token.hex(),
            "threshold": threshold,
            "label": server.label.hex(),
            "seconds": seconds,
            "registered": {one: signing_public(key).hex() for one, key in signing.items()},
        }
        for number, words in inputs.items():
            own = terms | {"number": number, "leave": leave.get(number, "")}
            own["signing"] = signing.get(number, b"").hex()
            stack.callback(_end, _start(own, words))
        lines = _accepted(port, token, set(inputs), time.monotonic() + _START)
        stack.callback(hang_up, lines)
        keys = asked(lines, lambda _, line: line.receive(Keys, server.label, seconds))
        total, masked = serve_round(server, keys, lines, seconds)
        sent = {number: line.received for number, line in lines.items()}
        received = {number: line.sent for number, line in lines.items()}
        return total, masked, sent, received


def _start(terms: Mapping[str, object], words: Words) -> "subprocess.Popen[bytes]":
    """Start a client, and hand it its input where nobody else reads it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "veil.ratings.federated.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None  # noqa: S101 - asked for above
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(terms).encode() + b"\n")
        process.stdin.write(words.astype("<u8", copy=False).tobytes())
    with suppress(BrokenPipeError):
        process.stdin.close()
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _accepted(port: socket, token: bytes, wanted: set[int], until: float) -> dict[int, Line]:
    """Wait for all clients; who has not the token, or a number of another, is hung up on."""
    lines: dict[int, Line] = {}
    while len(lines) < len(wanted) and (left := until - time.monotonic()) > 0:
        port.settimeout(left)
        try:
            line = Line(port.accept()[0])
        except TimeoutError:
            break
        try:
            hello = line.receive(Hello, HELLO, min(left, 5.0))
        except ProtocolError:
            line.close()
            continue
        known = hmac.compare_digest(hello.token, token)
        if known and hello.number in wanted and hello.number not in lines:
            lines[hello.number] = line
        else:
            line.close()
    return dict(sorted(lines.items()))
