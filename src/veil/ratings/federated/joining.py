"""Federated training on one's own ratings: a client's side over TCP.

The client trusts none of what it is told: it draws its own coins and noise, checks the terms
against what it is ready to spend, and leaves where they are broken.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from veil.core.errors import BudgetError, InputError
from veil.core.formatting import brief
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.data.rows import read_table
from veil.dp.exact.coins import coins
from veil.ratings.federated.client import Client
from veil.ratings.federated.hosting import HELLO, Offer, offer_of
from veil.ratings.federated.messages import (
    Absent,
    Connection,
    Finish,
    Hello,
    Message,
    Round,
    Welcome,
)
from veil.ratings.federated.primitives import (
    ProtocolError,
    VoidError,
    signing_public,
    whole,
    words_of,
)
from veil.ratings.federated.server import join_round
from veil.ratings.federated.training import Profiles, share_of_noise, to_unit_range, updates
from veil.ratings.ratings import Scale
from veil.ratings.recommenders.federated import Federated

_USER = ("user", "userid", "user_id", "uid")
_ITEM = ("item", "itemid", "item_id", "placeid", "movieid", "movie_id", "bookid", "book_id")
_RATING = ("rating", "value", "score", "stars")


def read_mine(path: Path, items: list[str], scale: Scale) -> tuple[Profiles, int]:
    """Return the ratings of the one user of a file, and how many are of items not named.

    The file has columns item and rating, and perhaps user. No message quotes what is in it.
    """
    header, rows = read_table(path)
    lower = [name.lower() for name in header.names]
    user, item, rating = (
        next((lower.index(name) for name in names if name in lower), -1)
        for names in (_USER, _ITEM, _RATING)
    )
    if min(item, rating) < 0:
        raise InputError(f"{path.name} needs columns item and rating.")
    position = {one: place for place, one in enumerate(items)}
    users, found, left = set(), dict[int, float](), 0
    for row in rows:
        users.add(row.values[user] if user >= 0 else "")
        place = position.get(row.values[item], -1)
        if place < 0:
            left += 1
        elif place in found:
            raise InputError(f"{row.where(path.name)} rates an item again; keep one rating each.")
        else:
            found[place] = _rating(row.values[rating], scale, row.where(path.name))
    if len(users) > 1:
        raise InputError(f"{path.name} has ratings of several users; hand in your own alone.")
    order = np.array(sorted(found), dtype=np.int64)
    values = to_unit_range(
        np.array([found[one] for one in order.tolist()], dtype=np.float64), scale
    )
    return Profiles(order, values, np.zeros(min(1, len(order)), dtype=np.int64)), left


def _rating(text: str, scale: Scale, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not scale[0] <= value <= scale[1]:
        raise InputError(f"{where} has a rating that is no number within the scale; repair it.")
    return value


Told = Callable[[str], None]
M = TypeVar("M", bound=Message)
_WAIT = 3600.0  # seconds until a session begins


@brief()
@dataclass(frozen=True)
class Limits:
    """What a client is ready to spend, and the keys that it knows beforehand, or none."""

    epsilon: float
    signing: bytes | None = None
    registered: dict[int, bytes] | None = None
    delta: float = 0.01


class Joined:
    """A line to a server whose terms were accepted."""

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
                f" {self._limits.delta:.3g}; nothing was sent."
            )
        spent = self.recommender.for_server(self.offer.delta)
        if spent.epsilon > self._limits.epsilon:
            raise BudgetError(
                f"All rounds would cost an epsilon of {spent.epsilon:.3g} against the server, and"
                f" you accept {self._limits.epsilon:.3g}; nothing was sent."
            )
        known, own = self._limits.registered, self._limits.signing
        if known is not None and (own is None or known.get(self._number) != signing_public(own)):
            raise ProtocolError("Your key is not registered under the number that you were given.")

    def train(self, mine: Profiles, told: Told) -> Floats:
        """Take part until the end; return the factors (m, f + 1) of the items."""
        rng, rounds = generator(), self.recommender.rounds
        for number in range(rounds):
            message = self._next(Round, number - 1)
            if message.number != number:
                raise ProtocolError("The server skips or repeats a round; it is refused.")
            self._round(number, self._factors(message.model), mine, rng)
            told(f"Round {number + 1:,} of {rounds:,}: you took part in {self.taken:,} so far.")
        return self._factors(self._next(Finish, rounds - 1).model)

    def _next(self, kind: type[M], last: int) -> M:
        """Wait while others end a round; it may turn out to be void after this one's last word."""
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
            raise ProtocolError("The model of the server has another size; it is refused.")
        factors = np.frombuffer(model, dtype="<f8").astype(np.float64).reshape(shape)
        if not (np.abs(factors) <= 1e6).all():
            raise ProtocolError("The model of the server is not finite; it is refused.")
        return factors
