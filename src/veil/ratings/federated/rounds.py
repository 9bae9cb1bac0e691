"""A secure sum over connections: the phases of a round, each within its time.

The server talks to all clients at once. Who does not answer in time, hangs up or sends what is
not a message of the phase has dropped out, and is not asked again in this round.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from veil.ratings.federated.client import Client
from veil.ratings.federated.masks import Words
from veil.ratings.federated.messages import (
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
from veil.ratings.federated.refusal import ProtocolError
from veil.ratings.federated.server import Server
from veil.ratings.federated.wire import Line

A = TypeVar("A")
M = TypeVar("M", bound=Message)
Lines = Mapping[int, Line]
Leave = Callable[[str], None]  # is told each phase; who leaves does not come back


def asked(lines: Lines, work: Callable[[int, Line], A]) -> dict[int, A]:
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
        def both(number: int, line: Line) -> M:
            line.send(messages[number], label, seconds)
            return line.receive(kind, label, seconds)

        return asked({number: lines[number] for number in messages}, both)

    roster = server.roster(keys)
    shares = exchange(dict.fromkeys(roster.masking, roster), Shares)
    masked = exchange(server.parcels(shares), Masked)
    survivors = server.survivors(masked)
    signed = exchange(dict.fromkeys(survivors.numbers, survivors), Signed)
    request = server.request(signed)
    answers = exchange(dict.fromkeys(signed, request), Unmasked)
    return server.total(answers), masked


def join_round(
    client: Client, line: Line, words: Words, seconds: float, leave: Leave | None = None
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
