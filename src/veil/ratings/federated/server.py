"""The server of one secure sum: what it makes of the messages of each phase.

No input or output happens here. Who sends nothing, or what is not a message of the phase, has
dropped out; with fewer than the threshold the round is void.
"""

from collections.abc import Mapping

import numpy as np

from veil.ratings.federated.masks import Words
from veil.ratings.federated.messages import (
    Keys,
    Masked,
    Parcels,
    Request,
    Roster,
    Shares,
    Signed,
    Survivors,
    Unmasked,
)
from veil.ratings.federated.opening import is_answer, open_sum
from veil.ratings.federated.primitives import is_public
from veil.ratings.federated.steps import Steps
from veil.ratings.federated.thresholds import enough, least


class Server:
    """The server of the round `label`, whose inputs have `length` words.

    `threshold` is the fewest survivors; it rises to more than half of those who take part (or two
    thirds, where clients sign).
    """

    def __init__(self, threshold: int, length: int, label: bytes, *, signed: bool = False) -> None:
        self.label, self.threshold = label, threshold
        self._length, self._signed = length, signed
        self._steps = Steps("roster", "parcels", "survivors", "request", "total")
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
