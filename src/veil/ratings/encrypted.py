r"""Encrypted scores, and inner products of vectors shared by two parties.

*Scores.* The user encrypts a profile x of d numbers, the server multiplies it by its plain item
matrix, and the user decrypts :math:`W^\top x`. Up to `NARROW` numbers are sent as one ciphertext
each, repeated in all slots, so that 4,096 items cost d products and no rotation. A wider profile
is a single ciphertext, and every item costs an inner product.

The server sees neither the profile nor the scores: ring learning with errors, degree 8,192 and a
modulus of 160 bits, which the standard counts as 128 bits of security or more. What the user does
with the answer is not hidden, nor is the item matrix hidden from the user.

References
----------
Cheon, Kim, Kim, Song. Homomorphic Encryption for Arithmetic of Approximate Numbers. ASIACRYPT
2017.
Li, Micciancio. On the Security of Homomorphic Encryption on Approximate Numbers. EUROCRYPT 2021.

*Inner products* of two secret vectors, by additive shares and a dealer's random triples. Two
holders have a share each of x and y, :math:`x = x_1 + x_2 \bmod 2^{64}`. A third party, the
dealer, gives them shares of random a, b and of :math:`c = a \cdot b`, and sees nothing else. They
exchange their shares of :math:`d = x - a` and :math:`e = y - b`, which are uniform, and

.. math:: x \cdot y = d \cdot e + d \cdot b + a \cdot e + c

needs no more messages. Proved: none of the three learns anything about x, y or the product, if
each follows the protocol and no two of the three collude. A party with both shares of the product
learns it. A triple serves one product: a second one would reveal the difference of two secrets.

References
----------
Beaver. Efficient Multiparty Protocols Using Circuit Randomization. CRYPTO 1991.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.ratings.federated.primitives import ProtocolError, Words

try:
    import tenseal
except ImportError as error:
    raise MissingExtraError("Encrypted scoring needs tenseal: pip install 'veil[he]'.") from error


CAVEAT = (
    "The server sees neither profile nor scores. Never send it what was decrypted: the error of"
    " the approximation reveals information about the key. Later use of the answers is not hidden."
)
DEGREE = 8192
SLOTS = DEGREE // 2
NARROW = 64  # largest number of single ciphertexts
_SCALE = 2.0**40
_MODULI = [60, 40, 60]
_MOST = 256 * 2**20  # bytes of a question
_LARGEST = 2.0**15  # of a number


@dataclass(frozen=True, repr=False)
class Question:
    """A public key and an encrypted profile of `size` numbers: all that the server receives."""

    context: bytes
    parts: tuple[bytes, ...]
    size: int


class KeyHolder:
    """Holds the secret key of one profile; the key never leaves this object."""

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
                f"A profile must be 1 to {SLOTS:,} finite numbers of at most {_LARGEST:,.0f}."
            )
        if len(x) > NARROW:
            self._context.generate_galois_keys()
            rows = [x.tolist()]
        else:
            rows = [[number] * SLOTS for number in x.tolist()]
        parts = tuple(tenseal.ckks_vector(self._context, row).serialize() for row in rows)
        return Question(self._context.serialize(save_secret_key=False), parts, len(x))

    def scores(self, answer: tuple[bytes, ...], items: int) -> Floats:
        """Decrypt the scores (m,); they must not go back to the server."""
        scores: list[float] = []
        for part in answer:
            scores += _vector(self._context, part).decrypt()
        if len(scores) < items:
            raise ProtocolError("The answer has fewer scores than items. It is refused.")
        return np.array(scores[:items])


def answer(question: Question, matrix: Floats) -> tuple[bytes, ...]:
    """Multiply an encrypted profile (d,) by a plain item matrix (d, m), without a secret key."""
    weights = np.asarray(matrix, dtype=np.float64)
    if weights.ndim != 2 or len(weights) != question.size or not weights.shape[1]:
        raise InputError("The item matrix must have a row for each number of the profile.")
    if not (np.abs(weights) <= _LARGEST).all():
        raise InputError(f"The item matrix must have finite numbers of at most {_LARGEST:,.0f}.")
    if sum(map(len, (question.context, *question.parts))) > _MOST:
        raise ProtocolError("A question has more than 256 MiB. It is refused.")
    context = _public(question.context)
    parts = [_vector(context, part) for part in question.parts]
    if len(parts) == 1 and question.size > 1:
        return tuple(_dot(parts[0], weights[:, item]) for item in range(weights.shape[1]))
    if len(parts) != question.size:
        raise ProtocolError("A question has a wrong number of parts. It is refused.")
    blocks = range(0, weights.shape[1], SLOTS)
    return tuple(_block(parts, weights[:, start : start + SLOTS]) for start in blocks)


def _block(parts: list[Any], weights: Floats) -> bytes:
    """Return the sum of the parts times their weights, slot by slot."""
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
    """Return `rows` without zero rows, which the library refuses; 2^-40 is below its error."""
    padded = rows.copy()
    padded[~rows.any(axis=1), 0] = 2.0**-40
    return padded


def _public(context: bytes) -> Any:  # noqa: ANN401 - it has no types
    try:
        opened = tenseal.context_from(context)
    except (ValueError, RuntimeError, TypeError):
        raise ProtocolError("The public key of a question is invalid. It is refused.") from None
    if opened.is_private():
        raise ProtocolError("A question has a secret key, which must stay private. It is refused.")
    return opened


def _vector(context: Any, part: bytes) -> Any:  # noqa: ANN401 - it has no types
    try:
        return tenseal.ckks_vector_from(context, part)
    except (ValueError, RuntimeError, TypeError):
        raise ProtocolError("An encrypted vector is invalid. It is refused.") from None


TRUST = (
    "None of the two holders and the dealer learns a vector if no two of them collude; two that"
    " do learn everything."
)


@dataclass(frozen=True, repr=False)
class Half:
    """One holder's share of a triple: a, b (m,) and c."""

    a: Words
    b: Words
    c: Words


@dataclass(frozen=True, eq=False, repr=False)
class Product:
    """An inner product modulo 2^64, and everything that each party received."""

    total: int
    seen: dict[str, tuple[Words, ...]] = field(default_factory=dict)

    @property
    def signed(self) -> int:
        """The product as a signed number, if it is below 2^63 in size."""
        return self.total - 2**64 if self.total >= 2**63 else self.total


def shares_of(vector: ArrayLike) -> tuple[Words, Words]:
    """Split a vector of integers into two uniform shares."""
    array = np.asarray(vector)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise InputError("A shared vector must be a row of integers of at most 64 bits.")
    words = array.astype(np.int64).view(np.uint64) if array.dtype.kind == "i" else array
    first = _uniform(len(words))
    return first, words.astype(np.uint64) - first


def deal(length: int) -> tuple[Half, Half]:
    """Return a fresh triple for two holders."""
    a, b = (_uniform(length), _uniform(length)), (_uniform(length), _uniform(length))
    c = np.atleast_1d(np.sum((a[0] + a[1]) * (b[0] + b[1]), dtype=np.uint64))
    mine = _uniform(1)
    return Half(a[0], b[0], mine), Half(a[1], b[1], c - mine)


class Holder:
    """Holds a share of each vector; `first` marks the holder that adds the common term."""

    def __init__(self, x: Words, y: Words, *, first: bool) -> None:
        if x.shape != y.shape:
            raise InputError("The vectors of an inner product must have one length.")
        self._x, self._y, self._first = x, y, first
        self._half: Half | None = None
        self._used = False

    def opened(self, half: Half) -> tuple[Words, Words]:
        """Return the shares of x - a and y - b for the other holder. Works once."""
        if self._used or half.a.shape != self._x.shape:
            raise ProtocolError("A triple serves one product of its length. It is refused.")
        self._half, self._used = half, True
        return self._x - half.a, self._y - half.b

    def product(self, own: Sequence[Words], other: Sequence[Words]) -> Words:
        """Return this holder's share (1,) of the product from all opened shares. Works once."""
        half, self._half = self._half, None
        if half is None:
            raise ProtocolError(
                "A product needs opened shares, and uses them once. It is refused."
            )
        d, e = own[0] + other[0], own[1] + other[1]
        total = d * half.b + half.a * e
        if self._first:
            total = total + d * e
        return np.atleast_1d(np.sum(total, dtype=np.uint64)) + half.c


def inner_product(x: ArrayLike, y: ArrayLike) -> Product:
    """Run all three parties; return the product and what each received.

    >>> inner_product([1, -2, 3], [4, 5, 6]).signed
    12
    """
    (x_one, x_two), (y_one, y_two) = shares_of(x), shares_of(y)
    first, second = Holder(x_one, y_one, first=True), Holder(x_two, y_two, first=False)
    halves = deal(len(x_one))
    from_one, from_two = first.opened(halves[0]), second.opened(halves[1])
    parts = (first.product(from_one, from_two), second.product(from_two, from_one))
    total = int((parts[0] + parts[1])[0])
    received = {
        "first": (x_one, y_one, halves[0].a, halves[0].b, halves[0].c, *from_two),
        "second": (x_two, y_two, halves[1].a, halves[1].b, halves[1].c, *from_one),
        "dealer": (),
    }
    return Product(total, received)


def _uniform(length: int) -> Words:
    return np.frombuffer(secrets.token_bytes(8 * length), dtype="<u8").astype(np.uint64)
