r"""Scores of all items for a profile that the server never sees.

The user encrypts a vector x of d numbers, the server multiplies it by its plain item matrix, and
the user decrypts :math:`W^\top x`. Up to `NARROW` numbers each is a ciphertext of its own, in all
slots, so that 4,096 items cost d products and no rotation; wider profiles are one ciphertext, and
every item is an inner product.

It hides the profile and the scores from the server: ring learning with errors, degree 8,192 and a
modulus of 160 bits, which the standard counts as 128 bits of security or more. It does not hide
what the user does with the answer later, nor the item matrix from the user.

References
----------
Cheon, Kim, Kim, Song. Homomorphic Encryption for Arithmetic of Approximate Numbers. ASIACRYPT
2017.
Li, Micciancio. On the Security of Homomorphic Encryption on Approximate Numbers. EUROCRYPT 2021.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.ratings.federated.refusal import ProtocolError

try:
    import tenseal
except ImportError as error:
    raise MissingExtraError("Encrypted scoring needs tenseal: pip install 'veil[he]'.") from error

CAVEAT = (
    "The server sees neither profile nor scores. What is decrypted must never go back to it: the"
    " error of the approximation tells of the key. What is done with the answers is not hidden."
)
DEGREE = 8192
SLOTS = DEGREE // 2
NARROW = 64  # numbers that are sent as a ciphertext each
_SCALE = 2.0**40
_MODULI = [60, 40, 60]
_MOST = 256 * 2**20  # bytes of a question
_LARGEST = 2.0**15  # of a number


@dataclass(frozen=True, repr=False)
class Question:
    """A public key and an encrypted profile of `size` numbers: all that the server gets."""

    context: bytes
    parts: tuple[bytes, ...]
    size: int


class Asker:
    """Holds the secret key, which never leaves it; one for each profile."""

    def __init__(self) -> None:
        self._context = tenseal.context(
            tenseal.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=_MODULI
        )
        self._context.global_scale = _SCALE

    def ask(self, profile: Floats) -> Question:
        """Encrypt a profile (d,)."""
        x = np.asarray(profile, dtype=np.float64)
        if x.ndim != 1 or not 1 <= len(x) <= SLOTS or not (np.abs(x) <= _LARGEST).all():
            raise InputError(
                f"A profile is a row of 1 to {SLOTS:,} finite numbers of at most {_LARGEST:,.0f}."
            )
        if len(x) > NARROW:
            self._context.generate_galois_keys()
            rows = [x.tolist()]
        else:
            rows = [[number] * SLOTS for number in x.tolist()]
        parts = tuple(tenseal.ckks_vector(self._context, row).serialize() for row in rows)
        return Question(self._context.serialize(save_secret_key=False), parts, len(x))

    def scores(self, answer: tuple[bytes, ...], items: int) -> Floats:
        """Decrypt the scores (m,); they are for the user, and must not go back to the server."""
        found: list[float] = []
        for part in answer:
            found += _vector(self._context, part).decrypt()
        if len(found) < items:
            raise ProtocolError("The answer has fewer scores than there are items.")
        return np.array(found[:items])


def answer(question: Question, matrix: Floats) -> tuple[bytes, ...]:
    """Multiply an encrypted profile (d,) by a plain item matrix (d, m), without any secret."""
    weights = np.asarray(matrix, dtype=np.float64)
    if weights.ndim != 2 or len(weights) != question.size or not weights.shape[1]:
        raise InputError("The item matrix has a row for each number of the profile.")
    if not (np.abs(weights) <= _LARGEST).all():
        raise InputError(f"The item matrix holds finite numbers of at most {_LARGEST:,.0f}.")
    if sum(map(len, (question.context, *question.parts))) > _MOST:
        raise ProtocolError("A question has more than 256 MiB; it is refused.")
    context = _public(question.context)
    parts = [_vector(context, part) for part in question.parts]
    if len(parts) == 1 and question.size > 1:
        return tuple(_dot(parts[0], weights[:, item]) for item in range(weights.shape[1]))
    if len(parts) != question.size:
        raise ProtocolError("A question has another number of parts; it is refused.")
    blocks = range(0, weights.shape[1], SLOTS)
    return tuple(_block(parts, weights[:, start : start + SLOTS]) for start in blocks)


def _block(parts: list[Any], weights: Floats) -> bytes:
    """Add up the parts times their weights, slot by slot."""
    total = None
    padded = np.zeros((len(weights), SLOTS))
    padded[:, : weights.shape[1]] = weights
    for part, row in zip(parts, _nonzero(padded), strict=True):
        product = part * row.tolist()
        total = product if total is None else total + product
    assert total is not None  # noqa: S101 - a profile has a number
    return bytes(total.serialize())


def _dot(part: Any, weights: Floats) -> bytes:  # noqa: ANN401 - it has no types
    return bytes(part.dot(_nonzero(weights[None])[0].tolist()).serialize())


def _nonzero(rows: Floats) -> Floats:
    """Return rows none of which is all 0, which the library refuses; 2^-40 is below its error."""
    made = rows.copy()
    made[~rows.any(axis=1), 0] = 2.0**-40
    return made


def _public(context: bytes) -> Any:  # noqa: ANN401 - it has no types
    try:
        found = tenseal.context_from(context)
    except (ValueError, RuntimeError, TypeError):
        raise ProtocolError("The public key of a question is garbled; it is refused.") from None
    if found.is_private():
        raise ProtocolError("A question holds a secret key, which must stay at home; refused.")
    return found


def _vector(context: Any, part: bytes) -> Any:  # noqa: ANN401 - it has no types
    try:
        return tenseal.ckks_vector_from(context, part)
    except (ValueError, RuntimeError, TypeError):
        raise ProtocolError("An encrypted vector is garbled; it is refused.") from None
