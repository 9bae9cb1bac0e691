"""Hadamard count-mean sketch: one randomised bit of a transformed row."""

from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.dp.exact.coins import odds
from veil.dp.local.aggregate import Aggregate
from veil.dp.local.hashing import Signs, Words, positions
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import Drawing, TextOracle, local, sigmoid
from veil.dp.local.oracles.cms import HASHES
from veil.dp.local.packed import Array, Part

Flags = NDArray[np.bool_]


def power_of_two(width: int) -> int:
    """Check that a width is a power of two (field validator)."""
    if width & (width - 1):
        raise PydanticCustomError("power", "must be a power of two")
    return width


Width = Annotated[
    int,
    Field(ge=2, le=2**16, description="columns of the sketch, a power of two"),
    AfterValidator(power_of_two),
]


class HCMS(TextOracle):
    r"""Report one entry of the Hadamard transform of the row, flipped with probability q.

    .. math:: (-1)^{\mathrm{popcount}(l \wedge h_j(d))}, \qquad
       q = \frac{1}{1 + e^{\varepsilon}}, \qquad c = \frac{e^\varepsilon+1}{e^\varepsilon-1}

    with j and l uniform. The bit is 1 for an entry of +1.

    References
    ----------
    Apple Differential Privacy Team. Learning with Privacy at Scale. Apple Machine Learning Journal
    1(8), 2017, Algorithms 5-7 (Hadamard Count Mean Sketch).
    """

    name: ClassVar[str] = "hcms"
    family: ClassVar[str] = "Sketches"
    epsilon: Annotated[float, Field(gt=0, description="budget of a report", examples=[4.0])]
    hashes: Annotated[int, HASHES] = 64
    width: Width = 1024

    @property
    def guarantee(self) -> Guarantee:
        """Local DP of one bit; j and l do not depend on the text."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Bits, and (j, l)."""
        return Part(np.int8, (), (2,)), Part(np.int32, (2,), (self.hashes, self.width))

    @property
    def flip(self) -> float:
        """Probability that the bit is flipped."""
        return sigmoid(-self.epsilon)

    @property
    def scale(self) -> float:
        """The factor c that corrects for the flips."""
        return unflip(self.epsilon)

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1] for an entry of +1, and of -1."""
        return sigmoid(self.epsilon), self.flip

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw an entry each, and flip it or not."""
        del memo
        return spectral(x, Fraction(self.epsilon), self.hashes, self.width, rng)

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Return an empty sketch."""
        del targets
        return Signs(self, self.hashes, self.width, self.scale)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        first, second = (entries(x, index[:, 0], index[:, 1], self.width) for x in (a, b))
        return np.asarray(2 * (data == first) + (data == second))


def unflip(epsilon: float) -> float:
    """Return (e^epsilon + 1)/(e^epsilon - 1)."""
    return 1 / float(np.tanh(epsilon / 2))


def entries(x: Words, functions: Array, at: Array, width: int) -> Flags:
    """Return which entries of the Hadamard matrix are +1."""
    cells: Ids = positions(x, functions, width)
    positive: Flags = np.bitwise_count(cells & at) & 1 == 0
    return positive


def spectral(
    x: Words, epsilon: Fraction, hashes: int, width: int, rng: Generator
) -> tuple[Array, Array]:
    """Draw one Hadamard report for each text: bits (n,) and (j, l) (n, 2)."""
    index = np.empty((len(x), 2), dtype=np.int32)
    index[:, 0], index[:, 1] = np.divmod(rng.integers(0, hashes * width, len(x)), width)
    bits = entries(x, index[:, 0], index[:, 1], width) ^ odds(epsilon, len(x), rng)
    return bits.astype(np.int8), index
