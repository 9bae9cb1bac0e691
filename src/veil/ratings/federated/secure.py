"""The sum of many vectors, in one process or with a process for each client.

Each client process runs ``python -m veil.ratings.federated.secure`` and reads its terms and its
input from standard input.
"""

import hmac
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from socket import socket
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError, VeilError
from veil.ratings.federated import client as thresholds
from veil.ratings.federated.client import Client
from veil.ratings.federated.messages import (
    Connection,
    Hello,
    Keys,
    Masked,
    Message,
    decode,
    dial,
    encode,
    listen,
)
from veil.ratings.federated.primitives import ProtocolError, Words, random_key, signing_public
from veil.ratings.federated.server import Server, ask_all, hang_up, join_round, serve_round

M = TypeVar("M", bound=Message)
PHASES = ("keys", "shares", "masked", "signed")  # after which a client may leave


class Rehearsal:
    """A simulated round of clients by number; `leave` has the phase after which a client leaves.

    `sent` and `received` count bytes by client.
    """

    def __init__(self, clients: Mapping[int, Client], leave: Mapping[int, str]) -> None:
        self._clients, self._leave = clients, leave
        self.sent = dict.fromkeys(clients, 0)
        self.received = dict.fromkeys(clients, 0)

    def run(self, server: Server, words: Mapping[int, Words]) -> tuple[Words, dict[int, Masked]]:
        """Run all phases; return the sum and the masked inputs."""
        clients, everybody = self._clients, list(self._clients)
        keys = {number: self._up(number, clients[number].keys()) for number in everybody}
        roster = server.roster(keys)
        shares = {
            number: self._up(number, clients[number].shares(self._down(number, roster)))
            for number in self._staying(everybody, "keys")
        }
        parcels = server.parcels(shares)
        masked = {
            number: self._up(
                number, clients[number].masked(self._down(number, parcels[number]), words[number])
            )
            for number in self._staying(parcels, "shares")
        }
        survivors = server.survivors(masked)
        signed = {
            number: self._up(number, clients[number].sign(self._down(number, survivors)))
            for number in self._staying(survivors.numbers, "masked")
        }
        request = server.request(signed)
        answers = {
            number: self._up(number, clients[number].unmask(self._down(number, request)))
            for number in self._staying(signed, "signed")
        }
        return server.total(answers), masked

    def _staying(self, numbers: object, phase: str) -> list[int]:
        return [number for number in numbers if self._leave.get(number) != phase]  # type: ignore[attr-defined]

    def _up(self, number: int, message: M) -> M:
        frame = encode(message, self._clients[number].label)
        self.sent[number] += 4 + len(frame)
        return decode(frame, self._clients[number].label)  # type: ignore[return-value]

    def _down(self, number: int, message: M) -> M:
        frame = encode(message, self._clients[number].label)
        self.received[number] += 4 + len(frame)
        return decode(frame, self._clients[number].label)  # type: ignore[return-value]


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
    """Run the round with one process per client."""
    token = secrets.token_bytes(16)
    with ExitStack() as stack:
        port = stack.enter_context(listen(LOOPBACK, 0, len(inputs)))
        terms = {
            "port": port.getsockname()[1],
            "token": token.hex(),
            "threshold": threshold,
            "label": server.label.hex(),
            "seconds": seconds,
            "registered": {peer: signing_public(key).hex() for peer, key in signing.items()},
        }
        for number, words in inputs.items():
            own = terms | {"number": number, "leave": leave.get(number, "")}
            own["signing"] = signing.get(number, b"").hex()
            stack.callback(_end, _start(own, words))
        lines = _accepted(port, token, set(inputs), time.monotonic() + _START)
        stack.callback(hang_up, lines)
        keys = ask_all(lines, lambda _, line: line.receive(Keys, server.label, seconds))
        total, masked = serve_round(server, keys, lines, seconds)
        uploads = {number: line.received for number, line in lines.items()}
        downloads = {number: line.sent for number, line in lines.items()}
        return total, masked, uploads, downloads


def _start(terms: Mapping[str, object], words: Words) -> "subprocess.Popen[bytes]":
    """Start a client and write its input to a pipe that nobody else can read."""
    process = subprocess.Popen(
        [sys.executable, "-m", "veil.ratings.federated.secure"],
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


def _accepted(
    port: socket, token: bytes, expected: set[int], until: float
) -> dict[int, Connection]:
    """Wait for all clients; refuse those with a wrong token or the number of another client."""
    lines: dict[int, Connection] = {}
    while len(lines) < len(expected) and (left := until - time.monotonic()) > 0:
        port.settimeout(left)
        try:
            line = Connection(port.accept()[0])
        except TimeoutError:
            break
        try:
            hello = line.receive(Hello, HELLO, min(left, 5.0))
        except ProtocolError:
            line.close()
            continue
        valid = hmac.compare_digest(hello.token, token)
        if valid and hello.number in expected and hello.number not in lines:
            lines[hello.number] = line
        else:
            line.close()
    return dict(sorted(lines.items()))


@dataclass(frozen=True, eq=False, repr=False)
class SecureSum:
    """A sum, and everything that the server saw.

    Attributes
    ----------
    total
        (m,) sum of the vectors of the survivors, modulo 2^64.
    survivors
        Clients, by position from 0, whose vector is in the sum.
    seen
        Masked input that the server received from each client: (m,) words by position.
    bytes
        Bytes that all clients sent and received, including length prefixes.
    sent
        Bytes that each client sent, by position.
    threshold
        Least number of survivors.
    trust
        What is proved about it, and against whom, in words.
    """

    total: Words
    survivors: tuple[int, ...]
    seen: dict[int, Words]
    bytes: int
    sent: dict[int, int]
    threshold: int
    trust: str


def secure_sum(
    vectors: Sequence[ArrayLike],
    threshold: int | None = None,
    drop: Mapping[int, str] | Sequence[int] = (),
    processes: bool = False,
    signed: bool = False,
    seconds: float = 30.0,
) -> SecureSum:
    r"""Add up integer vectors modulo 2^64 so that the server sees only the sum.

    Proved (Bonawitz et al. 2017): a server that follows the protocol, together with fewer than
    `threshold` clients, learns the sum of the others and nothing else, no matter who
    drops out. With `signed` the server may also lie about who dropped out, if fewer than
    2 `threshold` - n clients collude with it.

    Parameters
    ----------
    vectors
        One integer vector per client, all of one length; negative numbers count modulo 2^64.
    threshold
        Least number of survivors, by default :math:`\lfloor 2n/3 \rfloor + 1`; with fewer it
        raises.
    drop
        Clients that leave, by position, and the phase after which they leave: ``"keys"`` or
        ``"shares"`` before the input is sent, ``"masked"`` or ``"signed"`` after it, so that it
        counts. A list means ``"shares"``.
    processes
        Run every client in a separate process, over TCP on the loopback address.
    signed
        Give every client a registered key that signs its keys and the survivors.
    seconds
        Time limit of each phase, with `processes`.

    Examples
    --------
    >>> secure_sum([[1, 2], [10, 20], [100, 200]]).total.tolist()
    [111, 222]
    """
    words = [_words(vector) for vector in vectors]
    n = len(words)
    least = thresholds.choose_threshold(n, threshold, signed=signed)
    if len({len(vector) for vector in words}) > 1 or not len(words[0]):
        raise InputError("The vectors of a sum must have one length and at least one number.")
    leave = _leave(drop, n)
    label = b"sum-" + secrets.token_bytes(16)
    signing = {number: random_key() for number in range(1, n + 1)} if signed else {}
    registered = {number: signing_public(key) for number, key in signing.items()} or None
    clients = {
        number: Client(number, least, len(words[0]), label, signing.get(number), registered)
        for number in range(1, n + 1)
    }
    inputs = dict(enumerate(words, 1))
    server = Server(least, len(words[0]), label, signed=signed)
    if processes:
        record = in_processes(server, inputs, least, leave, signing, seconds)
    else:
        rehearsal = Rehearsal(clients, leave)
        total, masked = rehearsal.run(server, inputs)
        record = (total, masked, rehearsal.sent, rehearsal.received)
    total, masked, uploads, downloads = record
    trust = thresholds.SIGNED if signed else thresholds.FOLLOWS
    return SecureSum(
        total,
        tuple(number - 1 for number in server.counted),
        {number - 1: message.words for number, message in masked.items()},
        sum(uploads.values()) + sum(downloads.values()),
        {number - 1: count for number, count in uploads.items()},
        server.threshold,
        f"{trust} {thresholds.SPOILT}",
    )


def _words(vector: ArrayLike) -> Words:
    array = np.asarray(vector)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(
            "A vector of a sum must be a row of integers of at most 64 bits. Round fractions first"
            " (veil.ratings.federated.primitives)."
        )
    return (
        array.astype(np.int64).view(np.uint64)
        if array.dtype.kind == "i"
        else array.astype(np.uint64)
    )


def _leave(drop: Mapping[int, str] | Sequence[int], n: int) -> dict[int, str]:
    leave = dict(drop) if isinstance(drop, Mapping) else dict.fromkeys(drop, "shares")
    whole = all(isinstance(position, int | np.integer) and 0 <= position < n for position in leave)
    if not whole or not set(leave.values()) <= set(PHASES):
        raise ParameterError(
            f"'drop' must map positions from 0 to {n - 1:,} to one of: {', '.join(PHASES)}."
        )
    return {int(position) + 1: phase for position, phase in leave.items()}


def main() -> int:
    """Take part in one round as a client process; return its exit code."""
    terms = json.loads(sys.stdin.buffer.readline())
    words = np.frombuffer(sys.stdin.buffer.read(), dtype="<u8").astype(np.uint64)
    number, seconds, label = terms["number"], terms["seconds"], bytes.fromhex(terms["label"])
    signing = bytes.fromhex(terms["signing"]) or None
    registered = terms["registered"].items()
    keys = {int(member): bytes.fromhex(key) for member, key in registered} or None

    def leave(phase: str) -> None:
        if phase == terms["leave"]:
            os._exit(0)  # simulate a crash

    try:
        line = dial(LOOPBACK, terms["port"], seconds)
        line.send(Hello(number, bytes.fromhex(terms["token"]), b""), HELLO, seconds)
        client = Client(number, terms["threshold"], len(words), label, signing, keys)
        join_round(client, line, words, 4 * seconds, leave)
    except VeilError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
