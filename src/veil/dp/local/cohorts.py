r"""Bloom filters that are counted by cohort, and the candidates that explain them.

With N_c reports of a cohort, the share of filters with a 1 at bit i is estimated by

.. math:: t_{ci} = \frac{\mathit{ones}_{ci}/N_c - p^*}{q^* - p^*}

and n t is regressed on the filters of the candidates, weighted by its variances. Texts that are
no candidates are taken out on average (`veil.dp.local.filters`), and widen the residuals, which
widen the standard errors. Few candidates are fitted together by least squares. Of many, those are
selected first that are significant alone (5 %, Bonferroni), then those that are so in what the
selected leave, until there are no more; the others are estimated from what is left at the end.
"""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.dp.local.aggregate import Aggregate, Reader
from veil.dp.local.counts import bonferroni
from veil.dp.local.filters import Filters, Fit
from veil.dp.local.packed import group_sums
from veil.dp.local.parts import Array

_MOST = 2_000  # candidates that are fitted together
_ROUNDS = 20  # of selecting


class Cohorts(Aggregate):
    """Ones of each bit, and reports, in each cohort."""

    def __init__(
        self, oracle: Reader, bits: int, cohorts: int, hashes: int, law: tuple[float, float]
    ) -> None:
        super().__init__(oracle)
        self._bits, self._cohorts, self._hashes, self._law = bits, cohorts, hashes, law
        self._ones: Ids = np.zeros((cohorts, bits), dtype=np.int64)
        self._sizes: Ids = np.zeros(cohorts, dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        self._ones += group_sums(data, index, self._cohorts, self._bits)
        self._sizes += np.bincount(index, minlength=self._cohorts)

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        filters = Filters(targets, self._cohorts, self._bits, self._hashes)
        weights, values = self._shares()
        values -= self.n * filters.share
        used = int(np.count_nonzero(weights))
        room = max(1, min(_MOST, used // 4))
        if len(targets) <= room:
            fit = filters.fit(weights, values)
            left = values - filters.predict(fit.counts)
            return fit.counts, fit.variances * self._excess(weights, left, len(targets))
        return self._pursue(filters, weights, values, room)

    def _shares(self) -> tuple[Floats, Floats]:
        """Return n t for each cell of (cohorts x bits), and 1 over its variance."""
        high, low = self._law
        if high == low:
            raise InputError("With f = 1 all bits are coins, and the reports tell nothing.")
        sizes = np.maximum(self._sizes[:, None], 1).astype(np.float64)
        share = (self._ones + 1) / (sizes + 2)
        precision = (high - low) ** 2 * sizes / (share * (1 - share) * float(self.n) ** 2)
        weights = np.where(self._sizes[:, None] > 0, precision, 0.0).reshape(-1)
        values = self.n * (self._ones / sizes - low) / (high - low)
        return weights, values.reshape(-1)

    def _excess(self, weights: Floats, left: Floats, fitted: int) -> float:
        """Return by how much residuals vary more than by their noise, at least 1."""
        freedom = max(1, int(np.count_nonzero(weights)) - fitted)
        return max(1.0, float(weights @ left**2) / freedom / self.overlap)

    def _pursue(
        self, filters: Filters, weights: Floats, values: Floats, room: int
    ) -> tuple[Floats, Floats]:
        """Select candidates until none is significant in what is left."""
        enough = bonferroni(len(filters))
        chosen: Ids = np.zeros(0, dtype=np.int64)
        fit, left = Fit(np.zeros(0), np.zeros(0)), values
        for _ in range(_ROUNDS):
            products, squares = filters.times(weights, left)
            excess = self._excess(weights, left, len(chosen))
            scores = products / np.sqrt(squares * excess * self.overlap)
            scores[chosen] = -np.inf
            best = np.argsort(-scores, kind="stable")[: room - len(chosen)]
            new = best[scores[best] > enough]
            if not len(new):
                break
            chosen = np.concatenate((chosen, new))
            some = filters.take(chosen)
            fit = some.fit(weights, values)
            left = values - some.predict(fit.counts)
        products, squares = filters.times(weights, left)
        excess = self._excess(weights, left, len(chosen))
        counts, variances = products / squares, 1 / squares
        counts[chosen], variances[chosen] = fit.counts, fit.variances
        return counts, variances * excess
