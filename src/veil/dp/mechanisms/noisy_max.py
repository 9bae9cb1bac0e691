"""Report noisy max."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, LawError
from veil.core.types import Floats, Ids
from veil.dp.exact.laplace import discrete_laplace
from veil.dp.mechanism import Array
from veil.dp.mechanisms._noise import log_at_most, log_mass
from veil.dp.mechanisms._order import orders
from veil.dp.mechanisms._race import alone
from veil.dp.mechanisms.selection import Selection, gaps

_LARGEST = 2**61
_TAILS = 50.0  # scales beyond the scores where less than e^-50 is left
_NEVER = 800.0  # exponents of which a float has no probability
_CELLS = 2**22  # candidates x values of a law that is still added up
_BLOCK = 2**15


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
        rows = max(1, _BLOCK // len(below))
        for start in range(low, high, rows):
            sums = np.arange(start, min(start + rows, high), dtype=np.float64)
            noise = sums[:, None] + below  # what each candidate needs to reach the sum
            mass, most = log_mass(noise, slope), log_at_most(noise, slope)
            lead = np.exp(mass + most.sum(axis=1, keepdims=True) - most)
            found += (lead * alone(np.exp(mass - most))).sum(axis=0)
        return found

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Raise a score and lower the other by whole numbers."""
        step = math.floor(self.sensitivity)
        return [
            ([0, gap * step], [step, gap * step if self.monotone else (gap - 1) * step])
            for gap in (4, 0)
        ]
