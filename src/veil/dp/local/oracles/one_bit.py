"""One bit of a real number, whose mean is wanted."""

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

    It is drawn in two steps: x becomes 0 or `high`, the latter with probability x/high, which is
    a comparison with a uniform point alpha; then that bit is flipped with probability
    1/(e^epsilon + 1). With a key, alpha and both answers are those of the person forever: a
    change of x shows only when it passes alpha.

    Notes
    -----
    Lecture notes print a form in which x = 0 gives 0, and x = high gives 1, with certainty: it
    hides nothing, and its estimator has another mean. x is rounded to a multiple of high/2^53.
    However many numbers a person has, there are two answers: below alpha and above. Histories
    that pass alpha at the same reports exchange them, which has a ratio of e^(2 epsilon).

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
        "A bit that changes tells that the number passed the person's own point."
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
        """Of a 1 for x = high, and for x = 0."""
        return sigmoid(self.epsilon), sigmoid(-self.epsilon)

    def check(self, values: object) -> Array:
        """Return numbers as multiples of the last place of `high`."""
        given = np.asarray(values)
        numbers = np.issubdtype(given.dtype, np.floating) or np.issubdtype(given.dtype, np.integer)
        if given.ndim != 1 or (given.size and not numbers):
            raise InputError(
                "one_bit takes numbers, in a list or an array; truth values and texts are not."
            )
        x = given.astype(np.float64)
        if not (np.isfinite(x) & (x >= 0) & (x <= self.high)).all():
            raise InputError(
                f"one_bit takes numbers from 0 to {self.high:g}; a value is out of them. Cut the"
                " values beforehand, or give another 'high'."
            )
        shift = _BITS - int(np.frexp(self.high)[1])
        return np.rint(np.ldexp(x, shift)).astype(np.int64)

    def answers(self, values: int) -> int:
        """Return one below the point, and one above."""
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
        return Ones(self)

    def pairs(self) -> Sequence[tuple[Value, Value]]:
        """Return both ends."""
        return ((0.0, self.high),)

    def _codes(self, data: Array, index: Array, one: Array, other: Array) -> Array:
        del index, one, other
        return data


class Ones(Aggregate):
    """How many bits are 1."""

    def __init__(self, oracle: OneBit) -> None:
        super().__init__(oracle)
        self._law, self._high = oracle.probabilities, oracle.high
        self._ones = 0

    @readable()
    def mean(self) -> Mean:
        """Estimate the mean of the numbers.

        The standard error takes all numbers to be alike, which is the most that it can be.
        """
        if not self.n:
            raise InputError("There must be at least one report; there is none.")
        hit, miss = self._law
        share = self._ones / self.n
        spread = float(np.sqrt(max(share * (1 - share), 1 / self.n) * self.overlap / self.n))
        scale = self._high / (hit - miss)
        return Mean(scale * (share - miss), scale * spread)

    def estimate(self, candidates: Iterable[Candidate] | None = None) -> Counts:
        """Refuse: a mean is all that is told."""
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
        return InputError("one_bit tells a mean and no counts; call estimate_mean, or --mean.")
