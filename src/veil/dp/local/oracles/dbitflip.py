"""d-bit flip: one bit for each of a few buckets of a histogram."""

from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.dp.local.aggregate import Aggregate
from veil.dp.local.memoise import Fresh, Memo, subsets
from veil.dp.local.oracle import LIMIT, CodeOracle, Drawing, local, sigmoid
from veil.dp.local.packed import Array, Part


def _among(d: int, info: ValidationInfo) -> int:
    """Check that d is at most `size`."""
    size = info.data.get("size")
    if size is not None and d > size:
        raise PydanticCustomError(
            "among", "must be at most 'size', which is {size}", {"size": size}
        )
    return d


class DBitFlip(CodeOracle):
    r"""Report one bit for each of d random buckets: whether the code is in it, randomly flipped.

    .. math:: \Pr[1 \mid \text{own}] = \frac{e^{\varepsilon/2}}{e^{\varepsilon/2}+1}, \qquad
       \Pr[1 \mid \text{other}] = \frac{1}{e^{\varepsilon/2}+1}

    With a key, the d buckets and the two possible answers in each stay the same for a person
    forever. Answers depend on whether the bucket is hit, so a change of value shows only if a hit
    changes. Such a change reveals that the bucket was hit, before or after.

    Notes
    -----
    A person whose code changes has at most d + 1 answers: one for each bucket, and one for all
    other codes. If two histories change the hits of the same buckets at the same reports, at most
    two buckets have their two answers swapped, a ratio of e^(2 epsilon). The cost is stated as
    epsilon per answer, which is no less.

    References
    ----------
    Ding, Kulkarni, Yekhanin. Collecting Telemetry Data Privately. NeurIPS 2017, Section 3
    (dBitFlip) and Section 4.2 (memoisation).
    """

    name: ClassVar[str] = "dbitflip"
    family: ClassVar[str] = "Codes"
    memoises: ClassVar[bool] = True
    changes: ClassVar[str] = (
        "A bit that changes reveals that the person was in its bucket before or after."
    )
    epsilon: Annotated[float, Field(gt=0, description="budget of a report", examples=[2.0])]
    size: Annotated[int, Field(ge=2, le=LIMIT, description="number of buckets", examples=[32])]
    d: Annotated[
        int,
        Field(ge=1, le=2**12, description="buckets of a report", examples=[4]),
        AfterValidator(_among),
    ]

    @property
    def guarantee(self) -> Guarantee:
        """Local DP: two codes differ in at most two bits, with ratio e^(epsilon/2) each."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Bits, and their buckets."""
        shape, limits = (self.d,), (self.size,) * self.d
        return Part(np.int8, shape, (2,) * self.d), Part(np.int32, shape, limits)

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1] in the true bucket, and in any other."""
        return sigmoid(self.epsilon / 2), sigmoid(-self.epsilon / 2)

    def verify(self, data: Array, index: Array | None) -> None:
        """Check that buckets are different as well."""
        super().verify(data, index)
        if index is not None and (np.diff(index, axis=1) <= 0).any():
            raise InputError("These are not reports of dbitflip: a bucket occurs twice.")

    def answers(self, values: int) -> int:
        """Return one per reported bucket, plus one for all others."""
        return min(values, self.d + 1)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw the buckets and two answers for each; the hit selects one of them."""
        source = Fresh(len(x), rng) if memo is None else memo
        buckets = subsets(source, self.size, self.d)
        flips = source.flips("answers", Fraction(self.epsilon) / 2, 2 * self.d)
        answers = flips.reshape(len(x), self.d, 2)
        hits = buckets == x[:, None]
        bits = hits ^ np.where(hits, answers[:, :, 1], answers[:, :, 0])
        return bits.astype(np.int8), buckets.astype(np.int32)

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count bits and ones of each bucket."""
        del targets
        return Buckets(self)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        first, second = (
            np.where(index == x, 1 + data, 0).max(axis=1).astype(np.int64) for x in (a, b)
        )
        return np.asarray(3 * first + second)


class Buckets(Aggregate):
    """Counts of reports and of ones per bucket."""

    def __init__(self, oracle: DBitFlip) -> None:
        super().__init__(oracle)
        self._law, self._times = oracle.probabilities, oracle.size / oracle.d
        self._seen = np.zeros(oracle.size, dtype=np.int64)
        self._ones = np.zeros(oracle.size, dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        self._seen += np.bincount(index.reshape(-1), minlength=len(self._seen))
        self._ones += np.bincount(index[data == 1], minlength=len(self._seen))

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        hit, miss = self._law
        observed = self._ones[targets].astype(np.float64)
        counts = self._times * (observed - self._seen[targets] * miss) / (hit - miss)
        present = np.clip(counts, 0.0, self.n)
        flips = self.n * hit * miss / (hit - miss) ** 2
        unseen = (self._times - 1) * min(self.n, self._times)  # persons with other buckets
        return counts, np.maximum(self._times * flips + (self._times - 1) * present, unseen)
