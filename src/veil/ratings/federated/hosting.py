"""Federated training for clients on other machines: the server's side over TCP."""

import secrets
import time
from collections.abc import Callable, Mapping
from socket import socket

from veil.core.rng import generator
from veil.core.types import Floats
from veil.ratings.federated import statements
from veil.ratings.federated.messages import (
    Absent,
    Finish,
    Hello,
    Keys,
    Message,
    Round,
    Void,
    Welcome,
)
from veil.ratings.federated.offer import Offer
from veil.ratings.federated.primitives import is_signed
from veil.ratings.federated.refusal import ProtocolError
from veil.ratings.federated.rounds import asked, hang_up, serve_round
from veil.ratings.federated.server import Server
from veil.ratings.federated.thresholds import enough
from veil.ratings.federated.training import Training
from veil.ratings.federated.wire import Line

HELLO = b"veil/federated/1"
_GREETING = 5.0  # seconds that a caller has to say hello
Told = Callable[[str], None]


def new_label() -> str:
    """Return a label that no other session has."""
    return secrets.token_hex(16)


def host(
    port: socket,
    offer: Offer,
    told: Told,
    registered: Mapping[int, bytes] | None = None,
    patience: float = 600.0,
) -> tuple[Floats, int]:
    """Train with whoever calls; return the factors, and how many rounds were void.

    `told` is given a sentence now and then. With fewer clients than the threshold it raises.
    """
    lines = _greeted(port, offer, registered, patience, told)
    try:
        enough(len(lines), offer.threshold, "came")
        training = _train(lines, offer, told, registered)
        last = Finish(training.void, _bytes(training.model))
        _tell(lines, last, HELLO, offer.seconds)
    finally:
        hang_up(lines)
    return training.model, training.void


def _greeted(
    port: socket, offer: Offer, registered: Mapping[int, bytes] | None, patience: float, told: Told
) -> dict[int, Line]:
    """Wait for the clients, and tell each its number and the terms."""
    lines: dict[int, Line] = {}
    until = time.monotonic() + patience
    while len(lines) < offer.clients and (left := until - time.monotonic()) > 0:
        port.settimeout(left)
        try:
            line = Line(port.accept()[0])
        except TimeoutError:
            break
        try:
            hello = line.receive(Hello, HELLO, _GREETING)
            number = _number(hello, registered, lines)
            line.send(Welcome(number, offer.text()), HELLO, offer.seconds)
        except ProtocolError:
            line.close()
            continue
        lines[number] = line
        told(f"{len(lines):,} of {offer.clients:,} clients are here.")
    return lines


def _number(hello: Hello, registered: Mapping[int, bytes] | None, lines: dict[int, Line]) -> int:
    if registered is None:
        return len(lines) + 1
    for number, key in registered.items():
        if key == hello.key and number not in lines:
            return number
    raise ProtocolError("The caller is not registered, or is here already.")


def _train(
    lines: dict[int, Line], offer: Offer, told: Told, registered: Mapping[int, bytes] | None
) -> Training:
    recommender = offer.recommender
    training = recommender.training(offer.clients, len(offer.items), generator())
    for number in range(recommender.rounds):
        label = offer.round_label(number)
        begin = Round(number, _bytes(training.factors))

        keys = proved(_keys(lines, begin, label, offer.seconds), registered, label)
        signed = registered is not None
        server = Server(offer.threshold, training.factors.size, label, signed=signed)
        told(f"Round {number + 1:,} of {recommender.rounds:,}: {len(keys):,} take part.")
        try:
            training.advance(serve_round(server, keys, lines, offer.seconds)[0])
        except ProtocolError:
            told("The round is void: too few are left, and nothing was opened.")
            training.advance(None)
            _tell({one: lines[one] for one in keys}, Void(), label, offer.seconds)
    return training


def _keys(lines: dict[int, Line], begin: Round, label: bytes, seconds: float) -> dict[int, Keys]:
    """Begin a round; return the keys of who takes part, and forget who is gone."""

    def answer(_: int, line: Line) -> Message:
        line.send(begin, HELLO, seconds)
        return line.receive((Keys, Absent), label, seconds)

    answers = asked(lines, answer)
    for gone in set(lines) - set(answers):
        del lines[gone]
    return {number: one for number, one in answers.items() if isinstance(one, Keys)}


def proved(
    keys: Mapping[int, Keys], registered: Mapping[int, bytes] | None, label: bytes
) -> dict[int, Keys]:
    """Leave out who has not signed as registered: all others would leave such a round."""
    return {
        number: one
        for number, one in keys.items()
        if registered is None
        or is_signed(
            registered.get(number, b""),
            statements.of_keys(label, number, one.sealing, one.masking),
            one.signature,
        )
    }


def _tell(lines: dict[int, Line], message: Message, label: bytes, seconds: float) -> None:
    asked(lines, lambda _, line: line.send(message, label, seconds))


def _bytes(factors: Floats) -> bytes:
    return factors.astype("<f8").tobytes()
