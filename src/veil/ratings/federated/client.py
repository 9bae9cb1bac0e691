"""One client of one secure sum: what it answers to each message, and what it refuses.

No input or output happens here. Every step is taken once and in order; after a refusal none is
taken any more, so that a server that asks again with other words learns nothing.

References
----------
Bonawitz et al. Practical Secure Aggregation for Privacy-Preserving Machine Learning. CCS 2017,
figure 4.
"""

from collections.abc import Mapping

from veil.ratings.federated import statements
from veil.ratings.federated.masks import Words, add_streams, is_added, pair_key
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
from veil.ratings.federated.opening import check_request
from veil.ratings.federated.primitives import (
    KEY,
    Agreement,
    derived,
    fresh,
    is_signed,
    public_of,
    seal,
    signature,
    unseal,
)
from veil.ratings.federated.refusal import ProtocolError
from veil.ratings.federated.shamir import SIZE, share
from veil.ratings.federated.steps import Steps
from veil.ratings.federated.thresholds import enough, least


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
        self._steps = Steps("keys", "shares", "masked", "sign", "unmask")
        self._sealing, self._masking, self._seed = fresh(), fresh(), fresh()
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
                raise ProtocolError("A key of the roster is not signed by who is registered.")

    def _seal(self, peer: int, both: bytes) -> bytes:
        about = statements.of_parcel(self.label, self.number, peer)
        return seal(derived(self._secrets[peer], about), both, about)

    def _unseal(self, peer: int, sealed: bytes) -> bytes:
        about = statements.of_parcel(self.label, peer, self.number)
        both = unseal(derived(self._secrets[peer], about), sealed, about)
        if len(both) != 2 * SIZE:
            raise ProtocolError("A sealed share has another length; the round is left.")
        return both
