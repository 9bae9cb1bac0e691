"""Federated training over machines: the offer, the server's side and the client's side.

The client does not trust the server: it draws its own coins and noise, checks the terms
against its limits, and leaves as soon as the server breaks them.
"""

import hashlib
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from socket import socket
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from veil.core.errors import BudgetError, InputError, VeilError
from veil.core.formatting import brief
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.data.files import whole_file
from veil.data.lines import read_lines
from veil.data.rows import read_table
from veil.dp.exact.coins import coins
from veil.ratings.federated import primitives as statements
from veil.ratings.federated.client import Client, enough
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
from veil.ratings.federated.primitives import (
    KEY,
    STEPS,
    ProtocolError,
    VoidError,
    is_signed,
    random_key,
    signing_public,
    whole,
    words_of,
)
from veil.ratings.federated.server import Server, ask_all, hang_up, join_round, serve_round
from veil.ratings.federated.training import (
    Profiles,
    Training,
    share_of_noise,
    to_unit_range,
    updates,
)
from veil.ratings.ratings import Scale
from veil.ratings.recommenders.federated import Federated

HELLO = b"veil/federated/2"
_GARBLED = "The terms of the server are invalid. It is refused."


@dataclass(frozen=True)
class Offer:
    """Everything a client must know to take part; nothing in it is secret.

    Attributes
    ----------
    spec, items, scale, delta
        The recommender, the catalogue, the lowest and highest rating, and delta of its guarantees.
    clients, threshold
        Number of expected clients, and of those that must finish a round.
    label
        What the label of every round begins with.
    seconds
        Time limit of a phase.
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
            recommender = RECOMMENDERS.parse(self.spec)
        except VeilError:
            raise ProtocolError(_GARBLED) from None
        if not isinstance(recommender, Federated) or not recommender.secure:
            raise ProtocolError("The server would see single updates. It is refused.")
        return recommender

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all terms, in hexadecimal digits: equal only for equal offers.

        It includes all parameters of the recommender, also defaults. Each party computes the
        digest from its own terms.
        """
        terms = asdict(self) | {"recommender": self.recommender.model_dump(), "steps": STEPS}
        text = json.dumps(terms, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(HELLO + b"/terms" + text.encode()).hexdigest()

    def round_label(self, number: int) -> bytes:
        """Return the label of a round, on which every signature, seal and mask depends.

        It contains the digest of the terms, so clients with different terms have no sum.
        """
        return f"{self.label}/{self.digest}/{number}".encode()

    def text(self) -> str:
        """Return the terms as JSON."""
        return json.dumps(asdict(self))


def offer_of(text: str) -> Offer:
    """Return the terms of a server, or raise if they are invalid or not private."""
    try:
        terms = json.loads(text)
        if set(terms) != {field.name for field in fields(Offer)}:
            raise ProtocolError(_GARBLED)
        offer = Offer(**terms)
    except (ValueError, TypeError, RecursionError):
        raise ProtocolError(_GARBLED) from None
    if not _is_sound(offer):
        raise ProtocolError(_GARBLED)
    if offer.seeded:
        raise ProtocolError("The server uses a seed, which is not private. It is refused.")
    return offer


def _is_sound(offer: Offer) -> bool:
    texts = [offer.spec, offer.label, *offer.items] if isinstance(offer.items, list) else [None]
    wholes = (offer.clients, offer.threshold)
    low_high = offer.scale if isinstance(offer.scale, list) and len(offer.scale) == 2 else [0, 0]
    numbers = [offer.delta, offer.seconds, *low_high]
    return (
        all(isinstance(text, str) for text in texts)
        and all(type(count) is int for count in wholes)
        and all(type(number) in (int, float) for number in numbers)
        and len(set(offer.items)) == len(offer.items) > 0
        and 2 <= offer.threshold <= offer.clients
        and 0 < offer.delta < 1
        and 0 < offer.seconds <= 3600
        and -math.inf < low_high[0] < low_high[1] < math.inf
    )


def read_register(path: Path) -> dict[int, bytes]:
    """Return the public keys in a file by client number; the first line is client 1."""
    keys = [_key(line.strip(), path) for line in read_lines(path) if line.strip()]
    if len(set(keys)) < len(keys) or len(keys) < 2:
        raise InputError(f"{path.name} must hold two or more distinct keys.")
    return dict(enumerate(keys, 1))


def own_key(path: Path) -> bytes:
    """Return the private key in a file that only its owner can read; create it if missing."""
    if not path.exists():
        with whole_file(path, private=True) as part:
            part.write_text(random_key().hex() + "\n", encoding="ascii")
    if path.stat().st_mode & 0o077:
        raise InputError(f"{path.name} can be read by others. Make it private (chmod 600).")
    return _key(path.read_text(encoding="utf-8", errors="replace").strip(), path)


def _key(text: str, path: Path) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY:
        raise InputError(
            f"{path.name} must hold keys of {2 * KEY} hexadecimal digits, one on each line."
        )
    return key


_GREETING = 5.0  # seconds within which a caller must send its hello
Notify = Callable[[str], None]  # gets a sentence about the progress


def new_label() -> str:
    """Return a label unique to a session."""
    return secrets.token_hex(16)


def host(
    port: socket,
    offer: Offer,
    notify: Notify,
    registered: Mapping[int, bytes] | None = None,
    patience: float = 600.0,
) -> tuple[Floats, int]:
    """Train with clients that call; return the factors and the number of void rounds.

    Raises if fewer clients than the threshold call within `patience` seconds.
    """
    lines = _greeted(port, offer, registered, patience, notify)
    try:
        enough(len(lines), offer.threshold, "came")
        training = _train(lines, offer, notify, registered)
        last = Finish(training.void, _bytes(training.model))
        _send(lines, last, HELLO, offer.seconds)
    finally:
        hang_up(lines)
    return training.model, training.void


def _greeted(
    port: socket,
    offer: Offer,
    registered: Mapping[int, bytes] | None,
    patience: float,
    notify: Notify,
) -> dict[int, Connection]:
    """Wait for the clients, and send each its number and the terms."""
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
        notify(f"{len(lines):,} of {offer.clients:,} clients are here.")
    return lines


def _number(
    hello: Hello, registered: Mapping[int, bytes] | None, lines: dict[int, Connection]
) -> int:
    if registered is None:
        return len(lines) + 1
    for number, key in registered.items():
        if key == hello.key and number not in lines:
            return number
    raise ProtocolError("The caller is not registered, or is already connected.")


def _train(
    lines: dict[int, Connection],
    offer: Offer,
    notify: Notify,
    registered: Mapping[int, bytes] | None,
) -> Training:
    recommender = offer.recommender
    training = recommender.training(offer.clients, len(offer.items), generator())
    for number in range(recommender.rounds):
        label = offer.round_label(number)
        begin = Round(number, _bytes(training.factors))

        keys = proved_keys(_keys(lines, begin, label, offer.seconds), registered, label)
        signed = registered is not None
        server = Server(offer.threshold, training.factors.size, label, signed=signed)
        notify(f"Round {number + 1:,} of {recommender.rounds:,}: {len(keys):,} take part.")
        try:
            training.advance(serve_round(server, keys, lines, offer.seconds)[0])
        except ProtocolError:
            notify("The round is void. Too few clients are left, and nothing was opened.")
            training.advance(None)
            _send({number: lines[number] for number in keys}, Void(), label, offer.seconds)
    return training


def _keys(
    lines: dict[int, Connection], begin: Round, label: bytes, seconds: float
) -> dict[int, Keys]:
    """Begin a round; return the keys of clients that take part, and drop those that are gone."""

    def answer(_: int, line: Connection) -> Message:
        line.send(begin, HELLO, seconds)
        return line.receive((Keys, Absent), label, seconds)

    answers = ask_all(lines, answer)
    for gone in set(lines) - set(answers):
        del lines[gone]
    return {number: keys for number, keys in answers.items() if isinstance(keys, Keys)}


def proved_keys(
    keys: Mapping[int, Keys], registered: Mapping[int, bytes] | None, label: bytes
) -> dict[int, Keys]:
    """Leave out clients without a registered signature: all others would leave such a round."""
    return {
        number: offered
        for number, offered in keys.items()
        if registered is None
        or is_signed(
            registered.get(number, b""),
            statements.of_keys(label, number, offered.sealing, offered.masking),
            offered.signature,
        )
    }


def _send(lines: dict[int, Connection], message: Message, label: bytes, seconds: float) -> None:
    ask_all(lines, lambda _, line: line.send(message, label, seconds))


def _bytes(factors: Floats) -> bytes:
    return factors.astype("<f8").tobytes()


_USER = ("user", "userid", "user_id", "uid")
_ITEM = ("item", "itemid", "item_id", "placeid", "movieid", "movie_id", "bookid", "book_id")
_RATING = ("rating", "value", "score", "stars")


def read_mine(path: Path, items: list[str], scale: Scale) -> tuple[Profiles, int]:
    """Return the ratings of the only user in a file, and the number for unlisted items.

    The file has columns item and rating, and perhaps user. No message quotes its content.
    """
    header, rows = read_table(path)
    lower = [name.lower() for name in header.names]
    user, item, rating = (
        next((lower.index(name) for name in names if name in lower), -1)
        for names in (_USER, _ITEM, _RATING)
    )
    if min(item, rating) < 0:
        raise InputError(f"{path.name} needs columns item and rating.")
    positions = {name: place for place, name in enumerate(items)}
    users, ratings, unlisted = set(), dict[int, float](), 0
    for row in rows:
        users.add(row.values[user] if user >= 0 else "")
        place = positions.get(row.values[item], -1)
        if place < 0:
            unlisted += 1
        elif place in ratings:
            raise InputError(
                f"{row.where(path.name)} rates an item again. Keep one rating for each."
            )
        else:
            ratings[place] = _rating(row.values[rating], scale, row.where(path.name))
    if len(users) > 1:
        raise InputError(f"{path.name} has ratings of several users. Use your own only.")
    order = np.array(sorted(ratings), dtype=np.int64)
    values = to_unit_range(
        np.array([ratings[place] for place in order.tolist()], dtype=np.float64), scale
    )
    return Profiles(order, values, np.zeros(min(1, len(order)), dtype=np.int64)), unlisted


def _rating(text: str, scale: Scale, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not scale[0] <= value <= scale[1]:
        raise InputError(
            f"{where} has a rating that is not a number within the scale. Correct it."
        )
    return value


M = TypeVar("M", bound=Message)
_WAIT = 3600.0  # seconds until a session begins


@brief()
@dataclass(frozen=True)
class Limits:
    """The most that a client spends, its key, and the registered keys of all clients, if any."""

    epsilon: float
    signing: bytes | None = None
    registered: dict[int, bytes] | None = None
    delta: float = 0.01


class Joined:
    """A session of a client, with a server whose terms it has accepted."""

    def __init__(self, line: Connection, limits: Limits) -> None:
        self._line, self._limits = line, limits
        own = b"" if limits.signing is None else signing_public(limits.signing)
        line.send(Hello(0, b"", own), HELLO, 30.0)
        welcome = line.receive(Welcome, HELLO, _WAIT)
        self.offer: Offer = offer_of(welcome.terms)
        self.recommender: Federated = self.offer.recommender
        self._number, self.taken, self.void = welcome.number, 0, 0
        self._check()

    def _check(self) -> None:
        if self.offer.delta > self._limits.delta:
            raise BudgetError(
                f"The server counts with a delta of {self.offer.delta:.3g}, and you accept"
                f" {self._limits.delta:.3g}. Nothing was sent."
            )
        spent = self.recommender.for_server(self.offer.delta)
        if spent.epsilon > self._limits.epsilon:
            raise BudgetError(
                f"All rounds would cost an epsilon of {spent.epsilon:.3g} against the server, and"
                f" you accept {self._limits.epsilon:.3g}. Nothing was sent."
            )
        keys, own = self._limits.registered, self._limits.signing
        if keys is not None and (own is None or keys.get(self._number) != signing_public(own)):
            raise ProtocolError("Your key is not registered under the number from the server.")

    def train(self, mine: Profiles, notify: Notify) -> Floats:
        """Take part until the end; return the factors (m, f + 1) of the items."""
        rng, rounds = generator(), self.recommender.rounds
        for number in range(rounds):
            message = self._next(Round, number - 1)
            if message.number != number:
                raise ProtocolError("The server skips or repeats a round. It is refused.")
            self._round(number, self._factors(message.model), mine, rng)
            notify(f"Round {number + 1:,} of {rounds:,}: you took part in {self.taken:,} so far.")
        return self._factors(self._next(Finish, rounds - 1).model)

    def _next(self, kind: type[M], last: int) -> M:
        """Wait for the end of a round, which may be void after this client's last message."""
        try:
            return self._line.receive(kind, HELLO, _WAIT, self.offer.round_label(last))
        except VoidError:
            self.void += 1
            return self._line.receive(kind, HELLO, _WAIT)

    def _round(self, number: int, factors: Floats, mine: Profiles, rng: Generator) -> None:
        terms, label, seconds = (
            self.recommender,
            self.offer.round_label(number),
            self.offer.seconds,
        )
        most = terms.rounds if terms.max_rounds is None else terms.max_rounds
        heads = bool(coins(Fraction(terms.sample), 1, rng)[0])
        if not heads or self.taken >= most:
            self._line.send(Absent(), label, seconds)
            return
        self.taken += 1
        steps = self._steps(factors, mine, rng)
        client = Client(
            self._number,
            self.offer.threshold,
            steps.size,
            label,
            self._limits.signing,
            self._limits.registered,
        )
        try:
            join_round(client, self._line, words_of(steps, self.offer.clients), seconds)
        except VoidError:
            self.void += 1

    def _steps(self, factors: Floats, mine: Profiles, rng: Generator) -> Ids:
        """Return the clipped update with this client's share of the noise, in steps."""
        noise = share_of_noise(
            self.recommender.noise, self.offer.threshold, factors.size, rng
        ).reshape(factors.shape)
        if len(mine.item):
            rows = updates(mine, factors, self.recommender.ridge)
            noise[mine.item] += whole(rows, mine.starts, self.recommender.clip)
        return noise.ravel()

    def _factors(self, model: bytes) -> Floats:
        shape = (len(self.offer.items), self.recommender.factors + 1)
        if len(model) != 8 * shape[0] * shape[1]:
            raise ProtocolError("The model of the server has a wrong size. It is refused.")
        factors = np.frombuffer(model, dtype="<f8").astype(np.float64).reshape(shape)
        if not (np.abs(factors) <= 1e6).all():
            raise ProtocolError("The model of the server is not finite. It is refused.")
        return factors
