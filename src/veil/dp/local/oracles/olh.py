"""Optimised local hashing: a hash function of the client's own, and its bucket."""

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
from veil.dp.local.oracles.grr import kept_and_other, respond
from veil.dp.local.packed import Array, Part, code_part

_ROWS = 2**16  # reports compared at a time: they stay in the cache


class OLH(TextOracle):
    r"""Hash the text to one of g buckets by a random function, and report it by `grr`.

    .. math:: g = \mathrm{round}(e^\varepsilon) + 1, \qquad
       p = \frac{e^\varepsilon}{e^\varepsilon + g - 1}, \qquad q = \frac{1}{g}

    Reports are short whatever the number of values, and the error is as small as that of `oue`;
    reading them takes time in proportion to reports times candidates.

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
        """Local DP of the bucket; the seed says nothing of the text."""
        return local(self.epsilon)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Buckets, and seeds of the hash functions."""
        return code_part(self.buckets), Part(np.uint32)

    @property
    def probabilities(self) -> tuple[float, float]:
        """That a report is the bucket of a candidate: of the true one, and of any other."""
        return kept_and_other(self.epsilon, self.buckets)[0], 1 / self.buckets

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw a seed each, and randomise the bucket."""
        del memo
        seeds = rng.integers(0, 2**32, len(x), dtype=np.uint32)
        buckets = respond(positions(x, seeds, self.buckets), self.epsilon, self.buckets, rng)
        return buckets.astype(self.parts[0].dtype), seeds

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count supporters of each candidate, who must be known beforehand."""
        if targets is None:
            raise InputError("olh keeps no sketch: name the candidates before reports are added.")
        return Supporters(self, targets)

    def _codes(self, data: Array, index: Array, one: Array, other: Array) -> Array:
        first, second = (positions(x, index, self.buckets) for x in (one, other))
        return np.asarray(2 * (data == first) + (data == second))


class Supporters(Aggregate):
    """How many reports are the bucket of each candidate."""

    def __init__(self, oracle: OLH, targets: Words) -> None:
        super().__init__(oracle)
        self._law, self._buckets = oracle.probabilities, oracle.buckets
        self._known = {int(target): at for at, target in enumerate(targets)}
        self._targets, self._support = targets, np.zeros(len(targets), dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        for start in range(0, len(data), _ROWS):
            part = slice(start, start + _ROWS)
            for at, target in enumerate(self._targets):
                same = positions(target, index[part], self._buckets) == data[part]
                self._support[at] += np.count_nonzero(same)

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        if not all(int(target) in self._known for target in targets):
            raise InputError("A candidate was not named before the reports were added.")
        rows: Ids = np.array([self._known[int(target)] for target in targets], dtype=np.int64)
        return frequency(self._support[rows].astype(np.float64), self.n, *self._law)
