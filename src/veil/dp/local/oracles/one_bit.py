"""One bit per real number, to estimate their mean."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.dp.local.aggregate import Aggregate, Candidate, Counts, Mean, readable
from veil.dp.local.memoise import Fresh, Memo
from veil.dp.local.oracle import Drawing, Oracle, Value, local, sigmoid
from veil.dp.local.packed import Array, Part

_BITS = 53  # of a float


class OneBit(Oracle):
    r"""Report one bit, which is 1 with a probability that grows with x from 0 to `high`.

    .. math:: \Pr[1] = \frac{1}{e^\varepsilon + 1} +
       \frac{x}{\mathit{high}} \cdot \frac{e^\varepsilon - 1}{e^\varepsilon + 1}

    There are two steps: x is rounded to `high` with probability x/high, by comparison with a
    uniform point alpha, else to 0; then that bit is flipped with probability 1/(e^epsilon + 1).
    With a key, alpha and both answers stay the same for a person forever: a change of x shows only
    if it passes alpha.

    Notes
    -----
    Some lecture notes print a form in which x = 0 always gives 0 and x = high always gives 1: it
    is not private, and its estimator has a different mean. x is rounded to a multiple of the last
    place of `high` (from high/2^53 to high/2^52). However many numbers a person has, there are two
    answers: below alpha and above. Histories that pass alpha at the same reports swap them, a
    ratio of e^(2 epsilon).

    References
    ----------
    Ding, Kulkarni, Yekhanin. Collecting Telemetry Data Privately. NeurIPS 2017, Equation 1
    (1BitMean), Section 4.1 (alpha-point rounding).
    """

    name: ClassVar[str] = "one_bit"
    family: ClassVar[str] = "Numbers"
    takes: ClassVar[Literal["texts", "codes", "reals"]] = "reals"
    memoises: ClassVar[bool] = True
    changes: ClassVar[str] = (
        "A bit that changes reveals that the number passed the person's random point."
    )
    epsilon: Annotated[float, Field(gt=0, description="budget of a report", examples=[1.0])]
    high: Annotated[
        float, Field(gt=1e-200, lt=1e200, description="largest value; 0 is the smallest",
                     examples=[100.0])
    ]  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """Local DP of one bit."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Bits."""
        return Part(np.int8, (), (2,)), None

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1] for x = high, and for x = 0."""
        return sigmoid(self.epsilon), sigmoid(-self.epsilon)

    def check(self, values: object) -> Array:
        """Return numbers in units of the last place of `high`."""
        array = np.asarray(values)
        numbers = np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)
        if array.ndim != 1 or (array.size and not numbers):
            raise InputError("one_bit takes a list or array of numbers, not booleans or strings.")
        x = array.astype(np.float64)
        if not (np.isfinite(x) & (x >= 0) & (x <= self.high)).all():
            raise InputError(
                f"one_bit takes numbers from 0 to {self.high:g}. A value is outside this range."
                " Clip the values first, or change 'high'."
            )
        shift = _BITS - int(np.frexp(self.high)[1])
        return np.rint(np.ldexp(x, shift)).astype(np.int64)

    def answers(self, values: int) -> int:
        """Return at most two: one below alpha, one above."""
        return min(values, 2)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Round to 0 or `high`, then answer."""
        source = Fresh(len(x), rng) if memo is None else memo
        top = int(self.check([self.high])[0])
        hits = source.below("alpha", [top])[:, 0] < x
        flips = source.flips("answers", Fraction(self.epsilon), 2)
        flipped = np.where(hits, flips[:, 1], flips[:, 0])
        return (hits ^ flipped).astype(np.int8), None

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count ones."""
        del targets
        return BitCount(self)

    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return both ends."""
        return ((0.0, self.high),)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        del index, a, b
        return data


class BitCount(Aggregate):
    """Counts the bits that are 1."""

    def __init__(self, oracle: OneBit) -> None:
        super().__init__(oracle)
        self._law, self._high = oracle.probabilities, oracle.high
        self._ones = 0

    @readable()
    def mean(self) -> Mean:
        """Estimate the mean of the numbers.

        The standard error is an upper bound: it assumes that all numbers are equal.
        """
        if not self.n:
            raise InputError("At least one report is required.")
        hit, miss = self._law
        share = self._ones / self.n
        spread = float(np.sqrt(max(share * (1 - share), 1 / self.n) * self.overlap / self.n))
        scale = self._high / (hit - miss)
        return Mean(scale * (share - miss), scale * spread)

    def estimate(self, candidates: Iterable[Candidate] | None = None) -> Counts:
        """Raise InputError: only the mean can be estimated."""
        del candidates
        raise self._no_counts()

    def _add(self, data: Array, index: Array) -> None:
        del index
        self._ones += int(np.count_nonzero(data))

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        del targets
        raise self._no_counts()

    @staticmethod
    def _no_counts() -> InputError:
        return InputError("one_bit estimates a mean, not counts. Use estimate_mean or --mean.")
