"""Generalised randomised response: report the code or a random other one."""

from fractions import Fraction
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.dp.exact.samplers import Table, finite
from veil.dp.local.aggregate import Aggregate, Tally
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import CodeOracle, Drawing, local
from veil.dp.local.packed import Array, Part, code_part


class GRR(CodeOracle):
    r"""Report the code with probability p, and each of the others with probability q.

    .. math:: p = \frac{e^\varepsilon}{e^\varepsilon + k - 1}, \qquad
       q = \frac{1}{e^\varepsilon + k - 1}

    A count is estimated by (c - n q)/(p - q). Best for few codes: its error grows with k.

    References
    ----------
    Kairouz, Bonawitz, Ramage. Discrete Distribution Estimation under Local Privacy. ICML 2016,
    Equation 6. Wang, Blocki, Li, Jha. Locally Differentially Private Protocols for Frequency
    Estimation. USENIX Security 2017, Section 4.1 (direct encoding).
    """

    name: ClassVar[str] = "grr"
    family: ClassVar[str] = "Codes"
    epsilon: Annotated[float, Field(gt=0, description="budget of a report", examples=[2.0])]
    size: Annotated[int, Field(ge=2, le=2**24, description="number of codes", examples=[8])]

    @property
    def guarantee(self) -> Guarantee:
        """Local DP: p/q = e^epsilon."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Codes."""
        return code_part(self.size), None

    @property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities of the true code, and of any other one."""
        return keep_and_replace(self.epsilon, self.size)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Keep or replace each code; the replacement is always drawn."""
        del memo
        return respond(x, self.epsilon, self.size, rng).astype(self.parts[0].dtype), None

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count codes."""
        del targets
        return Tally(self, self.size, *self.probabilities)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        del index, a, b
        return data


def respond(x: Ids, epsilon: float, size: int, rng: Generator) -> Ids:
    """Keep each code with probability p, or replace it by a uniform other one."""
    moved = _moves(Fraction(epsilon), size).draw(len(x), rng)
    steps = rng.integers(1, size, len(x))
    replaced: Ids = (x + moved * steps) % size
    return replaced


def keep_and_replace(epsilon: float, size: int) -> tuple[float, float]:
    """Return p and q as floats, for estimates only."""
    rest = float(np.exp(-epsilon))
    return 1 / (1 + (size - 1) * rest), rest / (1 + (size - 1) * rest)


@lru_cache(maxsize=64)
def _moves(epsilon: Fraction, size: int) -> Table:
    """Return the table that draws 0 (keep) or 1 (replace)."""
    return finite([(1, 0), (size - 1, epsilon)])
