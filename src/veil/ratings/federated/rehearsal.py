"""A secure sum in one process: the same frames, handed over instead of sent."""

from collections.abc import Mapping
from typing import TypeVar

from veil.ratings.federated.client import Client
from veil.ratings.federated.masks import Words
from veil.ratings.federated.messages import Masked, Message, decode, encode
from veil.ratings.federated.server import Server

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
