r"""Encrypted scores, and inner products of what two parties keep.

Scores of all items for a profile that the server never sees.
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

Inner products of two secret vectors, by additive shares and a dealer's random triples.
Two holders have a share each of x and y, :math:`x = x_1 + x_2 \bmod 2^{64}`. A third party, the
dealer, gives them shares of random a, b and of :math:`c = a \cdot b`, and sees nothing else. They
tell each other their shares of :math:`d = x - a` and :math:`e = y - b`, which are uniform, and

.. math:: x \cdot y = d \cdot e + d \cdot b + a \cdot e + c

needs no more talk. Proved: no one of the three learns anything of x, y or the product, if each
follows the protocol and no two of the three collude. Whoever gets both shares of the product
learns it. A triple is for one product: a second would tell the difference of two secrets.

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


class KeyHolder:
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


TRUST = (
    "No one of holder, holder and dealer learns a vector, if no two of the three collude: two of"
    " three that do learn everything."
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
        """The product as a number with a sign, where it is below 2^63 in size."""
        return self.total - 2**64 if self.total >= 2**63 else self.total


def shares_of(vector: ArrayLike) -> tuple[Words, Words]:
    """Part a vector of whole numbers into two shares, each of which is uniform by itself."""
    given = np.asarray(vector)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise InputError("A shared vector holds whole numbers of at most 64 bits, in one row.")
    words = given.astype(np.int64).view(np.uint64) if given.dtype.kind == "i" else given
    first = _uniform(len(words))
    return first, words.astype(np.uint64) - first


def deal(length: int) -> tuple[Half, Half]:
    """Return a fresh triple for two holders."""
    a, b = (_uniform(length), _uniform(length)), (_uniform(length), _uniform(length))
    c = np.atleast_1d(np.sum((a[0] + a[1]) * (b[0] + b[1]), dtype=np.uint64))
    mine = _uniform(1)
    return Half(a[0], b[0], mine), Half(a[1], b[1], c - mine)


class Holder:
    """Holds a share of each vector; `first` adds what must be added once."""

    def __init__(self, x: Words, y: Words, *, first: bool) -> None:
        if x.shape != y.shape:
            raise InputError("The vectors of an inner product have one length.")
        self._x, self._y, self._first = x, y, first
        self._half: Half | None = None
        self._used = False

    def opened(self, half: Half) -> tuple[Words, Words]:
        """Return the shares of x - a and y - b, for the other holder; once."""
        if self._used or half.a.shape != self._x.shape:
            raise ProtocolError("A triple is for one product of its length; it is refused.")
        self._half, self._used = half, True
        return self._x - half.a, self._y - half.b

    def product(self, own: Sequence[Words], other: Sequence[Words]) -> Words:
        """Return this holder's share (1,) of the product, by what both opened; once."""
        half, self._half = self._half, None
        if half is None:
            raise ProtocolError("A product is made once, and after it was opened; it is refused.")
        d, e = own[0] + other[0], own[1] + other[1]
        total = d * half.b + half.a * e
        if self._first:
            total = total + d * e
        return np.atleast_1d(np.sum(total, dtype=np.uint64)) + half.c


def inner_product(x: ArrayLike, y: ArrayLike) -> Product:
    """Run all three parties, and return the product with what each received.

    >>> inner_product([1, -2, 3], [4, 5, 6]).signed
    12
    """
    (x_one, x_two), (y_one, y_two) = shares_of(x), shares_of(y)
    one, two = Holder(x_one, y_one, first=True), Holder(x_two, y_two, first=False)
    halves = deal(len(x_one))
    from_one, from_two = one.opened(halves[0]), two.opened(halves[1])
    parts = (one.product(from_one, from_two), two.product(from_two, from_one))
    total = int((parts[0] + parts[1])[0])
    seen = {
        "first": (x_one, y_one, halves[0].a, halves[0].b, halves[0].c, *from_two),
        "second": (x_two, y_two, halves[1].a, halves[1].b, halves[1].c, *from_one),
        "dealer": (),
    }
    return Product(total, seen)


def _uniform(length: int) -> Words:
    return np.frombuffer(secrets.token_bytes(8 * length), dtype="<u8").astype(np.uint64)
