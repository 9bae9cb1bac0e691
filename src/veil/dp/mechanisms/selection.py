r"""Select a candidate by its score: exponential, permute-and-flip and report noisy max.

Draw a position with exact probabilities from weights that floats know nearly.
A uniform number U of infinitely many bits is compared with the sums of the weights. Its first 62
bits are compared with sums of rounded weights, in whole numbers; where U is nearer to a sum than
all errors together could be, integers decide, with as many more bits as they need. So a float is
a filter and never decides, and every draw but one in millions takes the same work.

Who is first in a random order: the integral of a product, leaving one factor out.

.. math:: I_r = \int_0^1 \prod_{s \ne r} (1 - p_s t)\, dt

If each of several candidates stands at a uniform time and speaks up with probability p_s, then I_r
is the chance that nobody else does before r. The alternating sum over subsets is the same number;
the integral has positive terms alone, so that nothing cancels. Gauss-Legendre nodes are exact for
up to 64 factors, and for more, in pieces, exact to rounding.
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
    found: Floats = math.log(math.tanh(slope / 2)) - slope * np.abs(z)  # (1 - q) / (1 + q)
    return found


def log_at_most(z: Floats, slope: float) -> Floats:
    """Return log P[Z <= z]; that of Z >= z is the same of -z."""
    whole = math.log1p(math.exp(-slope))
    upper = np.log1p(-np.exp(-slope * (np.maximum(z, 0.0) + 1) - whole))
    return np.where(z < 0, slope * np.minimum(z, 0.0) - whole, upper)


_UNIT = 2.0**62
_BITS = 256  # of the first bounds of the sums
# Weights e^-x of a float x that is nearly exact have a relative error of less than 2^-50 x, and x
# is on average below 64 under the law itself; rounding to whole numbers adds 1 a weight.
MARGIN = 2**18


def choose(
    weights: Floats,
    law: Callable[[], Weighted],
    n: int,
    rng: Generator,
    margin: int = MARGIN,
) -> Ids:
    """Draw n positions; `weights` are nearly, and `law()` has exactly, what they are drawn by.

    `margin` is that of the filter, in units of 2^-62.
    """
    units = np.floor(weights * (_UNIT / float(weights.sum()))).astype(np.int64)
    ends = np.cumsum(units)[:-1]  # the last end is 1 in any case
    u = random_words(n, rng)
    top = (u >> np.uint64(2)).astype(np.int64)
    drawn = np.searchsorted(ends, top, side="right").astype(np.int64)
    if not len(ends):
        return drawn
    around = margin + 2 * len(weights)
    before = top - ends[np.maximum(drawn - 1, 0)]
    after = ends[np.minimum(drawn, len(ends) - 1)] - top
    unsure = np.flatnonzero((np.abs(before) <= around) | (np.abs(after) <= around))
    if len(unsure):
        exact = law()
        steps = exact.steps(_BITS)
        for i in unsure:
            drawn[i] = _resolve(int(u[i]), exact, steps, rng)
    return drawn


def _resolve(prefix: int, law: Weighted, steps: Steps, rng: Generator) -> int:
    """Find where a uniform number of which 64 bits are drawn falls; draw more as needed."""
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
_SPAN = 8.0  # of t times the sum of p, in the first piece; each further one is twice as wide


def first_in_order(p: Floats) -> Floats:
    """Return the integral for each of the probabilities in the last axis, leaving it out.

    >>> first_in_order(np.array([1.0, 1.0])).round(12).tolist()
    [0.5, 0.5]
    """
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    found = np.zeros(p.shape)
    edges = _edges(1.0 if p.shape[-1] <= 2 * _NODES else _SPAN / max(float(p.sum(-1).max()), 1.0))
    for low, high in pairwise(edges):
        half = (high - low) / 2
        for node, share in zip(x.tolist(), weight.tolist(), strict=True):
            logs = np.log1p(-p * (low + half * (1 + node)))
            found += half * share * np.exp(logs.sum(-1, keepdims=True) - logs)
    return found


def _edges(first: float) -> list[float]:
    edges = [0.0, min(first, 1.0)]
    while edges[-1] < 1:
        edges.append(min(2 * edges[-1], 1.0))
    return edges


_STEEPEST = 2**900
_GAP = 4  # between the scores of the pairs of an audit, in sensitivities


class Selection(Mechanism):
    """Selects one of several candidates, by its position; a score says how good each one is.

    The chance of a candidate falls with what its score is below the best one, times
    c = epsilon / (2 sensitivity), or epsilon / sensitivity if the scores are monotone.
    """

    family: ClassVar[str] = "Selection"
    rows: ClassVar[bool] = True
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[1.0])]
    sensitivity: Annotated[
        float, Field(gt=0, description="how much any score changes by, at most")
    ] = 1.0
    monotone: Annotated[
        bool,
        Field(
            description="one more record never makes a score lower (as of counts): half the noise"
        ),
    ] = False

    @property
    def slope(self) -> Fraction:
        """What a score is multiplied by, exactly."""
        slope = Fraction(self.epsilon) / Fraction(self.sensitivity)
        if slope > _STEEPEST:
            raise ParameterError(
                f"The epsilon of {self.name} must be at most 2^900 sensitivities; lower it."
            )
        return slope if self.monotone else slope / 2

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        caveat = "It holds for scores that are monotone." if self.monotone else ""
        return pure_guarantee(self.epsilon, caveat=caveat)

    def check(self, x: object) -> Array:
        """Take scores: finite numbers in a row, one for each candidate."""
        given = numeric(x, self.name)
        if given.ndim != 1 or not given.size:
            raise InputError(f"{self.name} takes scores in a row, one for each candidate.")
        if np.issubdtype(given.dtype, np.integer) or given.dtype == object:
            return whole(given, self.name)
        return real(given, self.name)

    @abstractmethod
    def probabilities(self, scores: Array) -> Floats:
        """Return the exact probability of every candidate."""

    def law(self, x: Array, outputs: object) -> Floats:
        """Return the probabilities of candidates, by position."""
        chosen = np.atleast_1d(numeric(outputs, "A law"))
        if not np.issubdtype(chosen.dtype, np.integer) or chosen.ndim != 1:
            raise InputError(f"The outputs of {self.name} are positions of candidates, from 0.")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= len(x)):
            raise InputError(
                f"The outputs of {self.name} are positions from 0 to one below the number of"
                " scores."
            )
        found: Floats = self.probabilities(x)[chosen]
        return found

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
        """Return what scores are below the best one, times the slope, nearly."""
        with np.errstate(over="ignore"):  # e^-inf is what it should be
            exponents: Floats = gaps(scores) * float(self.slope)
        return exponents

    def exponent(self, scores: Array, candidate: int) -> Fraction:
        """Return the same of one candidate, exactly."""
        return self.slope * (_exact(scores.max()) - _exact(scores[candidate]))


def gaps(scores: Array) -> Floats:
    """Return what scores are below the best one, each rounded once."""
    if scores.dtype == np.int64:
        apart: Ids = np.subtract(scores.max(keepdims=True), scores)
        return apart.view(np.uint64).astype(np.float64)  # below 2^64, also where int64 is not
    with np.errstate(over="ignore"):
        below: Floats = np.subtract(scores.max(keepdims=True), scores)
    return below


def _exact(score: np.generic) -> Fraction:
    return Fraction(score.item())


class Exponential(Selection):
    r"""Select a candidate with a probability that grows exponentially with its score.

    .. math:: \Pr[M(u) = r] \propto e^{c\,u_r}, \quad c = \frac{\varepsilon}{2\Delta}
       \text{, or } \frac{\varepsilon}{\Delta} \text{ if the scores are monotone}

    Proved: epsilon-DP, where no score changes by more than the sensitivity when a record is added
    or removed.

    References
    ----------
    McSherry, Talwar. Mechanism Design via Differential Privacy. FOCS 2007, Theorem 6.
    doi:10.1109/FOCS.2007.41

    Notes
    -----
    The draw is the inversion of a uniform number, exactly: it takes the same work whatever the
    scores are, unlike candidates that are tried until one is accepted.
    """

    name: ClassVar[str] = "exponential"

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw positions of candidates."""

        def law() -> Weighted:
            one = Fraction(1)
            return Weighted(tuple((one, self.exponent(x, i)) for i in range(len(x))))

        return choose(np.exp(-self.exponents(x)), law, size, rng)

    def probabilities(self, scores: Array) -> Floats:
        """Divide the weights by their sum."""
        weights = np.exp(-self.exponents(scores))
        shares: Floats = weights / weights.sum()
        return shares


class PermuteAndFlip(Selection):
    r"""Go through the candidates in a random order, and accept each with a falling probability.

    .. math:: p_r = e^{-c\,(\max u - u_r)}, \qquad
       \Pr[M(u) = r] = p_r \int_0^1 \prod_{s \ne r} (1 - p_s t)\, dt

    with c = epsilon / (2 sensitivity), or epsilon / sensitivity if the scores are monotone. The
    integral is the sum over the subsets S of the others of (-1)^|S| prod p_s / (|S| + 1).

    Proved: epsilon-DP, where no score changes by more than the sensitivity when a record is added
    or removed; the expected score is never below that of the exponential mechanism.

    References
    ----------
    McKenna, Sheldon. Permute-and-Flip: A New Mechanism for Differentially Private Selection.
    NeurIPS 2020, Algorithm 1, Theorems 1 and 2.

    Notes
    -----
    All coins are flipped, also those after the first that is accepted, so that the work does not
    tell which one it was.
    """

    name: ClassVar[str] = "permute_and_flip"

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw positions of candidates."""
        exponents = self.exponents(x)
        drawn = []
        for order in orders(len(x), size, rng):
            first = np.argmax(self._flip(x, exponents, order, rng), axis=1)
            drawn.append(order[np.arange(len(order)), first])
        return np.concatenate(drawn)

    def _flip(self, x: Array, exponents: Floats, order: Ids, rng: Generator) -> Flags:
        """Flip the coins of candidates in that order."""
        flat = order.reshape(-1)
        heads = filtered_coins(exponents[flat], lambda i: self.exponent(x, int(flat[i])), rng)
        return heads.reshape(order.shape)

    def probabilities(self, scores: Array) -> Floats:
        """Integrate the chance that nobody else was accepted before."""
        accepted: Floats = np.exp(-self.exponents(scores))
        return accepted * first_in_order(accepted)


_LARGEST = 2**61
_TAILS = 50.0  # scales beyond the scores where less than e^-50 is left
_NEVER = 800.0  # exponents of which a float has no probability
_CELLS = 2**22  # candidates x values of a law that is still added up
_LAW_BLOCK = 2**15


class NoisyMax(Selection):
    r"""Add two-sided geometric noise to every score, and select the largest.

    .. math:: M(u) = \arg\max_r\, (u_r + Z_r), \quad \Pr[Z_r = z] \propto e^{-c\,|z|}

    with c = epsilon / (2 sensitivity), or epsilon / sensitivity if the scores are monotone. Scores
    are whole numbers; equal sums are told apart by a random order that is drawn before.

    Proved: epsilon-DP, where no score changes by more than the sensitivity when a record is added
    or removed. For a given order and the noise of the others, a candidate is selected if its own
    noise reaches some number, and that number moves by at most 2 sensitivities (1 if the scores
    are monotone).

    References
    ----------
    Dwork, Roth. The Algorithmic Foundations of Differential Privacy. 2014, Claim 3.9 (for counts,
    which are monotone). doi:10.1561/0400000042

    Notes
    -----
    Noise of scale 1/epsilon, as many notes have it, needs monotone scores. The law is that of the
    whole numbers: it is not the continuous one, in which no two sums are equal. Were equal sums
    told apart by the position, two equal scores would be selected with 0.64 and 0.36 at an epsilon
    of 2.
    """

    name: ClassVar[str] = "noisy_max"

    def check(self, x: object) -> Ids:
        """Take whole scores in a row, one for each candidate."""
        scores = super().check(x)
        if scores.dtype != np.int64:
            raise InputError(
                f"{self.name} takes whole scores; round them first, or use permute_and_flip."
            )
        if max(abs(int(scores.min())), abs(int(scores.max()))) > _LARGEST:
            raise InputError(f"{self.name} takes whole scores of at most 2^61.")
        return scores

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw positions of candidates."""
        below = x - x.max(keepdims=True)
        drawn = []
        for order in orders(len(x), size, rng):
            noise = discrete_laplace(1 / self.slope, order.size, rng).reshape(order.shape)
            first = np.argmax(below[order] + noise, axis=1)
            drawn.append(order[np.arange(len(order)), first])
        return np.concatenate(drawn)

    def probabilities(self, scores: Array) -> Floats:
        """Add up over the winning sum; ties are the first of a random order."""
        slope, below = float(self.slope), gaps(scores)
        near = slope * below < _NEVER
        found = np.zeros(len(scores))
        found[near] = self._chances(below[near], slope)
        return found

    def _chances(self, below: Floats, slope: float) -> Floats:
        """Return the probabilities of candidates that are so much below the best one."""
        reach = _TAILS / slope + 1
        low, high = math.floor(-float(below.max()) - reach), math.ceil(reach)
        if (high - low) * len(below) > _CELLS:
            raise LawError(
                f"The law of {self.name} is added up over all sums; there are too many between"
                " these scores and with this epsilon."
            )
        found = np.zeros(len(below))
        rows = max(1, _LAW_BLOCK // len(below))
        for start in range(low, high, rows):
            sums = np.arange(start, min(start + rows, high), dtype=np.float64)
            noise = sums[:, None] + below  # what each candidate needs to reach the sum
            mass, most = log_mass(noise, slope), log_at_most(noise, slope)
            lead = np.exp(mass + most.sum(axis=1, keepdims=True) - most)
            found += (lead * first_in_order(np.exp(mass - most))).sum(axis=0)
        return found

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Raise a score and lower the other by whole numbers."""
        step = math.floor(self.sensitivity)
        return [
            ([0, gap * step], [step, gap * step if self.monotone else (gap - 1) * step])
            for gap in (4, 0)
        ]
