r"""A secret in n shares, of which any t give it back and t - 1 say nothing.

.. math:: f(x) = s + a_1 x + \dots + a_{t-1} x^{t-1} \bmod 2^{521} - 1,
   \quad \text{share of } x = f(x)

The coefficients are uniform. Proved: t - 1 shares have the same law for every secret.

References
----------
Shamir. How to Share a Secret. Communications of the ACM 22(11), 1979.
"""

import secrets
from collections.abc import Mapping, Sequence

from veil.core.errors import ParameterError
from veil.ratings.federated.refusal import ProtocolError

PRIME = 2**521 - 1
SIZE = 66  # bytes of a share
_SECRET = 64  # bytes of a secret, at most: fewer than those of the prime


def share(secret: bytes, threshold: int, places: Sequence[int]) -> dict[int, bytes]:
    """Return the share of each place x >= 1; `threshold` of them give the secret back."""
    if not 1 <= threshold <= len(places) or len(secret) > _SECRET:
        raise ParameterError("A secret of at most 64 bytes has from 1 to all shares as threshold.")
    if min(places) < 1 or len(set(places)) < len(places):
        raise ParameterError("The places of shares are different whole numbers from 1 on.")
    rest = [secrets.randbelow(PRIME) for _ in range(threshold - 1)]
    return {x: _value(secret, rest, x).to_bytes(SIZE, "big") for x in places}


def _value(secret: bytes, rest: list[int], x: int) -> int:
    value = 0
    for coefficient in rest:  # x is small: one reduction at the end is quicker than one a step
        value = (value + coefficient) * x
    return (value + int.from_bytes(secret, "big")) % PRIME


def weights(places: Sequence[int]) -> dict[int, int]:
    """Return what each share is multiplied by to give f(0), for one set of places."""
    if len(set(places)) < len(places):
        raise ProtocolError("The shares of a secret must stand at different places.")
    found = {}
    for x in places:
        above = below = 1
        for other in places:
            if other != x:
                above, below = above * other % PRIME, below * (other - x) % PRIME
        found[x] = above * pow(below, -1, PRIME) % PRIME
    return found


def combine(shares: Mapping[int, bytes], weighed: Mapping[int, int], size: int = 32) -> bytes:
    """Return the secret of `size` bytes behind shares at the places of `weighed`."""
    total = 0
    for x, weight in weighed.items():
        value = int.from_bytes(shares[x], "big")
        if len(shares[x]) != SIZE or value >= PRIME:
            raise ProtocolError("A share of a secret is not one; the sum cannot be opened.")
        total += weight * value
    secret = total % PRIME
    if secret >> (8 * size):
        raise ProtocolError("The shares of a secret do not fit together; nothing was opened.")
    return secret.to_bytes(size, "big")
