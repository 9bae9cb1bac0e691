r"""Select a candidate by its score: exponential, permute-and-flip and report noisy max.

`choose` draws positions with exact probabilities from approximate float weights. The first 62 bits
of a uniform number U are compared with cumulative sums of rounded weights, in integers. If U is
closer to a sum than all errors together could be, exact integers decide, with as many more bits as
they need. Floats are only a filter, and all but one draw in millions takes the same work.

`first_in_order` computes the integral of a product without one factor:

.. math:: I_r = \int_0^1 \prod_{s \ne r} (1 - p_s t)\, dt

If candidates come at uniform times and accept with probability p_s, then I_r is the probability
that no other accepts before r. It equals an alternating sum over subsets, but the integral has
only positive terms, so nothing cancels. Gauss-Legendre quadrature is exact for up to 64 factors;
with more, it is split into pieces and exact to rounding.
"""

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError, LawError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.coins import Flags, filtered_coins, more, random_words
from veil.dp.exact.samplers import Steps, Weighted, discrete_laplace
from veil.dp.mechanism import Array, Mechanism, numeric, pure_guarantee, real, whole


def log_mass(z: Floats, slope: float) -> Floats:
    """Return log P[Z = z]."""
    logs: Floats = math.log(math.tanh(slope / 2)) - slope * np.abs(z)  # (1 - q) / (1 + q)
    return logs


def log_at_most(z: Floats, slope: float) -> Floats:
    """Return log P[Z <= z]; log P[Z >= z] is the same at -z."""
    whole = math.log1p(math.exp(-slope))
    upper = np.log1p(-np.exp(-slope * (np.maximum(z, 0.0) + 1) - whole))
    return np.where(z < 0, slope * np.minimum(z, 0.0) - whole, upper)


_UNIT = 2.0**62
_BITS = 256  # precision of the first bounds of the sums
# Weights e^-x of an approximate float x have a relative error of less than 2^-50 x, and x is on
# average below 64 under the distribution itself; rounding to integers adds 1 per weight.
MARGIN = 2**18


def choose(
    weights: Floats,
    law: Callable[[], Weighted],
    n: int,
    rng: Generator,
    margin: int = MARGIN,
) -> Ids:
    """Draw n positions with exact probabilities `law()`, using approximate `weights`.

    `margin` is that of the filter, in units of 2^-62.
    """
    units = np.floor(weights * (_UNIT / float(weights.sum()))).astype(np.int64)
    ends = np.cumsum(units)[:-1]  # the last end is always 1
    u = random_words(n, rng)
    top = (u >> np.uint64(2)).astype(np.int64)
    positions = np.searchsorted(ends, top, side="right").astype(np.int64)
    if not len(ends):
        return positions
    around = margin + 2 * len(weights)
    before = top - ends[np.maximum(positions - 1, 0)]
    after = ends[np.minimum(positions, len(ends) - 1)] - top
    unsure = np.flatnonzero((np.abs(before) <= around) | (np.abs(after) <= around))
    if len(unsure):
        exact = law()
        steps = exact.steps(_BITS)
        for i in unsure:
            positions[i] = _resolve(int(u[i]), exact, steps, rng)
    return positions


def _resolve(prefix: int, law: Weighted, steps: Steps, rng: Generator) -> int:
    """Return the position of a uniform number with 64 bits drawn so far; draw more as needed."""
    length = 64
    while True:
        shift = steps.bits - length
        at = bisect_right(steps.hi, prefix << shift)
        if at < len(steps.lo) and (prefix + 1) << shift <= steps.lo[at]:
            return int(steps.values[at])
        prefix, length = more(prefix, rng), length + 64
        if length + 32 > steps.bits:
            steps = law.steps(2 * steps.bits)


_BLOCK = 2**19  # candidates at a time


def orders(candidates: int, size: int, rng: Generator) -> Iterator[Ids]:
    """Yield uniform orders (m, candidates) of positions, `size` in all."""
    rows = max(1, _BLOCK // candidates)
    for start in range(0, size, rows):
        count = min(rows, size - start)
        yield rng.permuted(np.tile(np.arange(candidates), (count, 1)), axis=1)


_NODES = 32  # exact up to 64 factors
_SPAN = 8.0  # t times the sum of p in the first piece; each further piece is twice as wide


def first_in_order(p: Floats) -> Floats:
    """Return, for each probability in the last axis, the integral without its factor.

    >>> first_in_order(np.array([1.0, 1.0])).round(12).tolist()
    [0.5, 0.5]
    """
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    integrals = np.zeros(p.shape)
    edges = _edges(1.0 if p.shape[-1] <= 2 * _NODES else _SPAN / max(float(p.sum(-1).max()), 1.0))
    for low, high in pairwise(edges):
        half = (high - low) / 2
        for node, share in zip(x.tolist(), weight.tolist(), strict=True):
            logs = np.log1p(-p * (low + half * (1 + node)))
            integrals += half * share * np.exp(logs.sum(-1, keepdims=True) - logs)
    return integrals


def _edges(first: float) -> list[float]:
    edges = [0.0, min(first, 1.0)]
    while edges[-1] < 1:
        edges.append(min(2 * edges[-1], 1.0))
    return edges


_STEEPEST = 2**900
_GAP = 4  # between the scores of the pairs of an audit, in sensitivities


class Selection(Mechanism):
    """Selects the position of one of several candidates, each with a score.

    The probability of a candidate falls with the gap of its score to the best one, times
    c = epsilon / (2 sensitivity), or epsilon / sensitivity if the scores are monotone.
    """

    family: ClassVar[str] = "Selection"
    rows: ClassVar[bool] = True
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[1.0])]
    sensitivity: Annotated[
        float, Field(gt=0, description="how much any score changes, at most")
    ] = 1.0
    monotone: Annotated[
        bool,
        Field(description="one more record never lowers a score (such as counts): half the noise"),
    ] = False

    @property
    def slope(self) -> Fraction:
        """The exact factor of the scores."""
        slope = Fraction(self.epsilon) / Fraction(self.sensitivity)
        if slope > _STEEPEST:
            raise ParameterError(
                f"The epsilon of {self.name} must be at most 2^900 sensitivities. Reduce it."
            )
        return slope if self.monotone else slope / 2

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        caveat = "It holds only for monotone scores." if self.monotone else ""
        return pure_guarantee(self.epsilon, caveat=caveat)

    def check(self, x: object) -> Array:
        """Return scores as finite numbers, one per candidate."""
        scores = numeric(x, self.name)
        if scores.ndim != 1 or not scores.size:
            raise InputError(f"{self.name} takes a list of scores, one per candidate.")
        if np.issubdtype(scores.dtype, np.integer) or scores.dtype == object:
            return whole(scores, self.name)
        return real(scores, self.name)

    @abstractmethod
    def probabilities(self, scores: Array) -> Floats:
        """Return the exact probability of every candidate."""

    def law(self, x: Array, outputs: object) -> Floats:
        """Return the probabilities of candidates, by position."""
        positions = np.atleast_1d(numeric(outputs, "A law"))
        if not np.issubdtype(positions.dtype, np.integer) or positions.ndim != 1:
            raise InputError(f"The outputs of {self.name} are positions of candidates, from 0.")
        if positions.size and (positions.min() < 0 or positions.max() >= len(x)):
            raise InputError(
                f"The outputs of {self.name} are positions from 0 to one below the number of"
                " scores."
            )
        chances: Floats = self.probabilities(x)[positions]
        return chances

    def outcomes(self, x: Array) -> Sequence[int]:
        """Return the positions of all scores."""
        return range(len(x))

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Raise a score and lower the other, from a gap that makes the raised one rare."""
        step = self.sensitivity
        return [
            ([0.0, gap * step], [step, gap * step if self.monotone else (gap - 1) * step])
            for gap in (_GAP, 0)
        ]

    def exponents(self, scores: Array) -> Floats:
        """Return the gaps to the best score times the slope, approximately."""
        with np.errstate(over="ignore"):  # e^-inf is 0
            exponents: Floats = gaps(scores) * float(self.slope)
        return exponents

    def exponent(self, scores: Array, candidate: int) -> Fraction:
        """Return the exact exponent of one candidate."""
        return self.slope * (_exact(scores.max()) - _exact(scores[candidate]))


def gaps(scores: Array) -> Floats:
    """Return the gaps to the best score, each rounded once."""
    if scores.dtype == np.int64:
        distances: Ids = np.subtract(scores.max(keepdims=True), scores)
        return distances.view(np.uint64).astype(np.float64)  # below 2^64, even if int64 overflows
    with np.errstate(over="ignore"):
        below: Floats = np.subtract(scores.max(keepdims=True), scores)
    return below


def _exact(score: np.generic) -> Fraction:
    return Fraction(score.item())


class Exponential(Selection):
    r"""Select a candidate with probability exponential in its score.

    .. math:: \Pr[M(u) = r] \propto e^{c\,u_r}, \quad c = \frac{\varepsilon}{2\Delta}
       \text{, or } \frac{\varepsilon}{\Delta} \text{ if the scores are monotone}

    Proved: epsilon-DP, if no score changes by more than the sensitivity when a record is added
    or removed.

    References
    ----------
    McSherry, Talwar. Mechanism Design via Differential Privacy. FOCS 2007, Theorem 6.
    doi:10.1109/FOCS.2007.41

    Notes
    -----
    The draw is exact inversion of a uniform number: unlike rejection sampling, its work does not
    depend on the scores.
    """

    name: ClassVar[str] = "exponential"

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw positions of candidates."""

        def law() -> Weighted:
            unit = Fraction(1)
            return Weighted(tuple((unit, self.exponent(x, i)) for i in range(len(x))))

        return choose(np.exp(-self.exponents(x)), law, size, rng)

    def probabilities(self, scores: Array) -> Floats:
        """Divide the weights by their sum."""
        weights = np.exp(-self.exponents(scores))
        shares: Floats = weights / weights.sum()
        return shares


class PermuteAndFlip(Selection):
    r"""Go through the candidates in random order, and accept each with a score-based probability.

    .. math:: p_r = e^{-c\,(\max u - u_r)}, \qquad
       \Pr[M(u) = r] = p_r \int_0^1 \prod_{s \ne r} (1 - p_s t)\, dt

    with c = epsilon / (2 sensitivity), or epsilon / sensitivity if the scores are monotone. The
    integral is the sum over the subsets S of the others of (-1)^|S| prod p_s / (|S| + 1).

    Proved: epsilon-DP, if no score changes by more than the sensitivity when a record is added
    or removed; the expected score is never below that of the exponential mechanism.

    References
    ----------
    McKenna, Sheldon. Permute-and-Flip: A New Mechanism for Differentially Private Selection.
    NeurIPS 2020, Algorithm 1, Theorems 1 and 2.

    Notes
    -----
    All coins are flipped, also those after the first accepted candidate, so that the work does not
    reveal which one it was.
    """

    name: ClassVar[str] = "permute_and_flip"

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw positions of candidates."""
        exponents = self.exponents(x)
        positions = []
        for order in orders(len(x), size, rng):
            first = np.argmax(self._flip(x, exponents, order, rng), axis=1)
            positions.append(order[np.arange(len(order)), first])
        return np.concatenate(positions)

    def _flip(self, x: Array, exponents: Floats, order: Ids, rng: Generator) -> Flags:
        """Flip the coins of candidates in that order."""
        flat = order.reshape(-1)
        heads = filtered_coins(exponents[flat], lambda i: self.exponent(x, int(flat[i])), rng)
        return heads.reshape(order.shape)

    def probabilities(self, scores: Array) -> Floats:
        """Multiply by the probability that no other candidate was accepted before."""
        accepted: Floats = np.exp(-self.exponents(scores))
        return accepted * first_in_order(accepted)


_LARGEST = 2**61
_TAILS = 50.0  # scales beyond the scores, where less than e^-50 remains
_NEVER = 800.0  # exponents with a float probability of 0
_CELLS = 2**22  # largest candidates x values of a distribution to sum
_LAW_BLOCK = 2**15


class NoisyMax(Selection):
    r"""Add two-sided geometric noise to every score, and select the largest.

    .. math:: M(u) = \arg\max_r\, (u_r + Z_r), \quad \Pr[Z_r = z] \propto e^{-c\,|z|}

    with c = epsilon / (2 sensitivity), or epsilon / sensitivity if the scores are monotone. Scores
    are integers; ties are broken by a random order drawn in advance.

    Proved: epsilon-DP, if no score changes by more than the sensitivity when a record is added
    or removed. For a given order and the noise of the others, a candidate is selected if its own
    noise reaches some threshold, which moves by at most 2 sensitivities (1 if the scores are
    monotone).

    References
    ----------
    Dwork, Roth. The Algorithmic Foundations of Differential Privacy. 2014, Claim 3.9 (for counts,
    which are monotone). doi:10.1561/0400000042

    Notes
    -----
    Noise of scale 1/epsilon, as in many notes, needs monotone scores. The distribution is that of
    integers, not the continuous one, which has no ties. If ties were broken by position, two equal
    scores would be selected with probabilities 0.64 and 0.36 at an epsilon of 2.
    """

    name: ClassVar[str] = "noisy_max"

    def check(self, x: object) -> Ids:
        """Return integer scores, one per candidate."""
        scores = super().check(x)
        if scores.dtype != np.int64:
            raise InputError(
                f"{self.name} takes integer scores. Round them first, or use permute_and_flip."
            )
        if max(abs(int(scores.min())), abs(int(scores.max()))) > _LARGEST:
            raise InputError(f"{self.name} takes integer scores of at most 2^61.")
        return scores

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw positions of candidates."""
        below = x - x.max(keepdims=True)
        positions = []
        for order in orders(len(x), size, rng):
            noise = discrete_laplace(1 / self.slope, order.size, rng).reshape(order.shape)
            first = np.argmax(below[order] + noise, axis=1)
            positions.append(order[np.arange(len(order)), first])
        return np.concatenate(positions)

    def probabilities(self, scores: Array) -> Floats:
        """Sum over the winning noisy score; ties are broken by a random order."""
        slope, below = float(self.slope), gaps(scores)
        near = slope * below < _NEVER
        result = np.zeros(len(scores))
        result[near] = self._chances(below[near], slope)
        return result

    def _chances(self, below: Floats, slope: float) -> Floats:
        """Return the probabilities of candidates from their gaps to the best score."""
        reach = _TAILS / slope + 1
        low, high = math.floor(-float(below.max()) - reach), math.ceil(reach)
        if (high - low) * len(below) > _CELLS:
            raise LawError(
                f"The distribution of {self.name} has too many terms to sum for these scores and"
                " this epsilon."
            )
        totals = np.zeros(len(below))
        rows = max(1, _LAW_BLOCK // len(below))
        for start in range(low, high, rows):
            sums = np.arange(start, min(start + rows, high), dtype=np.float64)
            noise = sums[:, None] + below  # what each candidate needs to reach the sum
            mass, most = log_mass(noise, slope), log_at_most(noise, slope)
            lead = np.exp(mass + most.sum(axis=1, keepdims=True) - most)
            totals += (lead * first_in_order(np.exp(mass - most))).sum(axis=0)
        return totals

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Raise a score and lower the other by integers."""
        step = math.floor(self.sensitivity)
        return [
            ([0, gap * step], [step, gap * step if self.monotone else (gap - 1) * step])
            for gap in (4, 0)
        ]
