"""The server of one secure sum, and its rounds over connections.

No input or output happens here. Who sends nothing, or what is not a message of the phase, has
dropped out; with fewer than the threshold the round is void.

A secure sum over connections: the phases of a round, each within its time.
The server talks to all clients at once. Who does not answer in time, hangs up or sends what is
not a message of the phase has dropped out, and is not asked again in this round.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

import numpy as np

from veil.ratings.federated.client import Client, Phases, enough, is_answer, least, open_sum
from veil.ratings.federated.messages import (
    Connection,
    Keys,
    Masked,
    Message,
    Parcels,
    Request,
    Roster,
    Shares,
    Signed,
    Survivors,
    Unmasked,
)
from veil.ratings.federated.primitives import ProtocolError, Words, is_public


class Server:
    """The server of the round `label`, whose inputs have `length` words.

    `threshold` is the fewest survivors; it rises to more than half of those who take part (or two
    thirds, where clients sign).
    """

    def __init__(self, threshold: int, length: int, label: bytes, *, signed: bool = False) -> None:
        self.label, self.threshold = label, threshold
        self._length, self._signed = length, signed
        self._steps = Phases("roster", "parcels", "survivors", "request", "total")
        self._roster = Roster(0, {}, {}, {})
        self._digests: dict[int, bytes] = {}
        self._request = Request((), (), {})
        self._total: Words = np.zeros(length, dtype=np.uint64)

    def roster(self, keys: Mapping[int, Keys]) -> Roster:
        """Return the keys of all who sent sound ones: others would leave a round of bad ones."""
        with self._steps.take("roster"):
            keys = _sound(keys)
            self.threshold = max(self.threshold, least(len(keys), signed=self._signed))
            enough(len(keys), self.threshold, "sent keys")
            self._roster = Roster(
                self.threshold,
                {number: one.sealing for number, one in keys.items()},
                {number: one.masking for number, one in keys.items()},
                {number: one.signature for number, one in keys.items()},
            )
            return self._roster

    def parcels(self, shares: Mapping[int, Shares]) -> dict[int, Parcels]:
        """Return what each client is to get of those who shared with all others."""
        with self._steps.take("parcels"):
            everybody = set(self._roster.masking)
            shares = {
                number: one
                for number, one in sorted(shares.items())
                if number in everybody and set(one.parcels) == everybody - {number}
            }
            enough(len(shares), self.threshold, "sent shares")
            self._digests = {number: one.digest for number, one in shares.items()}
            return {
                number: Parcels(
                    {peer: one.parcels[number] for peer, one in shares.items() if peer != number}
                )
                for number in shares
            }

    def survivors(self, masked: Mapping[int, Masked]) -> Survivors:
        """Add up the masked inputs, and return whose arrived."""
        with self._steps.take("survivors"):
            arrived = [
                number
                for number, one in sorted(masked.items())
                if number in self._digests and one.words.shape == (self._length,)
            ]
            enough(len(arrived), self.threshold, "sent an input")
            for number in arrived:
                self._total += masked[number].words
            dropped = tuple(number for number in self._digests if number not in arrived)
            self._request = Request(tuple(arrived), dropped, {})
            return Survivors(tuple(arrived))

    def request(self, signed: Mapping[int, Signed]) -> Request:
        """Return what shares are needed, with the signatures of who survived."""
        with self._steps.take("request"):
            present = {number: one for number, one in signed.items() if self._counts(number)}
            enough(len(present), self.threshold, "agreed on who survived")
            signatures = {number: one.signature for number, one in sorted(present.items())}
            told = signatures if self._signed else {}
            self._request = Request(self._request.survivors, self._request.dropped, told)
            return self._request

    def total(self, answers: Mapping[int, Unmasked]) -> Words:
        """Open the sum (m,) of the inputs of survivors, modulo 2^64."""
        with self._steps.take("total"):
            fitting = {
                number: one
                for number, one in sorted(answers.items())
                if self._counts(number) and is_answer(self._request, one)
            }
            enough(len(fitting), self.threshold, "gave their shares")
            first = dict(list(fitting.items())[: self.threshold])
            open_sum(
                self._total, self._request, first, self._roster.masking, self._digests, self.label
            )
            return self._total

    @property
    def counted(self) -> tuple[int, ...]:
        """Whose inputs are in the sum."""
        return self._request.survivors

    def _counts(self, number: int) -> bool:
        return number in self._request.survivors


def _sound(keys: Mapping[int, Keys]) -> dict[int, Keys]:
    """Leave out who sent what is no key, or a key that is there already."""
    found: dict[int, Keys] = {}
    taken: set[bytes] = set()
    for number, one in sorted(keys.items()):
        own = {one.sealing, one.masking}
        if len(own) == 2 and not own & taken and all(map(is_public, own)):
            found[number] = one
            taken |= own
    return found


A = TypeVar("A")
M = TypeVar("M", bound=Message)
Lines = Mapping[int, Connection]
Leave = Callable[[str], None]  # is told each phase; who leaves does not come back


def ask_all(lines: Lines, work: Callable[[int, Connection], A]) -> dict[int, A]:
    """Do the same with every line at once; who fails is left out, and hung up on."""
    answers: dict[int, A] = {}

    def ask(number: int) -> None:
        try:
            answers[number] = work(number, lines[number])
        except ProtocolError:
            lines[number].close()

    if lines:
        with ThreadPoolExecutor(len(lines)) as pool:
            list(pool.map(ask, lines))
    return dict(sorted(answers.items()))


def serve_round(
    server: Server, keys: Mapping[int, Keys], lines: Lines, seconds: float
) -> tuple[Words, dict[int, Masked]]:
    """Run a round with those who sent keys; return the sum, and what inputs looked like."""
    label = server.label

    def exchange(messages: Mapping[int, Message], kind: type[M]) -> dict[int, M]:
        def both(number: int, line: Connection) -> M:
            line.send(messages[number], label, seconds)
            return line.receive(kind, label, seconds)

        return ask_all({number: lines[number] for number in messages}, both)

    roster = server.roster(keys)
    shares = exchange(dict.fromkeys(roster.masking, roster), Shares)
    masked = exchange(server.parcels(shares), Masked)
    survivors = server.survivors(masked)
    signed = exchange(dict.fromkeys(survivors.numbers, survivors), Signed)
    request = server.request(signed)
    answers = exchange(dict.fromkeys(signed, request), Unmasked)
    return server.total(answers), masked


def join_round(
    client: Client, line: Connection, words: Words, seconds: float, leave: Leave | None = None
) -> None:
    """Take part in a round, from the keys on; what is not right raises, and nothing more is sent.

    The server may wait for others in each phase: it has twice the time of one.
    """
    label, patience = client.label, 2 * seconds
    left = leave or (lambda _: None)
    line.send(client.keys(), label, seconds)
    left("keys")
    roster = line.receive(Roster, label, patience)
    line.send(client.shares(roster), label, seconds)
    left("shares")
    parcels = line.receive(Parcels, label, patience)
    line.send(client.masked(parcels, words), label, seconds)
    left("masked")
    survivors = line.receive(Survivors, label, patience)
    line.send(client.sign(survivors), label, seconds)
    left("signed")
    request = line.receive(Request, label, patience)
    line.send(client.unmask(request), label, seconds)


def hang_up(lines: Lines) -> None:
    """Close all lines."""
    for line in lines.values():
        with suppress(OSError):
            line.close()
