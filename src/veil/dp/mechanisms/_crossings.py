"""The exact law of patterns of answers above a noisy threshold."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import LawError
from veil.core.types import Floats, Ids
from veil.dp.mechanisms._noise import log_at_most, log_mass

Mask = NDArray[np.bool_]
_TAILS = 50.0  # scales of the threshold's noise beyond which less than e^-50 is left
_NEVER = -1e5  # the log of what cannot be, so that 0 times it is 0
_BLOCK = 2**18
_CELLS = 2**28


@dataclass(frozen=True)
class Crossings:
    """Queries (n,) compared with a threshold, all with the same noise of the threshold.

    `slope` is 1 / scale of the noise of the queries, 0 for none; `rho` that of the threshold.
    """

    queries: Ids
    threshold: int
    rho: float
    slope: float

    def chances(self, below: Mask, above: Mask, most: Floats | None = None) -> Floats:
        """Add up over the noise of the threshold the chance that all are below, and all above.

        Both masks are (k, n); a query in neither may be anything. `most` (k,) is the largest
        noise of the threshold that counts.
        """
        gaps = np.array([query - self.threshold for query in self.queries.tolist()], dtype=float)
        reach = math.ceil(float(np.abs(gaps).max()) + _TAILS / self.rho + 2)
        if 2 * reach * (len(below) + len(gaps)) > _CELLS:
            raise LawError(
                "The law of above_threshold is added up over the noise of the threshold; there are"
                " too many values for these queries and this epsilon."
            )
        found = np.zeros(len(below))
        rows = max(1, _BLOCK // (len(gaps) + len(below)))
        for start in range(-reach, reach + 1, rows):
            z = np.arange(start, min(start + rows, reach + 1), dtype=np.float64)
            logs = self._logs(z, gaps, below, above)
            if most is not None:
                logs = np.where(z <= most[:, None], logs, -np.inf)
            found += np.exp(logs).sum(axis=1)
        return found

    def _logs(self, z: Floats, gaps: Floats, below: Mask, above: Mask) -> Floats:
        """Return the logs (k, len(z)) of noise z of the threshold and of all answers."""
        needed = z - gaps[:, None]  # the least noise of a query that puts it above
        if self.slope:
            under, over = (log_at_most(part, self.slope) for part in (needed - 1, -needed))
        else:
            under, over = (np.where(part, 0.0, _NEVER) for part in (needed > 0, needed <= 0))
        under, over = np.maximum(under, _NEVER), np.maximum(over, _NEVER)
        logs: Floats = below.astype(float) @ under + above.astype(float) @ over
        return logs + log_mass(z, self.rho)


def segments(ones: Mask) -> tuple[Ids, Mask]:
    """Split patterns (k, n) after each 1: of which pattern (m,), and the positions (m, n)."""
    before: Ids = np.cumsum(ones, axis=1) - ones
    parts: list[tuple[int, Mask]] = [
        (row, before[row] == number)
        for row in range(len(ones))
        for number in range(int(before[row].max()) + 1)
    ]
    return np.array([row for row, _ in parts]), np.array([where for _, where in parts])
