"""The exponential mechanism."""

from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.dp.exact.finite import Weighted
from veil.dp.mechanism import Array
from veil.dp.mechanisms._choice import choose
from veil.dp.mechanisms.selection import Selection


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
