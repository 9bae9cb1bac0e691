"""The sum of many vectors, of which nobody sees a single one."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError
from veil.ratings.federated import thresholds
from veil.ratings.federated.client import Client
from veil.ratings.federated.masks import Words
from veil.ratings.federated.primitives import fresh, signing_public
from veil.ratings.federated.processes import in_processes
from veil.ratings.federated.rehearsal import PHASES, Rehearsal
from veil.ratings.federated.server import Server


@dataclass(frozen=True, eq=False, repr=False)
class SecureSum:
    """A sum, and all that the server saw on the way to it.

    Attributes
    ----------
    total
        (m,) sum of the vectors of the survivors, modulo 2^64.
    survivors
        Clients, by position from 0, whose vector is in the sum.
    seen
        What the server received of each client as its input: (m,) words by position.
    bytes
        Bytes that all clients sent and received, with the lengths of frames.
    sent
        Bytes that each client sent, by position.
    threshold
        How many had to survive.
    trust
        What is proved of it, and against whom, in words.
    """

    total: Words
    survivors: tuple[int, ...]
    seen: dict[int, Words]
    bytes: int
    sent: dict[int, int]
    threshold: int
    trust: str


def secure_sum(
    vectors: Sequence[ArrayLike],
    threshold: int | None = None,
    drop: Mapping[int, str] | Sequence[int] = (),
    processes: bool = False,
    signed: bool = False,
    seconds: float = 30.0,
) -> SecureSum:
    r"""Add up vectors of whole numbers modulo 2^64 so that the server sees the sum alone.

    Proved (Bonawitz et al. 2017): a server that follows the protocol, together with fewer than
    `threshold` clients, learns the sum of the others and nothing else, whoever drops out. With
    `signed` it may also lie about who dropped out.

    Parameters
    ----------
    vectors
        Of whole numbers and one length, one of each client; negative ones count modulo 2^64.
    threshold
        How many must survive, by default :math:`\lfloor 2n/3 \rfloor + 1`; with fewer it raises.
    drop
        Who leaves, by position, and after which phase: ``"keys"`` or ``"shares"`` before its input
        is sent, ``"masked"`` or ``"signed"`` after it, so that its input counts. A list means
        ``"shares"``.
    processes
        Run every client in a process of its own, over TCP on the loopback address.
    signed
        Give every client a registered key, by which keys and survivors are signed.
    seconds
        Time for each phase, with `processes`.

    Examples
    --------
    >>> secure_sum([[1, 2], [10, 20], [100, 200]]).total.tolist()
    [111, 222]
    """
    words = [_words(one) for one in vectors]
    n = len(words)
    least = thresholds.chosen(n, threshold, signed=signed)
    if len({len(one) for one in words}) > 1 or not len(words[0]):
        raise InputError("The vectors of a sum have one length, and at least one number.")
    leave = _leave(drop, n)
    label = b"sum-" + secrets.token_bytes(16)
    signing = {number: fresh() for number in range(1, n + 1)} if signed else {}
    known = {number: signing_public(one) for number, one in signing.items()} or None
    clients = {
        number: Client(number, least, len(words[0]), label, signing.get(number), known)
        for number in range(1, n + 1)
    }
    inputs = dict(enumerate(words, 1))
    server = Server(least, len(words[0]), label, signed=signed)
    if processes:
        seen = in_processes(server, inputs, least, leave, signing, seconds)
    else:
        rehearsal = Rehearsal(clients, leave)
        total, masked = rehearsal.run(server, inputs)
        seen = (total, masked, rehearsal.sent, rehearsal.received)
    total, masked, sent, received = seen
    trust = thresholds.SIGNED if signed else thresholds.FOLLOWS
    return SecureSum(
        total,
        tuple(number - 1 for number in server.counted),
        {number - 1: one.words for number, one in masked.items()},
        sum(sent.values()) + sum(received.values()),
        {number - 1: count for number, count in sent.items()},
        server.threshold,
        f"{trust} {thresholds.SPOILT}",
    )


def _words(vector: ArrayLike) -> Words:
    given = np.asarray(vector)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError(
            "A vector of a sum holds whole numbers of at most 64 bits in one row; make numbers"
            " with a fraction whole first (veil.ratings.federated.fixed)."
        )
    return (
        given.astype(np.int64).view(np.uint64)
        if given.dtype.kind == "i"
        else given.astype(np.uint64)
    )


def _leave(drop: Mapping[int, str] | Sequence[int], n: int) -> dict[int, str]:
    leave = dict(drop) if isinstance(drop, Mapping) else dict.fromkeys(drop, "shares")
    whole = all(isinstance(one, int | np.integer) and 0 <= one < n for one in leave)
    if not whole or not set(leave.values()) <= set(PHASES):
        raise ParameterError(
            f"Who drops out is a position from 0 to {n - 1:,}, after one of: {', '.join(PHASES)}."
        )
    return {int(one) + 1: phase for one, phase in leave.items()}
