"""Optimised local hashing: a random hash function per client, and a randomised bucket."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.local.aggregate import Aggregate, frequency
from veil.dp.local.hashing import Words, positions
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import Drawing, TextOracle, local
from veil.dp.local.oracles.grr import keep_and_replace, respond
from veil.dp.local.packed import Array, Part, code_part

_ROWS = 2**16  # reports compared at a time: they stay in the cache


class OLH(TextOracle):
    r"""Hash the text to one of g buckets with a random function, and report the bucket by `grr`.

    .. math:: g = \mathrm{round}(e^\varepsilon) + 1, \qquad
       p = \frac{e^\varepsilon}{e^\varepsilon + g - 1}, \qquad q = \frac{1}{g}

    Reports are short for any number of values, and the error is as small as that of `oue`.
    Aggregation takes time proportional to reports times candidates.

    References
    ----------
    Wang, Blocki, Li, Jha. Locally Differentially Private Protocols for Frequency Estimation.
    USENIX Security 2017, Section 4.4.
    """

    name: ClassVar[str] = "olh"
    family: ClassVar[str] = "Hashing"
    epsilon: Annotated[float, Field(gt=0, le=40, description="budget of a report", examples=[2.0])]

    @property
    def buckets(self) -> int:
        """Number of buckets g."""
        return round(math.exp(self.epsilon)) + 1

    @property
    def guarantee(self) -> Guarantee:
        """Local DP of the bucket; the seed does not depend on the text."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Buckets, and seeds of the hash functions."""
        return code_part(self.buckets), Part(np.uint32)

    @property
    def probabilities(self) -> tuple[float, float]:
        """Probability that a report is the bucket of the true text, and of any other."""
        return keep_and_replace(self.epsilon, self.buckets)[0], 1 / self.buckets

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw a seed each, and randomise the bucket."""
        del memo
        seeds = rng.integers(0, 2**32, len(x), dtype=np.uint32)
        buckets = respond(positions(x, seeds, self.buckets), self.epsilon, self.buckets, rng)
        return buckets.astype(self.parts[0].dtype), seeds

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Return an aggregate for these candidates, which are required in advance."""
        if targets is None:
            raise InputError(
                "olh needs the candidates before reports are added. Pass them to aggregate()."
            )
        return Supporters(self, targets)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        first, second = (positions(x, index, self.buckets) for x in (a, b))
        return np.asarray(2 * (data == first) + (data == second))


class Supporters(Aggregate):
    """Counts of the reports that equal the bucket of each candidate."""

    def __init__(self, oracle: OLH, targets: Words) -> None:
        super().__init__(oracle)
        self._law, self._buckets = oracle.probabilities, oracle.buckets
        self._rows = {int(target): at for at, target in enumerate(targets)}
        self._targets, self._support = targets, np.zeros(len(targets), dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        for start in range(0, len(data), _ROWS):
            part = slice(start, start + _ROWS)
            for at, target in enumerate(self._targets):
                same = positions(target, index[part], self._buckets) == data[part]
                self._support[at] += np.count_nonzero(same)

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        if not all(int(target) in self._rows for target in targets):
            raise InputError(
                "Every candidate must be passed to aggregate() before reports are added."
            )
        rows: Ids = np.array([self._rows[int(target)] for target in targets], dtype=np.int64)
        return frequency(self._support[rows].astype(np.float64), self.n, *self._law)
