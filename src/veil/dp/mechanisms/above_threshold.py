"""The sparse vector technique: correct versions, and published ones that are wrong."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from veil.core.errors import InputError, LawError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.mechanism import Array, Mechanism, numeric, pure_guarantee, whole
from veil.dp.mechanisms.selection import log_at_most, log_mass

Mask = NDArray[np.bool_]
_TAILS = 50.0  # scales of the threshold's noise, beyond which less than e^-50 remains
_NEVER = -1e5  # log of an impossible event, finite so that 0 times it is 0
_BLOCK = 2**18
_CELLS = 2**28


@dataclass(frozen=True)
class Crossings:
    """Queries (n,) compared with a threshold, all with the same threshold noise.

    `slope` is 1 / scale of the query noise, 0 for none; `rho` that of the threshold noise.
    """

    queries: Ids
    threshold: int
    rho: float
    slope: float

    def chances(self, below: Mask, above: Mask, most: Floats | None = None) -> Floats:
        """Return the probability (k,) that queries in `below` are below, and in `above` above.

        It sums over the threshold noise. Both masks are (k, n); a query in neither is
        unconstrained. `most` (k,) is the largest threshold noise that counts.
        """
        gaps = np.array([query - self.threshold for query in self.queries.tolist()], dtype=float)
        reach = math.ceil(float(np.abs(gaps).max()) + _TAILS / self.rho + 2)
        if 2 * reach * (len(below) + len(gaps)) > _CELLS:
            raise LawError(
                "The distribution of above_threshold has too many terms to sum for these queries"
                " and this epsilon."
            )
        totals = np.zeros(len(below))
        rows = max(1, _BLOCK // (len(gaps) + len(below)))
        for start in range(-reach, reach + 1, rows):
            z = np.arange(start, min(start + rows, reach + 1), dtype=np.float64)
            logs = self._logs(z, gaps, below, above)
            if most is not None:
                logs = np.where(z <= most[:, None], logs, -np.inf)
            totals += np.exp(logs).sum(axis=1)
        return totals

    def _logs(self, z: Floats, gaps: Floats, below: Mask, above: Mask) -> Floats:
        """Return the log probabilities (k, len(z)) of threshold noise z and all answers."""
        needed = z - gaps[:, None]  # smallest query noise that puts it above
        if self.slope:
            under, over = (log_at_most(part, self.slope) for part in (needed - 1, -needed))
        else:
            under, over = (np.where(part, 0.0, _NEVER) for part in (needed > 0, needed <= 0))
        under, over = np.maximum(under, _NEVER), np.maximum(over, _NEVER)
        logs: Floats = below.astype(float) @ under + above.astype(float) @ over
        return logs + log_mass(z, self.rho)


def segments(hits: Mask) -> tuple[Ids, Mask]:
    """Split patterns (k, n) after each 1: return pattern numbers (m,) and positions (m, n)."""
    before: Ids = np.cumsum(hits, axis=1) - hits
    parts: list[tuple[int, Mask]] = [
        (row, before[row] == number)
        for row in range(len(hits))
        for number in range(int(before[row].max()) + 1)
    ]
    return np.array([row for row, _ in parts]), np.array([where for _, where in parts])


Version = Literal["lyu", "dwork-roth", "roth", "lee-clifton", "stoddard", "chen"]
BELOW = int(np.iinfo(np.int64).min)  # version roth, which releases the noisy query if above
ENDED = BELOW + 1
_LARGEST = 2**61
_NOISE_BLOCK = 2**20  # noise drawn at a time
_STREAM = 40  # queries below the threshold in a stream for audits
_CELL_LIMIT, _FAR = (
    16,
    1e18,
)  # cells to either side of the threshold, and the numbers that they hold
_WRONG = (
    "The published privacy proof of this version is wrong: it exists only to be refuted. Do not"
    " use it."
)


class AboveThreshold(Mechanism):
    r"""Report which of many queries are above a threshold, until `cutoff` of them were.

    .. math:: a_i = 1 \text{ if } q_i + \nu_i \ge T + \rho \text{, else } 0,
       \qquad \rho \sim \mathrm{DLap}(r),\ \nu_i \sim \mathrm{DLap}(s)

    After `cutoff` answers of 1 it ends, and all further answers are -1. Queries below the
    threshold cost nothing more, however many. Queries are integers, and none changes by more than
    the sensitivity D when a record is added or removed.

    ============ ================== ====================================== ======================
    version      r                  s                                      proved
    ============ ================== ====================================== ======================
    lyu          2D/epsilon         4cD/epsilon (2cD/epsilon if monotone)  epsilon-DP
    dwork-roth   2cD/epsilon, drawn 4cD/epsilon                            epsilon-DP
                 again after a 1
    roth         2D/epsilon         2cD/epsilon; a 1 is replaced by q + nu nothing
    lee-clifton  4D/epsilon         4D/(3 epsilon)                         (1 + 6c)/4 epsilon
    stoddard     2D/epsilon         no noise, no end                       nothing
    chen         2D/epsilon         2D/epsilon, no end                     nothing
    ============ ================== ====================================== ======================

    c is the cutoff. The last four were published as epsilon-DP, but are not: they are
    demonstrations whose published claims an audit refutes.

    References
    ----------
    Lyu, Su, Li. Understanding the Sparse Vector Technique for Differential Privacy. PVLDB 10(6),
    2017, Algorithms 1 to 6, Theorems 2 and 5. doi:10.14778/3055330.3055331
    Dwork, Roth. The Algorithmic Foundations of Differential Privacy. 2014, Algorithm 1, Theorem
    3.23. doi:10.1561/0400000042

    Notes
    -----
    roth returns 64-bit integers: the noisy query if above, the smallest integer if below, and the
    smallest plus 1 after the end.
    """

    name: ClassVar[str] = "above_threshold"
    family: ClassVar[str] = "Sparse vector"
    rows: ClassVar[bool] = True
    epsilon: Annotated[float, Field(gt=0, description="budget of all answers", examples=[1.0])]
    threshold: Annotated[
        int, Field(description="queries at or above it are reported", examples=[0])
    ]
    sensitivity: Annotated[int, Field(ge=1, description="largest change of any query")] = 1
    cutoff: Annotated[int, Field(ge=1, description="number of answers 1 before it stops")] = 1
    monotone: Annotated[
        bool,
        Field(
            description="one more record never moves two queries in opposite directions (counts);"
            " halves s of lyu"
        ),
    ] = False
    version: Annotated[
        Version,
        Field(description="published version; roth, lee-clifton, stoddard and chen are wrong"),
    ] = "lyu"

    @field_validator("threshold")
    @classmethod
    def _within(cls, threshold: int) -> int:
        if abs(threshold) > _LARGEST:
            raise PydanticCustomError("size", "must be at most 2^61")
        return threshold

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """Scales r and s of the noise, exactly; s = 0 for none."""
        unit, c = Fraction(self.sensitivity) / Fraction(self.epsilon), self.cutoff
        lyu = (2 * unit, (2 if self.monotone else 4) * c * unit)
        table: dict[Version, tuple[Fraction, Fraction]] = {
            "lyu": lyu,
            "dwork-roth": (2 * c * unit, 4 * c * unit),
            "roth": (2 * unit, 2 * c * unit),
            "lee-clifton": (4 * unit, 4 * unit / 3),
            "stoddard": (2 * unit, Fraction(0)),
            "chen": (2 * unit, 2 * unit),
        }
        return table[self.version]

    @property
    def ends(self) -> bool:
        """Whether it ends after `cutoff` answers of 1."""
        return self.version not in ("stoddard", "chen")

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP for all answers together; nothing for most of the wrong versions."""
        if self.version in ("lyu", "dwork-roth"):
            halved = self.monotone and self.version == "lyu"
            caveat = "It holds only for monotone queries." if halved else ""
            return pure_guarantee(self.epsilon, caveat=caveat)
        if self.version == "lee-clifton":
            true = (1 + 6 * self.cutoff) / 4 * self.epsilon
            return pure_guarantee(true, caveat=f"{_WRONG} The epsilon is the true one.")
        return Guarantee("none", unit="record", caveat=_WRONG)

    @property
    def published(self) -> float:
        """The epsilon that was published."""
        return self.epsilon

    def check(self, x: object) -> Ids:
        """Return the queries as integers."""
        queries = whole(x, self.name)
        if queries.ndim != 1:
            raise InputError(f"{self.name} takes a list of queries.")
        if max(abs(int(queries.min())), abs(int(queries.max()))) > _LARGEST:
            raise InputError(f"{self.name} takes integer queries of at most 2^61.")
        return queries

    def draw(self, x: Array, size: int, rng: Generator) -> Array:
        """Draw answers (size, n), with noise for all queries, also after the end."""
        rows = max(1, _NOISE_BLOCK // len(x))
        counts = [min(rows, size - start) for start in range(0, size, rows)]
        return np.concatenate([self._answers(x, count, rng) for count in counts])

    def _answers(self, x: Ids, count: int, rng: Generator) -> Array:
        r, s = self.scales
        again = min(self.cutoff, len(x)) if self.version == "dwork-roth" else 1
        bars = self.threshold + discrete_laplace(r, count * again, rng).reshape(count, again)
        noisy = np.tile(x, (count, 1))
        if s:
            noisy += discrete_laplace(s, noisy.size, rng).reshape(noisy.shape)
        above = _crossed(noisy, bars)
        ended = np.cumsum(above, axis=1) - above >= self.cutoff
        if self.version == "roth":
            return np.where(ended, ENDED, np.where(above, noisy, BELOW))
        answers = above.astype(np.int8)
        return np.where(ended, np.int8(-1), answers) if self.ends else answers

    def law(self, x: Array, outputs: object) -> Floats:
        """Add up the chances of patterns (k, n) over the noise of the threshold."""
        array = numeric(outputs, "A law")
        patterns = np.atleast_2d(array)
        if patterns.shape[1:] != x.shape or not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"Each output of {self.name} must be one integer per query.")
        roth = self.version == "roth"
        over, ended = (
            patterns == (ENDED if roth else -1),
            np.full(patterns.shape, fill_value=False),
        )
        hits = (patterns > ENDED) if roth else (patterns == 1)
        zeros = patterns == (BELOW if roth else 0)
        if self.ends:
            ended = np.cumsum(hits, axis=1) - hits >= self.cutoff
        right = ((over == ended) & (zeros | hits | over)).all(axis=1)
        return np.where(right, self._chances(x, patterns, hits & ~over, zeros), 0.0)

    def _chances(self, x: Ids, patterns: Ids, hits: Mask, zeros: Mask) -> Floats:
        r, s = self.scales
        crossings = Crossings(x, self.threshold, float(1 / r), float(1 / s) if s else 0.0)
        if self.version == "dwork-roth":
            rows, where = segments(hits)
            parts = crossings.chances(zeros[rows] & where, hits[rows] & where)
            products = np.ones(len(patterns))
            np.multiply.at(products, rows, parts)
            return products
        if self.version != "roth":
            return crossings.chances(zeros, hits)
        released = np.where(hits, patterns, x)
        values = np.where(hits, log_mass((released - x).astype(float), float(1 / s)), 0.0).sum(
            axis=1
        )
        least = np.where(hits, patterns - self.threshold, np.inf).min(axis=1)
        none = np.zeros_like(hits)
        chances: Floats = np.exp(values) * crossings.chances(zeros, none, least)
        return chances

    def outcomes(self, x: Array) -> Sequence[tuple[int, ...]]:
        """Return all answers to at most nine queries; those of `roth` cannot be listed."""
        n = len(x)
        if self.version == "roth" or n > 9:
            return ()
        answers = product((0, 1), repeat=n)
        if not self.ends:
            return list(answers)
        ended = {
            tuple(bit if sum(row[:at]) < self.cutoff else -1 for at, bit in enumerate(row))
            for row in answers
        }
        return sorted(ended)

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Return pairs that move queries below the threshold, and queries above it after them."""
        t, d = self.threshold, self.sensitivity
        down = 0 if self.monotone else -d
        tails = {m: min(self.cutoff, m) if self.ends else m for m in (3, 5)}
        long = [([t] * (m + k), [t + d] * m + [t + down] * k) for m, k in tails.items()]
        short = [([t - d] * 4 + [t], [t] * 4 + [t + d]), ([t, t - down], [t + d, t])]
        return [*long, *short, *self._streams(down)]

    def _streams(self, down: int) -> list[tuple[list[int], list[int]]]:
        """Return long streams for roth, with few and low queries above the threshold."""
        if self.version != "roth" or self.cutoff == 1:
            return []
        t, d, above = self.threshold, self.sensitivity, min(self.cutoff, _STREAM // 8)
        low = t - round(self.scales[1] / 2)
        many = 8 * above
        return [([low] * many + [t] * above, [low + d] * many + [t + down] * above)]

    def codes(self, outputs: Array) -> Ids:
        """Return a hash of all answers.

        The numbers of roth would make nearly all answers distinct. Its code is the number of
        answers below and the approximate smallest of the others, an upper bound on the noisy
        threshold.
        """
        if self.version == "roth":
            return self._low_codes(outputs)
        rows = outputs.reshape(len(outputs), -1).astype(np.int64).view(np.uint64)
        powers = np.cumprod(np.full(rows.shape[1], _ODD, dtype=np.uint64))
        mixed = (rows + np.uint64(2)) * powers
        codes: Ids = (mixed.sum(axis=1, dtype=np.uint64) >> np.uint64(1)).astype(np.int64)
        return codes

    def _low_codes(self, outputs: Array) -> Ids:
        above = outputs > ENDED
        least = np.where(above, outputs, np.iinfo(np.int64).max).min(axis=1)
        away = np.clip(least / 1.0 - self.threshold, -_FAR, _FAR) / max(1, int(self.scales[1] / 4))
        cells = np.where(
            above.any(axis=1), np.clip(np.floor(away), -_CELL_LIMIT, _CELL_LIMIT), _CELL_LIMIT + 1
        )
        below = (outputs == BELOW).sum(axis=1)
        codes: Ids = (below * 4 * _CELL_LIMIT + cells + _CELL_LIMIT).astype(np.int64)
        return codes


_ODD = 0x9E3779B97F4A7C15


def _crossed(noisy: Ids, bars: Ids) -> Mask:
    """Return which queries are at or above their bar; each crossing moves to the next bar."""
    if bars.shape[1] == 1:
        return noisy >= bars
    above = np.zeros(noisy.shape, dtype=np.bool_)
    places, rows = np.arange(noisy.shape[1]), np.arange(len(noisy))
    start = np.zeros((len(noisy), 1), dtype=np.int64)
    for number in range(bars.shape[1]):
        over = (noisy >= bars[:, number : number + 1]) & (places >= start)
        first, hit = np.argmax(over, axis=1), over.any(axis=1)
        above[rows[hit], first[hit]] = True
        start = np.where(hit, first + 1, noisy.shape[1])[:, None]
    return above
