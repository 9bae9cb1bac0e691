"""Federated training for clients on other machines: offer, register and the server's side."""

import hashlib
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from socket import socket

from veil.core.errors import InputError, VeilError
from veil.core.rng import generator
from veil.core.types import Floats
from veil.data.files import whole_file
from veil.data.lines import read_lines
from veil.ratings.federated import primitives as statements
from veil.ratings.federated.client import enough
from veil.ratings.federated.messages import (
    Absent,
    Connection,
    Finish,
    Hello,
    Keys,
    Message,
    Round,
    Void,
    Welcome,
)
from veil.ratings.federated.primitives import KEY, STEPS, ProtocolError, is_signed, random_key
from veil.ratings.federated.server import Server, ask_all, hang_up, serve_round
from veil.ratings.federated.training import Training
from veil.ratings.recommenders.federated import Federated


def read_register(path: Path) -> dict[int, bytes]:
    """Return the public keys of a file by number: the first line is client 1."""
    found = [_key(line.strip(), path) for line in read_lines(path) if line.strip()]
    if len(set(found)) < len(found) or len(found) < 2:
        raise InputError(f"{path.name} must hold two or more keys, each of them once.")
    return dict(enumerate(found, 1))


def own_key(path: Path) -> bytes:
    """Read the private key of a file that its owner alone can read; make it if there is none."""
    if not path.exists():
        with whole_file(path, private=True) as part:
            part.write_text(random_key().hex() + "\n", encoding="ascii")
    if path.stat().st_mode & 0o077:
        raise InputError(f"{path.name} can be read by others; make it yours alone (chmod 600).")
    return _key(path.read_text(encoding="utf-8", errors="replace").strip(), path)


def _key(text: str, path: Path) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY:
        raise InputError(
            f"{path.name} must hold keys of {2 * KEY} hexadecimal digits, one a line."
        )
    return key


HELLO = b"veil/federated/2"
_GARBLED = "The terms of the server are garbled; it is refused."


@dataclass(frozen=True)
class Offer:
    """Everything a client must know to take part; nothing of it is secret.

    `clients` is how many are expected, `threshold` how many must survive a round, `label` what
    every round's label begins with, `seconds` the time of a phase.
    """

    spec: str
    items: list[str]
    scale: list[float]
    clients: int
    threshold: int
    delta: float
    label: str
    seconds: float
    seeded: bool = False

    @property
    def recommender(self) -> Federated:
        """The recommender that is trained; anything else is refused."""
        from veil.ratings.recommenders import RECOMMENDERS

        try:
            found = RECOMMENDERS.parse(self.spec)
        except VeilError:
            raise ProtocolError(_GARBLED) from None
        if not isinstance(found, Federated) or not found.secure:
            raise ProtocolError("The server would see single updates; it is refused.")
        return found

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all terms, in hexadecimal digits: equal only for equal offers.

        The recommender counts with all its parameters, defaults too. Each party computes the
        digest from the terms that it holds.
        """
        terms = asdict(self) | {"recommender": self.recommender.model_dump(), "steps": STEPS}
        text = json.dumps(terms, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(HELLO + b"/terms" + text.encode()).hexdigest()

    def round_label(self, number: int) -> bytes:
        """Return the label of a round, which every signature, seal and mask depends on.

        It holds the digest of the terms, so that clients with different terms have no sum.
        """
        return f"{self.label}/{self.digest}/{number}".encode()

    def text(self) -> str:
        """Return the terms as JSON."""
        return json.dumps(asdict(self))


def offer_of(text: str) -> Offer:
    """Read the terms of a server, and refuse what is not one."""
    try:
        told = json.loads(text)
        if set(told) != {field.name for field in fields(Offer)}:
            raise ProtocolError(_GARBLED)
        offer = Offer(**told)
    except (ValueError, TypeError, RecursionError):
        raise ProtocolError(_GARBLED) from None
    if not _is_sound(offer):
        raise ProtocolError(_GARBLED)
    if offer.seeded:
        raise ProtocolError("The server draws by a seed, which is not private; it is refused.")
    return offer


def _is_sound(offer: Offer) -> bool:
    texts = [offer.spec, offer.label, *offer.items] if isinstance(offer.items, list) else [None]
    wholes = (offer.clients, offer.threshold)
    low_high = offer.scale if isinstance(offer.scale, list) and len(offer.scale) == 2 else [0, 0]
    numbers = [offer.delta, offer.seconds, *low_high]
    return (
        all(isinstance(one, str) for one in texts)
        and all(type(one) is int for one in wholes)
        and all(type(one) in (int, float) for one in numbers)
        and len(set(offer.items)) == len(offer.items) > 0
        and 2 <= offer.threshold <= offer.clients
        and 0 < offer.delta < 1
        and 0 < offer.seconds <= 3600
        and -math.inf < low_high[0] < low_high[1] < math.inf
    )


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
) -> dict[int, Connection]:
    """Wait for the clients, and tell each its number and the terms."""
    lines: dict[int, Connection] = {}
    until = time.monotonic() + patience
    while len(lines) < offer.clients and (left := until - time.monotonic()) > 0:
        port.settimeout(left)
        try:
            line = Connection(port.accept()[0])
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


def _number(
    hello: Hello, registered: Mapping[int, bytes] | None, lines: dict[int, Connection]
) -> int:
    if registered is None:
        return len(lines) + 1
    for number, key in registered.items():
        if key == hello.key and number not in lines:
            return number
    raise ProtocolError("The caller is not registered, or is here already.")


def _train(
    lines: dict[int, Connection], offer: Offer, told: Told, registered: Mapping[int, bytes] | None
) -> Training:
    recommender = offer.recommender
    training = recommender.training(offer.clients, len(offer.items), generator())
    for number in range(recommender.rounds):
        label = offer.round_label(number)
        begin = Round(number, _bytes(training.factors))

        keys = proved_keys(_keys(lines, begin, label, offer.seconds), registered, label)
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


def _keys(
    lines: dict[int, Connection], begin: Round, label: bytes, seconds: float
) -> dict[int, Keys]:
    """Begin a round; return the keys of who takes part, and forget who is gone."""

    def answer(_: int, line: Connection) -> Message:
        line.send(begin, HELLO, seconds)
        return line.receive((Keys, Absent), label, seconds)

    answers = ask_all(lines, answer)
    for gone in set(lines) - set(answers):
        del lines[gone]
    return {number: one for number, one in answers.items() if isinstance(one, Keys)}


def proved_keys(
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


def _tell(lines: dict[int, Connection], message: Message, label: bytes, seconds: float) -> None:
    ask_all(lines, lambda _, line: line.send(message, label, seconds))


def _bytes(factors: Floats) -> bytes:
    return factors.astype("<f8").tobytes()
