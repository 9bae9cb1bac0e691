"""RAPPOR: a Bloom filter, randomised once forever and once more for each report."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.dp.exact.coins import coin
from veil.dp.exact.digits import rational
from veil.dp.local.aggregate import Aggregate
from veil.dp.local.cohorts import Cohorts
from veil.dp.local.hashing import Words, positions
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import Drawing, TextOracle, local
from veil.dp.local.packed import bits_at, write_bits
from veil.dp.local.parts import Array, Part, code_part, packed_part


def _apart(q: float, given: ValidationInfo) -> float:
    if q == given.data.get("p"):
        raise PydanticCustomError("apart", "must differ from 'p', or reports say nothing")
    return q


class RAPPOR(TextOracle):
    r"""Report a noisy Bloom filter of the text under the hash functions of a cohort.

    Permanent: each bit is kept with probability 1 - f, and is else a fair coin. Instantaneous: a
    bit is reported as 1 with probability q where the permanent one is 1, and p where it is 0.

    .. math:: \varepsilon_\infty = 2h \ln\frac{1 - f/2}{f/2}, \qquad
       \varepsilon_1 = h \left|\ln\frac{q^*(1-p^*)}{p^*(1-q^*)}\right|

    with :math:`q^* = f(p+q)/2 + (1-f)q` and :math:`p^* = f(p+q)/2 + (1-f)p`. The first bounds all
    reports of a person together whose permanent bits are memoised, the second one report alone.
    They do not add up: what is reported follows from the permanent bits. Every text of a person
    has permanent bits of its own, which cost again.

    Notes
    -----
    Lecture notes print a sum of the two without the h hash functions, which can be negative. Two
    texts differ in up to 2h bits. q* and p* are drawn at once where nothing is memoised.

    References
    ----------
    Erlingsson, Pihur, Korolova. RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal
    Response. CCS 2014, Theorems 1 and 2, Section 4. doi:10.1145/2660267.2660348
    """

    name: ClassVar[str] = "rappor"
    family: ClassVar[str] = "Hashing"
    memoises: ClassVar[bool] = True
    changes: ClassVar[str] = "That the text changed, and when, can be seen."
    f: Annotated[
        float,
        Field(gt=0, le=1, description="share of permanent bits that are fair coins",
              json_schema_extra=PRIVATE),
    ] = 0.5  # fmt: skip
    p: Annotated[float, Field(ge=0, le=1, description="reported as 1 where the bit is 0")] = 0.5
    q: Annotated[
        float,
        Field(ge=0, le=1, description="reported as 1 where the bit is 1"),
        AfterValidator(_apart),
    ] = 0.75
    bits: Annotated[int, Field(ge=2, le=2**16, description="bits of a report")] = 128
    hashes: Annotated[
        int,
        Field(ge=1, le=64, description="hash functions of a cohort", json_schema_extra=PRIVATE),
    ] = 2
    cohorts: Annotated[int, Field(ge=1, le=2**16, description="number of cohorts")] = 64

    @property
    def permanent(self) -> float:
        """Epsilon of all reports of a person together, while the text stays the same."""
        return 2 * self.hashes * math.log((2 - self.f) / self.f)

    @property
    def once(self) -> float:
        """Epsilon of one report alone."""
        high, low = self.probabilities
        if high in (0.0, 1.0) or low in (0.0, 1.0):
            return math.inf
        return self.hashes * abs(math.log(high * (1 - low) / (low * (1 - high))))

    @property
    def guarantee(self) -> Guarantee:
        """Local DP of the permanent bits, and so of whatever is reported of them."""
        told = f"The figure is of the permanent bits; one report alone is {self.once:.4g}."
        return local(self.permanent, told)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Packed bits, and cohorts."""
        return packed_part(self.bits), code_part(self.cohorts)

    @property
    def probabilities(self) -> tuple[float, float]:
        """Of a 1 where the Bloom filter has a 1, and where it has a 0: q* and p*."""
        high, low = self._stars()
        return float(high), float(low)

    def _stars(self) -> tuple[Fraction, Fraction]:
        f, p, q = map(Fraction, (self.f, self.p, self.q))
        return f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p

    def bloom(self, x: Words, cohorts: Array) -> Iterator[Ids]:
        """Yield the bits (n,) that a text sets in a cohort, one hash function after the other."""
        for turn in range(self.hashes):
            yield positions(x, cohorts.astype(np.int64) * self.hashes + turn, self.bits)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw all bits as if the filter were empty, then anew those that the text sets."""
        if memo is not None:
            return self._memoised(x, rng, memo)
        cohorts = rng.integers(0, self.cohorts, len(x), dtype=np.int32)
        high, low = self._stars()
        packed = coin(low).packed(len(x), self.bits, rng)
        for places in self.bloom(x, cohorts):
            write_bits(packed, places, coin(high).toss(len(x), rng))
        return packed, cohorts

    def _memoised(self, x: Array, rng: Generator, memo: Memo) -> Drawing:
        """Take the cohort and the permanent bits from the key, and draw the report anew."""
        cohorts = memo.below("cohort", [self.cohorts])[:, 0].astype(np.int32)
        empty = np.zeros((len(x), self.parts[0].shape[0]), dtype=np.uint8)
        for places in self.bloom(x, cohorts):
            write_bits(empty, places, np.ones(len(x), dtype=np.bool_))
        flips = memo.bits("permanent", rational(Fraction(self.f) / 2), self.bits, x)
        permanent = empty ^ np.packbits(flips, axis=1)
        ones = coin(Fraction(self.q)).packed(len(x), self.bits, rng)
        zeros = coin(Fraction(self.p)).packed(len(x), self.bits, rng)
        return (permanent & ones) | (~permanent & zeros), cohorts

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count ones of each bit in each cohort."""
        del targets
        return Cohorts(self, self.bits, self.cohorts, self.hashes, self.probabilities)

    def _codes(self, data: Array, index: Array, one: Array, other: Array) -> Array:
        """Count ones among the bits of each text that the other does not set."""
        sets = [list(self.bloom(x, index)) for x in (one, other)]
        counts = []
        for mine, others in (sets, sets[::-1]):
            ones = np.zeros(len(data), dtype=np.int64)
            for turn, places in enumerate(mine):
                again = [places == before for before in (*mine[:turn], *others)]
                ones += bits_at(data, places) & ~np.logical_or.reduce(again)
            counts.append(ones)
        return counts[0] * (self.hashes + 1) + counts[1]
