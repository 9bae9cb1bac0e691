r"""Inner products of two secret vectors, by additive shares and a dealer's random triples.

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

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.ratings.federated.masks import Words
from veil.ratings.federated.refusal import ProtocolError

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
