"""What may be asked of clients at the end, and how a server opens the sum by what they answer."""

from collections.abc import Mapping

from veil.ratings.federated import statements
from veil.ratings.federated.masks import Words, add_streams, is_added, pair_key
from veil.ratings.federated.messages import Request, Unmasked
from veil.ratings.federated.primitives import Agreement, public_of
from veil.ratings.federated.refusal import ProtocolError
from veil.ratings.federated.shamir import SIZE, combine, weights


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
