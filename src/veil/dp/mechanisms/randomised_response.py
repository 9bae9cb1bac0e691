"""Randomised response."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import Table, finite
from veil.dp.mechanism import Array, Mechanism, flat_outputs, whole


class RandomisedResponse(Mechanism):
    r"""Keep each code with some probability, else replace it by a uniform other one.

    .. math:: \Pr[M(x) = y] = \frac{e^\varepsilon}{e^\varepsilon + k - 1} \text{ for } y = x, \quad
       \frac{1}{e^\varepsilon + k - 1} \text{ for each } y \ne x

    Proved: no output is more than e^epsilon times as likely with one code of a record as with
    another. So it is also epsilon-DP for each person in local reports. Codes are 0 to k - 1, one
    per record; the number of records is not hidden.

    References
    ----------
    Warner. Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias. JASA
    60(309), 1965. doi:10.1080/01621459.1965.10480775
    Kairouz, Oh, Viswanath. Extremal Mechanisms for Local Differential Privacy. JMLR 17, 2016,
    Section 4.

    Notes
    -----
    Two fair coins (answer truthfully on heads, else by the second coin) are k = 2 and epsilon
    = ln 3; the share p of a code follows from the share Y among the answers as p = 2Y - 1/2.
    """

    name: ClassVar[str] = "randomised_response"
    family: ClassVar[str] = "Randomised response"
    epsilon: Annotated[float, Field(gt=0, description="budget of a code", examples=[1.0])]
    k: Annotated[int, Field(ge=2, le=2**62, description="number of codes")] = 2

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP for another code of one record."""
        return Guarantee(
            "dp",
            self.epsilon,
            unit="record",
            neighbours="replace one record",
            caveat="It limits what is revealed about the code of a record, not whether the record"
            " exists.",
        )

    def check(self, x: object) -> Ids:
        """Return codes from 0 to k - 1."""
        codes = whole(x, self.name)
        if int(codes.min()) < 0 or int(codes.max()) >= self.k:
            raise InputError(
                f"{self.name} takes codes from 0 to {self.k - 1}. Renumber them, or increase k."
            )
        return codes

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Keep or replace every code."""
        shape = (size, *x.shape)
        replaced = _table(self.epsilon, self.k).draw(size * x.size, rng).reshape(shape)
        shift = rng.integers(1, self.k, shape)  # drawn for all, so that the work reveals nothing
        codes: Ids = (x + replaced * shift) % self.k
        return codes

    def law(self, x: Array, outputs: object) -> Floats:
        """Multiply the probabilities of all codes."""
        codes = flat_outputs(x, outputs, np.int64)
        log_keep = -math.log1p((self.k - 1) * math.exp(-self.epsilon))
        logs = np.where(codes == x.reshape(1, -1), log_keep, log_keep - self.epsilon)
        probabilities: Floats = np.exp(logs.sum(axis=1))
        return np.where(((codes >= 0) & (codes < self.k)).all(axis=1), probabilities, 0.0)

    def outcomes(self, x: Array) -> Sequence[int]:
        """Return all codes, for one code."""
        return range(self.k) if x.size == 1 else ()

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Give one record another code."""
        return [(0, 1)]


@lru_cache(maxsize=64)
def _table(epsilon: float, k: int) -> Table:
    """Return the table that draws 0 (keep the code) or 1 (replace it)."""
    return finite([(1, 0), (k - 1, Fraction(epsilon))])
