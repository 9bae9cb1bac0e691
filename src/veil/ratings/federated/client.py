"""One client of one secure sum.

This module does no input or output. Every step runs once and in order. After an error no step runs
any more, so a server that repeats a step with other messages learns nothing.

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
    """The remaining steps of a party."""

    def __init__(self, *names: str) -> None:
        self._remaining = list(names)

    @contextmanager
    def take(self, name: str) -> Iterator[None]:
        """Take the next step, which must be `name`."""
        if not self._remaining or self._remaining[0] != name:
            self._remaining = []
            raise ProtocolError(f"The step '{name}' came out of order or again. It is refused.")
        rest, self._remaining = self._remaining[1:], []
        yield  # after an error no step remains
        self._remaining = rest


FOLLOWS = (
    "The server learns only the sum if it follows the protocol: without registered keys it could"
    " impersonate all other clients."
)
SIGNED = (
    "The server learns only the sum, even if it lies about who dropped out: keys are registered,"
    " and more than two thirds signed the survivors."
)
SPOILT = "A client that lies can spoil the sum: no input is proved to be within its bound."


def usual(n: int) -> int:
    """Return the default threshold: more than two thirds.

    >>> usual(20)
    14
    """
    return 2 * n // 3 + 1


def least(n: int, *, signed: bool) -> int:
    """Return the least threshold of n clients: more than 1/2 of them, or than 2/3 if signed."""
    return usual(n) if signed else n // 2 + 1


def choose_threshold(n: int, threshold: int | None, *, signed: bool) -> int:
    """Return `threshold` or its default, or raise if it does not protect n clients."""
    if n < 2:
        raise ParameterError("A secure sum needs at least two clients.")
    low = least(n, signed=signed)
    if threshold is None:
        return usual(n)
    if isinstance(threshold, bool) or not isinstance(threshold, int) or not low <= threshold <= n:
        raise ParameterError(
            f"The threshold of {n:,} clients must be an integer from {low:,} to {n:,}. With a"
            " lower one a server could open single inputs."
        )
    return threshold


def enough(count: int, threshold: int, what: str) -> None:
    """Raise if `count` is below the threshold, which makes the round void."""
    if count < threshold:
        raise ProtocolError(
            f"The round needs {threshold:,} clients, and {count:,} {what}. It is void, and nothing"
            " was opened."
        )


def check_request(request: Request, senders: set[int]) -> None:
    """Refuse a request that would open both secrets of a client, or that omits a client."""
    survivors, dropped = set(request.survivors), set(request.dropped)
    if survivors & dropped:
        raise ProtocolError("A client is both a survivor and dropped. The request is refused.")
    if survivors | dropped != senders:
        raise ProtocolError("The request must name exactly the clients that sent shares.")


def is_answer(request: Request, answer: Unmasked) -> bool:
    """Return whether an answer has exactly the requested shares."""
    sizes = {len(share) for share in (*answer.seeds.values(), *answer.keys.values())}
    expected = (set(request.survivors), set(request.dropped))
    return (set(answer.seeds), set(answer.keys)) == expected and sizes <= {SIZE}


def open_sum(
    total: Words,
    request: Request,
    answers: Mapping[int, Unmasked],
    masking: Mapping[int, bytes],
    digests: Mapping[int, bytes],
    label: bytes,
) -> None:
    """Remove the masks from a sum in place: survivors' own masks, pair masks of the dropped."""
    weighed = weights(sorted(answers))
    added: list[bytes] = []
    removed: list[bytes] = []
    for peer in request.survivors:
        seed = combine({x: answer.seeds[peer] for x, answer in answers.items()}, weighed)
        if statements.digest_of(label, peer, seed) != digests[peer]:
            raise ProtocolError("The shares of a seed give another seed. The round is void.")
        removed.append(seed)
    for peer in request.dropped:
        private = combine({x: answer.keys[peer] for x, answer in answers.items()}, weighed)
        if public_of(private) != masking[peer]:
            raise ProtocolError("The shares of a key give another key. The round is void.")
        agreement = Agreement(private)
        for other in request.survivors:
            key = pair_key(agreement, masking[peer], masking[other], label)
            # undo what the survivor added or subtracted
            (removed if is_added(masking[other], masking[peer]) else added).append(key)
    add_streams(total, added, removed)


class Client:
    """Client `number` (from 1) of the round `label`, with an input of `length` words.

    Parameters
    ----------
    threshold
        Least number of survivors that the client accepts.
    signing, registered
        The client's Ed25519 key and the public keys of all by number, known beforehand; or None.
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
        """Return the client's public keys for this round."""
        with self._steps.take("keys"):
            statement = statements.of_keys(self.label, self.number, *self._public)
            signed = signature(self._signing, statement) if self._signing else b""
            return Keys(*self._public, signed)

    def shares(self, roster: Roster) -> Shares:
        """Share this client's mask key and seed with all of the roster, sealed for each."""
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
        """Open the shares of peers, and mask the input with all peers that sent shares."""
        with self._steps.take("masked"):
            if words.shape != (self._length,):
                raise ProtocolError("The input must have the agreed length.")
            if not set(parcels.parcels) <= set(self._roster.masking) - {self.number}:
                raise ProtocolError("Shares came from a client that is not in this round.")
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
        """Sign the survivors once; without registered keys the signature is empty."""
        with self._steps.take("sign"):
            self._check_survivors(survivors.numbers)
            self._survivors = survivors.numbers
            if self._signing is None:
                return Signed(b"")
            statement = statements.of_survivors(self.label, self._digest, survivors.numbers)
            return Signed(signature(self._signing, statement))

    def unmask(self, request: Request) -> Unmasked:
        """Return for each peer the share of its seed or of its key, never both, and only once."""
        with self._steps.take("unmask"):
            check_request(request, set(self._held))
            self._check_survivors(request.survivors)
            if request.survivors != self._survivors:
                raise ProtocolError("A request must name the signed survivors. It is refused.")
            self._check_signatures(request)
            seeds = {peer: self._held[peer][SIZE:] for peer in request.survivors}
            keys = {peer: self._held[peer][:SIZE] for peer in request.dropped}
            self._held = {}
            return Unmasked(seeds, keys)

    def _check_survivors(self, survivors: tuple[int, ...]) -> None:
        enough(len(survivors), self._roster.threshold, "survived")
        if not set(survivors) <= set(self._held) or len(set(survivors)) < len(survivors):
            raise ProtocolError(
                "Survivors must be distinct clients that sent shares. The message is refused."
            )
        if self.number not in survivors:
            raise ProtocolError("The survivors lack this client. The request is refused.")

    def _check_signatures(self, request: Request) -> None:
        if self._registered is None:
            return
        statement = statements.of_survivors(self.label, self._digest, request.survivors)
        valid = sum(
            peer in request.survivors
            and is_signed(self._registered.get(peer, b""), statement, signed)
            for peer, signed in request.signatures.items()
        )
        enough(valid, self._roster.threshold, "signed the survivors")

    def _check_roster(self, roster: Roster) -> None:
        sealing, masking = roster.sealing, roster.masking
        n = len(masking)
        if set(sealing) != set(masking) or min(masking, default=0) < 1:
            raise ProtocolError("The roster is invalid. This client leaves the round.")
        if (sealing.get(self.number), masking.get(self.number)) != self._public:
            raise ProtocolError(
                "The roster has wrong keys for this client, which leaves the round."
            )
        keys = [*sealing.values(), *masking.values()]
        if len(set(keys)) < 2 * n or any(len(key) != KEY for key in keys):
            raise ProtocolError("The roster has a repeated or invalid key. It is refused.")
        needed = max(self._least, least(n, signed=self._registered is not None))
        if not needed <= roster.threshold <= n:
            raise ProtocolError(
                f"The round has {n:,} clients and a threshold of {roster.threshold:,}, but this"
                f" client needs at least {needed:,}. It leaves the round."
            )
        if self._registered is not None:
            self._check_keys(roster, self._registered)

    def _check_keys(self, roster: Roster, registered: Mapping[int, bytes]) -> None:
        for peer, sealing in roster.sealing.items():
            statement = statements.of_keys(self.label, peer, sealing, roster.masking[peer])
            key = registered.get(peer, b"")
            if not is_signed(key, statement, roster.signatures.get(peer, b"")):
                raise ProtocolError(
                    "A key of the roster is not signed by its registered owner for this round and"
                    " these terms. This client leaves the round."
                )

    def _seal(self, peer: int, shares: bytes) -> bytes:
        about = statements.of_parcel(self.label, self.number, peer)
        return seal(derive_key(self._secrets[peer], about), shares, about)

    def _unseal(self, peer: int, sealed: bytes) -> bytes:
        about = statements.of_parcel(self.label, peer, self.number)
        shares = unseal(derive_key(self._secrets[peer], about), sealed, about)
        if len(shares) != 2 * SIZE:
            raise ProtocolError("A sealed share has a wrong length. This client leaves the round.")
        return shares
