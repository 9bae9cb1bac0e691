"""Private count-mean sketch: a row of bits under one of many hash functions."""

from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.dp.exact.coins import odds_packed
from veil.dp.local.aggregate import Aggregate
from veil.dp.local.hashing import Sketch, positions
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import Drawing, TextOracle, local, sigmoid
from veil.dp.local.packed import (
    Array,
    Part,
    bits_at,
    code_part,
    flip_bits,
    group_sums,
    packed_part,
)

HASHES = Field(ge=1, le=2**10, description="number of hash functions; each report uses one")


class CMS(TextOracle):
    r"""Report a row of bits, 1 at the hash of the text, each flipped with probability q.

    .. math:: q = \frac{1}{1 + e^{\varepsilon/2}}, \qquad
       c = \frac{e^{\varepsilon/2}+1}{e^{\varepsilon/2}-1}

    Two texts differ in two bits, each with probability ratio e^(epsilon/2).

    References
    ----------
    Apple Differential Privacy Team. Learning with Privacy at Scale. Apple Machine Learning Journal
    1(8), 2017, Algorithms 1-4 (Private Count Mean Sketch).
    """

    name: ClassVar[str] = "cms"
    family: ClassVar[str] = "Sketches"
    epsilon: Annotated[float, Field(gt=0, description="budget of a report", examples=[4.0])]
    hashes: Annotated[int, HASHES] = 64
    width: Annotated[int, Field(ge=2, le=2**16, description="bits of a report")] = 1024

    @property
    def guarantee(self) -> Guarantee:
        """Local DP; the choice of hash function does not depend on the text."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Packed bits, and hash functions."""
        return packed_part(self.width), code_part(self.hashes)

    @property
    def flip(self) -> float:
        """Probability that a bit is flipped."""
        return sigmoid(-self.epsilon / 2)

    @property
    def scale(self) -> float:
        """The factor c that corrects for the flips."""
        return 1 / float(np.tanh(self.epsilon / 4))

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1] at the hash of the text, and elsewhere."""
        return sigmoid(self.epsilon / 2), self.flip

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw a hash function per text, toss bits of an empty row, and flip the text's bit."""
        del memo
        functions = rng.integers(0, self.hashes, len(x), dtype=np.int32)
        packed = odds_packed(Fraction(self.epsilon) / 2, len(x), self.width, rng)
        flip_bits(packed, positions(x, functions, self.width))
        return packed, functions

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Return an empty sketch."""
        del targets
        return Rows(self)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        first, second = (positions(x, index, self.width) for x in (a, b))
        return 2 * bits_at(data, first) + bits_at(data, second)


class Rows(Sketch):
    """Counts of ones per cell, and of reports per row."""

    def __init__(self, oracle: CMS) -> None:
        noise = (oracle.scale**2 - 1) / 4
        width = oracle.width
        shared = (1 - 1 / width) / width  # a report that collides by chance counts as 1
        shape = (oracle.hashes, width)
        super().__init__(oracle, shape, noise + shared, noise, width * noise + 1)
        self._scale = oracle.scale
        self._sizes = np.zeros(oracle.hashes, dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        self._cells += group_sums(data, index, self.hashes, self.width)
        self._sizes += np.bincount(index, minlength=self.hashes)

    def rows(self) -> Floats:
        """Return the rows corrected for flips."""
        sizes = self._sizes[:, None].astype(np.float64)
        return self.hashes * (self._scale * (self._cells - sizes / 2) + sizes / 2)
