"""One client of one secure sum.

No input or output happens here. Every step is taken once and in order; after a refusal none is
taken any more, so that a server that asks again with other words learns nothing.

References
----------
Bonawitz et al. Practical Secure Aggregation for Privacy-Preserving Machine Learning. CCS 2017,
figure 4.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from veil.core.errors import ParameterError
from veil.ratings.federated import primitives as statements
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
from veil.ratings.federated.primitives import (
    KEY,
    SIZE,
    Agreement,
    ProtocolError,
    Words,
    add_streams,
    combine,
    derive_key,
    is_added,
    is_signed,
    pair_key,
    public_of,
    random_key,
    seal,
    share,
    signature,
    unseal,
    weights,
)


class Phases:
    """What a party has done so far."""

    def __init__(self, *names: str) -> None:
        self._left = list(names)

    @contextmanager
    def take(self, name: str) -> Iterator[None]:
        """Take the next step, which must be this one."""
        if not self._left or self._left[0] != name:
            self._left = []
            raise ProtocolError(
                f"The step '{name}' was asked for out of order or again; it is refused."
            )
        left, self._left = self._left[1:], []
        yield  # an error leaves no step
        self._left = left


FOLLOWS = (
    "The server learns the sum alone if the server follows the protocol: without registered keys"
    " it could play all the other clients."
)
SIGNED = (
    "The server learns the sum alone, also if it lies about who dropped out: keys are registered,"
    " and survivors signed by more than two thirds."
)
SPOILT = "A client that lies can spoil the sum: no input is proved to be within its bound."


def usual(n: int) -> int:
    """Return the default: more than two thirds.

    >>> usual(20)
    14
    """
    return 2 * n // 3 + 1


def least(n: int, *, signed: bool) -> int:
    """Return the least threshold of n clients: more than half, or than two thirds if signed."""
    return usual(n) if signed else n // 2 + 1


def choose_threshold(n: int, threshold: int | None, *, signed: bool) -> int:
    """Return a threshold that protects n clients, or raise."""
    if n < 2:
        raise ParameterError("A secure sum needs at least two clients; one would be read.")
    low = least(n, signed=signed)
    if threshold is None:
        return usual(n)
    if isinstance(threshold, bool) or not isinstance(threshold, int) or not low <= threshold <= n:
        raise ParameterError(
            f"The threshold of {n:,} clients must be a whole number from {low:,} to {n:,}; with"
            " fewer a server could open single inputs."
        )
    return threshold


def enough(count: int, threshold: int, what: str) -> None:
    """Raise where fewer than the threshold did something: the round is void."""
    if count < threshold:
        raise ProtocolError(
            f"{count:,} clients {what}, and {threshold:,} are needed: the round is void, and"
            " nothing was opened."
        )


def check_request(request: Request, held: set[int]) -> None:
    """Refuse a request that would open both secrets of a client, or that leaves one out."""
    survivors, dropped = set(request.survivors), set(request.dropped)
    if survivors & dropped:
        raise ProtocolError("A client is named as survivor and as dropped; it is refused.")
    if survivors | dropped != held:
        raise ProtocolError("The request does not name exactly those who sent shares.")


def is_answer(request: Request, answer: Unmasked) -> bool:
    """Tell whether an answer has the shares that were asked for."""
    sizes = {len(one) for one in (*answer.seeds.values(), *answer.keys.values())}
    asked = (set(request.survivors), set(request.dropped))
    return (set(answer.seeds), set(answer.keys)) == asked and sizes <= {SIZE}


def open_sum(
    total: Words,
    request: Request,
    answers: Mapping[int, Unmasked],
    masking: Mapping[int, bytes],
    digests: Mapping[int, bytes],
    label: bytes,
) -> None:
    """Take the masks off a sum in place: own ones of survivors, pair ones of who dropped."""
    weighed = weights(sorted(answers))
    added: list[bytes] = []
    removed: list[bytes] = []
    for peer in request.survivors:
        seed = combine({x: one.seeds[peer] for x, one in answers.items()}, weighed)
        if statements.digest_of(label, peer, seed) != digests[peer]:
            raise ProtocolError("Shares gave back another seed; the round is void.")
        removed.append(seed)
    for peer in request.dropped:
        private = combine({x: one.keys[peer] for x, one in answers.items()}, weighed)
        if public_of(private) != masking[peer]:
            raise ProtocolError("Shares gave back another key; the round is void.")
        agreement = Agreement(private)
        for other in request.survivors:
            key = pair_key(agreement, masking[peer], masking[other], label)
            # what the survivor added or took off is undone
            (removed if is_added(masking[other], masking[peer]) else added).append(key)
    add_streams(total, added, removed)


class Client:
    """Client `number` (from 1) of the round `label`, with an input of `length` words.

    Parameters
    ----------
    threshold
        The fewest survivors that it accepts.
    signing, registered
        Its own Ed25519 key, and the public ones of all by number, known beforehand; or neither.
    """

    def __init__(
        self,
        number: int,
        threshold: int,
        length: int,
        label: bytes,
        signing: bytes | None = None,
        registered: Mapping[int, bytes] | None = None,
    ) -> None:
        self.number, self.label = number, label
        self._least, self._length = threshold, length
        self._signing, self._registered = signing, registered
        self._steps = Phases("keys", "shares", "masked", "sign", "unmask")
        self._sealing, self._masking, self._seed = random_key(), random_key(), random_key()
        self._public = (public_of(self._sealing), public_of(self._masking))
        self._roster = Roster(0, {}, {}, {})
        self._held: dict[int, bytes] = {}  # both shares of every peer that sent some
        self._survivors: tuple[int, ...] = ()
        self._digest = b""
        self._secrets: dict[int, bytes] = {}  # agreed on with each peer, for seals

    def keys(self) -> Keys:
        """Return the public keys of this round."""
        with self._steps.take("keys"):
            told = statements.of_keys(self.label, self.number, *self._public)
            signed = signature(self._signing, told) if self._signing else b""
            return Keys(*self._public, signed)

    def shares(self, roster: Roster) -> Shares:
        """Share the own mask key and seed with everybody of the roster, sealed for each."""
        with self._steps.take("shares"):
            self._check_roster(roster)
            self._roster = roster
            self._digest = statements.roster_digest(self.label, roster.sealing, roster.masking)
            everybody, agreement = sorted(roster.masking), Agreement(self._sealing)
            self._secrets = {
                peer: agreement.secret(key)
                for peer, key in roster.sealing.items()
                if peer != self.number
            }
            keys = share(self._masking, roster.threshold, everybody)
            seeds = share(self._seed, roster.threshold, everybody)
            self._held = {self.number: keys[self.number] + seeds[self.number]}
            parcels = {
                peer: self._seal(peer, keys[peer] + seeds[peer])
                for peer in everybody
                if peer != self.number
            }
            digest = statements.digest_of(self.label, self.number, self._seed)
            return Shares(parcels, digest)

    def masked(self, parcels: Parcels, words: Words) -> Masked:
        """Open the shares of peers, and mask the input with all who sent some."""
        with self._steps.take("masked"):
            if words.shape != (self._length,):
                raise ProtocolError("The input has not the length that was agreed on.")
            if not set(parcels.parcels) <= set(self._roster.masking) - {self.number}:
                raise ProtocolError("Shares came from somebody who is not of this round.")
            enough(len(parcels.parcels) + 1, self._roster.threshold, "sent shares")
            for peer, sealed in parcels.parcels.items():
                self._held[peer] = self._unseal(peer, sealed)
            own, total, agreement = self._public[1], words.copy(), Agreement(self._masking)
            added, removed = [self._seed], list[bytes]()
            for peer in parcels.parcels:
                other = self._roster.masking[peer]
                key = pair_key(agreement, own, other, self.label)
                (added if is_added(own, other) else removed).append(key)
            add_streams(total, added, removed)
            return Masked(total)

    def sign(self, survivors: Survivors) -> Signed:
        """Sign who survived, once; without registered keys there is nothing to sign."""
        with self._steps.take("sign"):
            self._check_survivors(survivors.numbers)
            self._survivors = survivors.numbers
            if self._signing is None:
                return Signed(b"")
            told = statements.of_survivors(self.label, self._digest, survivors.numbers)
            return Signed(signature(self._signing, told))

    def unmask(self, request: Request) -> Unmasked:
        """Give for each peer the share of its seed or of its key, never of both, and once."""
        with self._steps.take("unmask"):
            check_request(request, set(self._held))
            self._check_survivors(request.survivors)
            if request.survivors != self._survivors:
                raise ProtocolError("The survivors are others than were told before; refused.")
            self._check_signatures(request)
            seeds = {peer: self._held[peer][SIZE:] for peer in request.survivors}
            keys = {peer: self._held[peer][:SIZE] for peer in request.dropped}
            self._held = {}
            return Unmasked(seeds, keys)

    def _check_survivors(self, survivors: tuple[int, ...]) -> None:
        enough(len(survivors), self._roster.threshold, "survived")
        if not set(survivors) <= set(self._held) or len(set(survivors)) < len(survivors):
            raise ProtocolError("The survivors are not those who sent shares; it is refused.")
        if self.number not in survivors:
            raise ProtocolError("The survivors do not name a client that is asked; it is refused.")

    def _check_signatures(self, request: Request) -> None:
        if self._registered is None:
            return
        told = statements.of_survivors(self.label, self._digest, request.survivors)
        valid = sum(
            peer in request.survivors and is_signed(self._registered.get(peer, b""), told, signed)
            for peer, signed in request.signatures.items()
        )
        enough(valid, self._roster.threshold, "signed who survived")

    def _check_roster(self, roster: Roster) -> None:
        sealing, masking = roster.sealing, roster.masking
        n = len(masking)
        if set(sealing) != set(masking) or min(masking, default=0) < 1:
            raise ProtocolError("The roster of the round is garbled; the round is left.")
        if (sealing.get(self.number), masking.get(self.number)) != self._public:
            raise ProtocolError("The roster has other keys for this client; the round is left.")
        keys = [*sealing.values(), *masking.values()]
        if len(set(keys)) < 2 * n or any(len(key) != KEY for key in keys):
            raise ProtocolError("The roster has a key twice, or what is no key; it is refused.")
        needed = max(self._least, least(n, signed=self._registered is not None))
        if not needed <= roster.threshold <= n:
            raise ProtocolError(
                f"The round has {n:,} clients and a threshold of {roster.threshold:,}, and at"
                f" least {needed:,} is accepted; the round is left."
            )
        if self._registered is not None:
            self._check_keys(roster, self._registered)

    def _check_keys(self, roster: Roster, registered: Mapping[int, bytes]) -> None:
        for peer, sealing in roster.sealing.items():
            told = statements.of_keys(self.label, peer, sealing, roster.masking[peer])
            known = registered.get(peer, b"")
            if not is_signed(known, told, roster.signatures.get(peer, b"")):
                raise ProtocolError(
                    "A key of the roster is not signed by who is registered, for this round and"
                    " these terms; the round is left."
                )

    def _seal(self, peer: int, both: bytes) -> bytes:
        about = statements.of_parcel(self.label, self.number, peer)
        return seal(derive_key(self._secrets[peer], about), both, about)

    def _unseal(self, peer: int, sealed: bytes) -> bytes:
        about = statements.of_parcel(self.label, peer, self.number)
        both = unseal(derive_key(self._secrets[peer], about), sealed, about)
        if len(both) != 2 * SIZE:
            raise ProtocolError("A sealed share has another length; the round is left.")
        return both
