"""Optimised unary encoding: one bit for each code."""

from fractions import Fraction
from typing import Annotated, ClassVar

from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.dp.exact.coins import coins, odds_packed
from veil.dp.local.aggregate import Aggregate, Columns
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import LIMIT, CodeOracle, Drawing, local, sigmoid
from veil.dp.local.packed import Array, Part, bits_at, packed_part, write_bits


class OUE(CodeOracle):
    r"""Report one bit per code: the true one is 1 with probability 1/2, any other with q.

    .. math:: q = \frac{1}{e^\varepsilon + 1}, \qquad
       \mathrm{Var} = n \frac{4 e^\varepsilon}{(e^\varepsilon - 1)^2}

    References
    ----------
    Wang, Blocki, Li, Jha. Locally Differentially Private Protocols for Frequency Estimation.
    USENIX Security 2017, Section 4.3.
    """

    name: ClassVar[str] = "oue"
    family: ClassVar[str] = "Codes"
    epsilon: Annotated[float, Field(gt=0, description="budget of a report", examples=[2.0])]
    size: Annotated[int, Field(ge=2, le=LIMIT, description="number of codes", examples=[64])]

    @property
    def guarantee(self) -> Guarantee:
        """Local DP: the two bits in which two codes differ have a joint ratio of e^epsilon."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Packed bits."""
        return packed_part(self.size), None

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1] at the true code, and at any other one."""
        return 0.5, sigmoid(-self.epsilon)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Toss all bits as for false codes, then a fair coin for the true one."""
        del memo
        packed = odds_packed(Fraction(self.epsilon), len(x), self.size, rng)
        write_bits(packed, x, coins(Fraction(1, 2), len(x), rng))
        return packed, None

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count ones."""
        del targets
        return Columns(self, self.size, *self.probabilities)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        del index
        return 2 * bits_at(data, a) + bits_at(data, b)
