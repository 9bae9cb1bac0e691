r"""RAPPOR: a Bloom filter, randomised once permanently and again for each report.

Counts are estimated by regressing bit counts per cohort on the Bloom filters of candidates. With
N_c reports of a cohort, the share of filters with a 1 at bit i is estimated by

.. math:: t_{ci} = \frac{\mathit{ones}_{ci}/N_c - p^*}{q^* - p^*}

and n t is regressed on the filters of the candidates, weighted by inverse variances. Other texts
cancel out on average (`Filters`) but widen the residuals, and so the standard errors. Few
candidates are fitted together by least squares. Among many, those that are significant (5 %,
Bonferroni) are selected round by round, each round on the residuals of the last, until no more
are found. The others are estimated from the final residuals.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.coins import coin, rational
from veil.dp.local.aggregate import Aggregate, Reader, bonferroni
from veil.dp.local.hashing import Words, positions
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import Drawing, TextOracle, local
from veil.dp.local.packed import (
    Array,
    Part,
    bits_at,
    code_part,
    group_sums,
    packed_part,
    write_bits,
)

_CELLS = 2**21  # cells of the regression in memory at a time
_WELL = 1e8  # condition number up to which normal equations are inverted directly
_SAME = 1e-6  # share of a column that the others must not explain


@dataclass(frozen=True)
class Fit:
    """Estimated counts and their variances, assuming residuals of variance 1."""

    counts: Floats
    variances: Floats


class Filters:
    """Candidates (m,) whose filter in cohort c sets the bits of `hashes` hash functions.

    A column of the regression has 1 at each (cohort, bit) of the filter, minus the expected share
    of ones in the filter of any text, so other texts add nothing on average.
    """

    def __init__(self, targets: Words, cohorts: int, bits: int, hashes: int) -> None:
        self.targets = targets
        self._cohorts, self._bits, self._hashes = cohorts, bits, hashes
        self.share = 1 - (1 - 1 / bits) ** hashes

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: Ids) -> "Filters":
        """Return the filters of the candidates `rows`."""
        return Filters(self.targets[rows], self._cohorts, self._bits, self._hashes)

    def blocks(self) -> list[slice]:
        """Return slices of the candidates that fit in memory."""
        step = max(1, _CELLS // (self._cohorts * self._hashes))
        return [slice(start, start + step) for start in range(0, len(self), step)]

    def cells(self, part: slice) -> tuple[Ids, NDArray[np.bool_]]:
        """Return cells ``cohort * bits + bit`` (m, cohorts, hashes), and which are not repeats."""
        functions = np.arange(self._cohorts * self._hashes)
        where = positions(self.targets[part, None], functions, self._bits)
        where = where.reshape(-1, self._cohorts, self._hashes)
        new = np.ones(where.shape, dtype=np.bool_)
        for turn in range(1, self._hashes):
            new[:, :, turn] = (where[:, :, :turn] != where[:, :, turn : turn + 1]).all(axis=2)
        return where + self._bits * np.arange(self._cohorts)[:, None], new

    def times(self, weights: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the weighted products of each column with `values`, and with itself."""
        total, product = float(weights.sum()), float(weights @ values)
        with_values, with_itself = np.empty(len(self)), np.empty(len(self))
        for part in self.blocks():
            cells, new = self.cells(part)
            inside = (weights[cells] * new).sum(axis=(1, 2))
            weighted = ((weights * values)[cells] * new).sum(axis=(1, 2))
            with_values[part] = weighted - self.share * product
            with_itself[part] = (1 - 2 * self.share) * inside + self.share**2 * total
        return with_values, with_itself

    def predict(self, counts: Floats) -> Floats:
        """Return the sum of the columns, weighted by their counts."""
        total = np.full(self._cohorts * self._bits, -self.share * float(counts.sum()))
        for part in self.blocks():
            cells, new = self.cells(part)
            often = np.broadcast_to(counts[part, None, None], cells.shape)[new]
            total += np.bincount(cells[new], weights=often, minlength=len(total))
        return total

    def fit(self, weights: Floats, values: Floats) -> Fit:
        """Return the weighted least squares fit of `values` to the columns.

        A column that depends on the others has an infinite variance.
        """
        overlaps = self._overlaps(weights)
        diagonal = np.diag(overlaps)
        either = diagonal[:, None] + diagonal
        normal = overlaps - self.share * either + self.share**2 * float(weights.sum())
        inverse = _inverse(normal)
        variances = np.diag(inverse).copy()
        resolved = np.einsum("ij,ji->i", inverse, normal)
        variances[resolved < 1 - _SAME] = np.inf
        return Fit(inverse @ self.times(weights, values)[0], variances)

    def _overlaps(self, weights: Floats) -> Floats:
        """Return the total weight of the cells that two candidates share, (m, m)."""
        parts = [self.cells(part) for part in self.blocks()]
        cells, new = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        total = np.zeros((len(self), len(self)))
        group = max(1, _CELLS * self._bits // (len(self) * self._hashes) ** 2)
        for start in range(0, self._cohorts, group):
            part_cells, part_new = (array[:, start : start + group] for array in (cells, new))
            total += _met(part_cells[part_new], np.nonzero(part_new)[0], weights, len(self))
        return total


def _met(cells: Ids, rows: Ids, weights: Floats, count: int) -> Floats:
    """Return the total weight of the cells that two rows share, (count, count)."""
    order = np.argsort(cells, kind="stable")
    cells, rows = cells[order], rows[order]
    _, firsts, sizes = np.unique(cells, return_index=True, return_counts=True)
    others = np.repeat(sizes, sizes)  # number of entries at the same cell
    ends = np.cumsum(others)
    first = np.repeat(np.arange(len(cells)), others)
    turn = np.arange(ends[-1]) - np.repeat(ends - others, others)
    second = np.repeat(np.repeat(firsts, sizes), others) + turn
    at = rows[first] * count + rows[second]
    summed = np.bincount(at, weights=weights[cells[first]], minlength=count**2)
    return summed.reshape(count, count).astype(np.float64, copy=False)


def _inverse(normal: Floats) -> Floats:
    """Return the inverse if it is well conditioned, else the pseudo-inverse."""
    try:
        inverse = np.linalg.inv(normal)
    except np.linalg.LinAlgError:
        inverse = np.full_like(normal, np.inf)
    if np.linalg.norm(normal, 1) * np.linalg.norm(inverse, 1) < _WELL:
        return np.asarray(inverse)
    return np.asarray(np.linalg.pinv(normal, rcond=1e-10, hermitian=True))


_MOST = 2_000  # candidates fitted together
_ROUNDS = 20  # of selection


class Cohorts(Aggregate):
    """Counts of ones per bit, and of reports, in each cohort."""

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
            residuals = values - filters.predict(fit.counts)
            return fit.counts, fit.variances * self._excess(weights, residuals, len(targets))
        return self._pursue(filters, weights, values, room)

    def _shares(self) -> tuple[Floats, Floats]:
        """Return the weight (1/variance) and value n t of each cell of (cohorts x bits)."""
        high, low = self._law
        if high == low:
            raise InputError(
                "With f = 1 all bits are fair coins, so the reports contain no information."
            )
        sizes = np.maximum(self._sizes[:, None], 1).astype(np.float64)
        share = (self._ones + 1) / (sizes + 2)
        precision = (high - low) ** 2 * sizes / (share * (1 - share) * float(self.n) ** 2)
        weights = np.where(self._sizes[:, None] > 0, precision, 0.0).reshape(-1)
        values = self.n * (self._ones / sizes - low) / (high - low)
        return weights, values.reshape(-1)

    def _excess(self, weights: Floats, residuals: Floats, fitted: int) -> float:
        """Return the variance of the residuals over that of their noise, at least 1."""
        freedom = max(1, int(np.count_nonzero(weights)) - fitted)
        return max(1.0, float(weights @ residuals**2) / freedom / self.overlap)

    def _pursue(
        self, filters: Filters, weights: Floats, values: Floats, room: int
    ) -> tuple[Floats, Floats]:
        """Select candidates until none is significant in the residuals."""
        enough = bonferroni(len(filters))
        selected: Ids = np.zeros(0, dtype=np.int64)
        fit, residuals = Fit(np.zeros(0), np.zeros(0)), values
        for _ in range(_ROUNDS):
            products, squares = filters.times(weights, residuals)
            excess = self._excess(weights, residuals, len(selected))
            scores = products / np.sqrt(squares * excess * self.overlap)
            scores[selected] = -np.inf
            best = np.argsort(-scores, kind="stable")[: room - len(selected)]
            new = best[scores[best] > enough]
            if not len(new):
                break
            selected = np.concatenate((selected, new))
            subset = filters.take(selected)
            fit = subset.fit(weights, values)
            residuals = values - subset.predict(fit.counts)
        products, squares = filters.times(weights, residuals)
        excess = self._excess(weights, residuals, len(selected))
        counts, variances = products / squares, 1 / squares
        counts[selected], variances[selected] = fit.counts, fit.variances
        return counts, variances * excess


def _differs(q: float, info: ValidationInfo) -> float:
    if q == info.data.get("p"):
        raise PydanticCustomError(
            "apart", "must differ from 'p', or reports contain no information"
        )
    return q


class RAPPOR(TextOracle):
    r"""Report a noisy Bloom filter of the text under the hash functions of a cohort.

    Permanent: each bit is kept with probability 1 - f, else replaced by a fair coin.
    Instantaneous: a bit is reported as 1 with probability q if the permanent bit is 1, else p.

    .. math:: \varepsilon_\infty = 2h \ln\frac{1 - f/2}{f/2}, \qquad
       \varepsilon_1 = h \left|\ln\frac{q^*(1-p^*)}{p^*(1-q^*)}\right|

    with :math:`q^* = f(p+q)/2 + (1-f)q` and :math:`p^* = f(p+q)/2 + (1-f)p`. The first bounds all
    reports of a person together if permanent bits are memoised, the second a single report. They
    do not add up, because reports are computed from the permanent bits. Each text of a person has
    separate permanent bits, which cost extra.

    Notes
    -----
    Some lecture notes print the sum of the two without the h hash functions, which can be
    negative. Two texts differ in up to 2h bits. Without memoisation, bits are drawn directly from
    q* and p*.

    References
    ----------
    Erlingsson, Pihur, Korolova. RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal
    Response. CCS 2014, Theorems 1 and 2, Section 4. doi:10.1145/2660267.2660348
    """

    name: ClassVar[str] = "rappor"
    family: ClassVar[str] = "Hashing"
    memoises: ClassVar[bool] = True
    changes: ClassVar[str] = "It is visible that the text changed, and when."
    f: Annotated[
        float,
        Field(gt=0, le=1, description="share of permanent bits that are fair coins",
              json_schema_extra=PRIVATE),
    ] = 0.5  # fmt: skip
    p: Annotated[float, Field(ge=0, le=1, description="reported as 1 where the bit is 0")] = 0.5
    q: Annotated[
        float,
        Field(ge=0, le=1, description="reported as 1 where the bit is 1"),
        AfterValidator(_differs),
    ] = 0.75
    bits: Annotated[int, Field(ge=2, le=2**16, description="bits of a report")] = 128
    hashes: Annotated[
        int,
        Field(ge=1, le=64, description="hash functions of a cohort", json_schema_extra=PRIVATE),
    ] = 2
    cohorts: Annotated[int, Field(ge=1, le=2**16, description="number of cohorts")] = 64

    @property
    def permanent(self) -> float:
        """Epsilon of all reports of a person together, while the text stays the same."""
        return 2 * self.hashes * math.log((2 - self.f) / self.f)

    @property
    def once(self) -> float:
        """Epsilon of a single report."""
        high, low = self.probabilities
        if high in (0.0, 1.0) or low in (0.0, 1.0):
            return math.inf
        return self.hashes * abs(math.log(high * (1 - low) / (low * (1 - high))))

    @property
    def guarantee(self) -> Guarantee:
        """Local DP of the permanent bits, and so of anything computed from them."""
        caveat = f"Epsilon is that of the permanent bits; a single report has {self.once:.4g}."
        return local(self.permanent, caveat)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Packed bits, and cohorts."""
        return packed_part(self.bits), code_part(self.cohorts)

    @property
    def probabilities(self) -> tuple[float, float]:
        """P[1] if the Bloom filter has a 1, and if it has a 0: q* and p*."""
        high, low = self._stars()
        return float(high), float(low)

    def _stars(self) -> tuple[Fraction, Fraction]:
        f, p, q = map(Fraction, (self.f, self.p, self.q))
        return f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p

    def bloom(self, x: Words, cohorts: Array) -> Iterator[Ids]:
        """Yield the bits (n,) that a text sets in its cohort, per hash function."""
        for turn in range(self.hashes):
            yield positions(x, cohorts.astype(np.int64) * self.hashes + turn, self.bits)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw all bits as for an empty filter, then redraw the bits that the text sets."""
        if memo is not None:
            return self._memoised(x, rng, memo)
        cohorts = rng.integers(0, self.cohorts, len(x), dtype=np.int32)
        high, low = self._stars()
        packed = coin(low).packed(len(x), self.bits, rng)
        for places in self.bloom(x, cohorts):
            write_bits(packed, places, coin(high).toss(len(x), rng))
        return packed, cohorts

    def _memoised(self, x: Array, rng: Generator, memo: Memo) -> Drawing:
        """Derive the cohort and the permanent bits from the key, and draw a fresh report."""
        cohorts = memo.below("cohort", [self.cohorts])[:, 0].astype(np.int32)
        empty = np.zeros((len(x), self.parts[0].shape[0]), dtype=np.uint8)
        for places in self.bloom(x, cohorts):
            write_bits(empty, places, np.ones(len(x), dtype=np.bool_))
        flips = memo.bits("permanent", rational(Fraction(self.f) / 2), self.bits, x)
        permanent = empty ^ np.packbits(flips, axis=1)
        where_one = coin(Fraction(self.q)).packed(len(x), self.bits, rng)
        where_zero = coin(Fraction(self.p)).packed(len(x), self.bits, rng)
        return (permanent & where_one) | (~permanent & where_zero), cohorts

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count ones of each bit in each cohort."""
        del targets
        return Cohorts(self, self.bits, self.cohorts, self.hashes, self.probabilities)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        """Return the ones among the bits that only the first text sets, and only the second."""
        sets = [list(self.bloom(x, index)) for x in (a, b)]
        counts = []
        for mine, others in (sets, sets[::-1]):
            count = np.zeros(len(data), dtype=np.int64)
            for turn, places in enumerate(mine):
                again = [places == before for before in (*mine[:turn], *others)]
                count += bits_at(data, places) & ~np.logical_or.reduce(again)
            counts.append(count)
        return counts[0] * (self.hashes + 1) + counts[1]
