"""Permute-and-flip."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.dp.exact.coins import Flags, filtered
from veil.dp.mechanism import Array
from veil.dp.mechanisms._order import orders
from veil.dp.mechanisms._race import alone
from veil.dp.mechanisms.selection import Selection


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
        heads = filtered(exponents[flat], lambda i: self.exponent(x, int(flat[i])), rng)
        return heads.reshape(order.shape)

    def probabilities(self, scores: Array) -> Floats:
        """Integrate the chance that nobody else was accepted before."""
        accepted: Floats = np.exp(-self.exponents(scores))
        return accepted * alone(accepted)
