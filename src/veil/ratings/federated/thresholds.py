"""How many clients must survive: fewer, and nothing is opened."""

from veil.core.errors import ParameterError
from veil.ratings.federated.refusal import ProtocolError

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


def chosen(n: int, threshold: int | None, *, signed: bool) -> int:
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
