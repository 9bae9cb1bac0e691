"""The server of one secure sum, and its rounds over connections.

`Server` does no input or output. A client that sends nothing, or an invalid message for the phase,
has dropped out. With fewer clients than the threshold the round is void.

`serve_round` runs the phases over connections, each with a time limit, and talks to all clients at
once. A client that does not answer in time, hangs up or sends an invalid message has dropped out
and is not contacted again in this round.
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

    `threshold` is the least number of survivors; it rises to more than half of the participants
    (two thirds if clients sign).
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
        """Return the keys of clients with valid ones; peers leave a round with invalid keys."""
        with self._steps.take("roster"):
            keys = _valid(keys)
            self.threshold = max(self.threshold, least(len(keys), signed=self._signed))
            enough(len(keys), self.threshold, "sent keys")
            self._roster = Roster(
                self.threshold,
                {number: offer.sealing for number, offer in keys.items()},
                {number: offer.masking for number, offer in keys.items()},
                {number: offer.signature for number, offer in keys.items()},
            )
            return self._roster

    def parcels(self, shares: Mapping[int, Shares]) -> dict[int, Parcels]:
        """Return the parcels for each client that shared with all others."""
        with self._steps.take("parcels"):
            everybody = set(self._roster.masking)
            shares = {
                number: share
                for number, share in sorted(shares.items())
                if number in everybody and set(share.parcels) == everybody - {number}
            }
            enough(len(shares), self.threshold, "sent shares")
            self._digests = {number: share.digest for number, share in shares.items()}
            return {
                number: Parcels(
                    {
                        peer: share.parcels[number]
                        for peer, share in shares.items()
                        if peer != number
                    }
                )
                for number in shares
            }

    def survivors(self, masked: Mapping[int, Masked]) -> Survivors:
        """Add up the masked inputs, and return the clients whose input arrived."""
        with self._steps.take("survivors"):
            arrived = [
                number
                for number, message in sorted(masked.items())
                if number in self._digests and message.words.shape == (self._length,)
            ]
            enough(len(arrived), self.threshold, "sent an input")
            for number in arrived:
                self._total += masked[number].words
            dropped = tuple(number for number in self._digests if number not in arrived)
            self._request = Request(tuple(arrived), dropped, {})
            return Survivors(tuple(arrived))

    def request(self, signed: Mapping[int, Signed]) -> Request:
        """Return the needed shares, with the signatures of the survivors."""
        with self._steps.take("request"):
            present = {
                number: signature for number, signature in signed.items() if self._counts(number)
            }
            enough(len(present), self.threshold, "agreed on the survivors")
            signatures = {
                number: signature.signature for number, signature in sorted(present.items())
            }
            shown = signatures if self._signed else {}
            self._request = Request(self._request.survivors, self._request.dropped, shown)
            return self._request

    def total(self, answers: Mapping[int, Unmasked]) -> Words:
        """Open the sum (m,) of the inputs of survivors, modulo 2^64."""
        with self._steps.take("total"):
            fitting = {
                number: answer
                for number, answer in sorted(answers.items())
                if self._counts(number) and is_answer(self._request, answer)
            }
            enough(len(fitting), self.threshold, "sent their shares")
            first = dict(list(fitting.items())[: self.threshold])
            open_sum(
                self._total, self._request, first, self._roster.masking, self._digests, self.label
            )
            return self._total

    @property
    def counted(self) -> tuple[int, ...]:
        """The clients whose inputs are in the sum."""
        return self._request.survivors

    def _counts(self, number: int) -> bool:
        return number in self._request.survivors


def _valid(keys: Mapping[int, Keys]) -> dict[int, Keys]:
    """Leave out clients with an invalid key, or with a key of another client."""
    valid: dict[int, Keys] = {}
    taken: set[bytes] = set()
    for number, offer in sorted(keys.items()):
        own = {offer.sealing, offer.masking}
        if len(own) == 2 and not own & taken and all(map(is_public, own)):
            valid[number] = offer
            taken |= own
    return valid


A = TypeVar("A")
M = TypeVar("M", bound=Message)
Lines = Mapping[int, Connection]
Leave = Callable[[str], None]  # called after each phase; a client that leaves does not return


def ask_all(lines: Lines, work: Callable[[int, Connection], A]) -> dict[int, A]:
    """Run `work` on every line at once; hang up on clients that fail, and leave them out."""
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
    """Run a round with the clients that sent keys; return the sum and the masked inputs."""
    label = server.label

    def exchange(messages: Mapping[int, Message], kind: type[M]) -> dict[int, M]:
        def send_and_receive(number: int, line: Connection) -> M:
            line.send(messages[number], label, seconds)
            return line.receive(kind, label, seconds)

        return ask_all({number: lines[number] for number in messages}, send_and_receive)

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
    """Take part in a round from the keys on; an error raises, and nothing more is sent.

    The server may wait for others in each phase, so it has twice the time of a phase.
    """
    label, patience = client.label, 2 * seconds
    after = leave or (lambda _: None)
    line.send(client.keys(), label, seconds)
    after("keys")
    roster = line.receive(Roster, label, patience)
    line.send(client.shares(roster), label, seconds)
    after("shares")
    parcels = line.receive(Parcels, label, patience)
    line.send(client.masked(parcels, words), label, seconds)
    after("masked")
    survivors = line.receive(Survivors, label, patience)
    line.send(client.sign(survivors), label, seconds)
    after("signed")
    request = line.receive(Request, label, patience)
    line.send(client.unmask(request), label, seconds)


def hang_up(lines: Lines) -> None:
    """Close all lines without errors."""
    for line in lines.values():
        with suppress(OSError):
            line.close()
