"""The sum of many vectors, in one process or with a process for each client.

Each process runs ``python -m veil.ratings.federated.secure``: one client, which reads its terms
and its input from the standard input.
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
    """Clients by number, and after which phase some leave; `bytes` counts what was sent."""

    def __init__(self, clients: Mapping[int, Client], leave: Mapping[int, str]) -> None:
        self._clients, self._leave = clients, leave
        self.sent = dict.fromkeys(clients, 0)
        self.received = dict.fromkeys(clients, 0)

    def run(self, server: Server, words: Mapping[int, Words]) -> tuple[Words, dict[int, Masked]]:
        """Run all phases."""
        clients, everybody = self._clients, list(self._clients)
        keys = {number: self._up(number, clients[number].keys()) for number in everybody}
        roster = server.roster(keys)
        shares = {
            number: self._up(number, clients[number].shares(self._down(number, roster)))
            for number in self._left(everybody, "keys")
        }
        parcels = server.parcels(shares)
        masked = {
            number: self._up(
                number, clients[number].masked(self._down(number, parcels[number]), words[number])
            )
            for number in self._left(parcels, "shares")
        }
        survivors = server.survivors(masked)
        signed = {
            number: self._up(number, clients[number].sign(self._down(number, survivors)))
            for number in self._left(survivors.numbers, "masked")
        }
        request = server.request(signed)
        answers = {
            number: self._up(number, clients[number].unmask(self._down(number, request)))
            for number in self._left(signed, "signed")
        }
        return server.total(answers), masked

    def _left(self, numbers: object, phase: str) -> list[int]:
        return [one for one in numbers if self._leave.get(one) != phase]  # type: ignore[attr-defined]

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
        keys = ask_all(lines, lambda _, line: line.receive(Keys, server.label, seconds))
        total, masked = serve_round(server, keys, lines, seconds)
        sent = {number: line.received for number, line in lines.items()}
        received = {number: line.sent for number, line in lines.items()}
        return total, masked, sent, received


def _start(terms: Mapping[str, object], words: Words) -> "subprocess.Popen[bytes]":
    """Start a client, and hand it its input where nobody else reads it."""
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


def _accepted(port: socket, token: bytes, wanted: set[int], until: float) -> dict[int, Connection]:
    """Wait for all clients; who has not the token, or a number of another, is hung up on."""
    lines: dict[int, Connection] = {}
    while len(lines) < len(wanted) and (left := until - time.monotonic()) > 0:
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
        known = hmac.compare_digest(hello.token, token)
        if known and hello.number in wanted and hello.number not in lines:
            lines[hello.number] = line
        else:
            line.close()
    return dict(sorted(lines.items()))


@dataclass(frozen=True, eq=False, repr=False)
class SecureSum:
    """A sum, and all that the server saw on the way to it.

    Attributes
    ----------
    total
        (m,) sum of the vectors of the survivors, modulo 2^64.
    survivors
        Clients, by position from 0, whose vector is in the sum.
    seen
        What the server received of each client as its input: (m,) words by position.
    bytes
        Bytes that all clients sent and received, with the lengths of frames.
    sent
        Bytes that each client sent, by position.
    threshold
        How many had to survive.
    trust
        What is proved of it, and against whom, in words.
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
    r"""Add up vectors of whole numbers modulo 2^64 so that the server sees the sum alone.

    Proved (Bonawitz et al. 2017): a server that follows the protocol, together with fewer than
    `threshold` clients, learns the sum of the others and nothing else, whoever drops out. With
    `signed` it may also lie about who dropped out.

    Parameters
    ----------
    vectors
        Of whole numbers and one length, one of each client; negative ones count modulo 2^64.
    threshold
        How many must survive, by default :math:`\lfloor 2n/3 \rfloor + 1`; with fewer it raises.
    drop
        Who leaves, by position, and after which phase: ``"keys"`` or ``"shares"`` before its input
        is sent, ``"masked"`` or ``"signed"`` after it, so that its input counts. A list means
        ``"shares"``.
    processes
        Run every client in a process of its own, over TCP on the loopback address.
    signed
        Give every client a registered key, by which keys and survivors are signed.
    seconds
        Time for each phase, with `processes`.

    Examples
    --------
    >>> secure_sum([[1, 2], [10, 20], [100, 200]]).total.tolist()
    [111, 222]
    """
    words = [_words(one) for one in vectors]
    n = len(words)
    least = thresholds.choose_threshold(n, threshold, signed=signed)
    if len({len(one) for one in words}) > 1 or not len(words[0]):
        raise InputError("The vectors of a sum have one length, and at least one number.")
    leave = _leave(drop, n)
    label = b"sum-" + secrets.token_bytes(16)
    signing = {number: random_key() for number in range(1, n + 1)} if signed else {}
    known = {number: signing_public(one) for number, one in signing.items()} or None
    clients = {
        number: Client(number, least, len(words[0]), label, signing.get(number), known)
        for number in range(1, n + 1)
    }
    inputs = dict(enumerate(words, 1))
    server = Server(least, len(words[0]), label, signed=signed)
    if processes:
        seen = in_processes(server, inputs, least, leave, signing, seconds)
    else:
        rehearsal = Rehearsal(clients, leave)
        total, masked = rehearsal.run(server, inputs)
        seen = (total, masked, rehearsal.sent, rehearsal.received)
    total, masked, sent, received = seen
    trust = thresholds.SIGNED if signed else thresholds.FOLLOWS
    return SecureSum(
        total,
        tuple(number - 1 for number in server.counted),
        {number - 1: one.words for number, one in masked.items()},
        sum(sent.values()) + sum(received.values()),
        {number - 1: count for number, count in sent.items()},
        server.threshold,
        f"{trust} {thresholds.SPOILT}",
    )


def _words(vector: ArrayLike) -> Words:
    given = np.asarray(vector)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError(
            "A vector of a sum holds whole numbers of at most 64 bits in one row; make numbers"
            " with a fraction whole first (veil.ratings.federated.primitives)."
        )
    return (
        given.astype(np.int64).view(np.uint64)
        if given.dtype.kind == "i"
        else given.astype(np.uint64)
    )


def _leave(drop: Mapping[int, str] | Sequence[int], n: int) -> dict[int, str]:
    leave = dict(drop) if isinstance(drop, Mapping) else dict.fromkeys(drop, "shares")
    whole = all(isinstance(one, int | np.integer) and 0 <= one < n for one in leave)
    if not whole or not set(leave.values()) <= set(PHASES):
        raise ParameterError(
            f"Who drops out is a position from 0 to {n - 1:,}, after one of: {', '.join(PHASES)}."
        )
    return {int(one) + 1: phase for one, phase in leave.items()}


def main() -> int:
    """Take part in one round as a process; return its exit code."""
    terms = json.loads(sys.stdin.buffer.readline())
    words = np.frombuffer(sys.stdin.buffer.read(), dtype="<u8").astype(np.uint64)
    number, seconds, label = terms["number"], terms["seconds"], bytes.fromhex(terms["label"])
    signing = bytes.fromhex(terms["signing"]) or None
    registered = terms["registered"].items()
    keys = {int(member): bytes.fromhex(key) for member, key in registered} or None

    def leave(phase: str) -> None:
        if phase == terms["leave"]:
            os._exit(0)  # like a machine that is switched off

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
