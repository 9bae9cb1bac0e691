r"""RAPPOR: a Bloom filter, randomised once forever and once more for each report.

Bloom filters that are counted by cohort, and the candidates that explain them.
With N_c reports of a cohort, the share of filters with a 1 at bit i is estimated by

.. math:: t_{ci} = \frac{\mathit{ones}_{ci}/N_c - p^*}{q^* - p^*}

and n t is regressed on the filters of the candidates, weighted by its variances. Texts that are
no candidates are taken out on average (`Filters`), and widen the residuals, which
widen the standard errors. Few candidates are fitted together by least squares. Of many, those are
selected first that are significant alone (5 %, Bonferroni), then those that are so in what the
selected leave, until there are no more; the others are estimated from what is left at the end.
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

_CELLS = 2**21  # cells of the regression that are in memory at a time
_WELL = 1e8  # condition up to which normal equations are inverted at once
_SAME = 1e-6  # share of a column that must not lie in the others


@dataclass(frozen=True)
class Fit:
    """Counts of some candidates and their variances, for residuals of variance 1."""

    counts: Floats
    variances: Floats


class Filters:
    """Candidates (m,) whose filter in cohort c sets the bits of `hashes` hash functions.

    A column has 1 at (cohort, bit) where the filter has, less the share of ones in the filter of
    any text: a text that is no candidate then adds nothing on average.
    """

    def __init__(self, targets: Words, cohorts: int, bits: int, hashes: int) -> None:
        self.targets = targets
        self._cohorts, self._bits, self._hashes = cohorts, bits, hashes
        self.share = 1 - (1 - 1 / bits) ** hashes

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: Ids) -> "Filters":
        """Return some of the candidates."""
        return Filters(self.targets[rows], self._cohorts, self._bits, self._hashes)

    def blocks(self) -> list[slice]:
        """Return parts of the candidates that fit in memory."""
        step = max(1, _CELLS // (self._cohorts * self._hashes))
        return [slice(start, start + step) for start in range(0, len(self), step)]

    def cells(self, part: slice) -> tuple[Ids, NDArray[np.bool_]]:
        """Return (m, cohorts, hashes) cells ``cohort * bits + bit``, and which are no repeats."""
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
            found = ((weights * values)[cells] * new).sum(axis=(1, 2))
            with_values[part] = found - self.share * product
            with_itself[part] = (1 - 2 * self.share) * inside + self.share**2 * total
        return with_values, with_itself

    def predict(self, counts: Floats) -> Floats:
        """Return the sum of the columns, each as often as it is counted."""
        total = np.full(self._cohorts * self._bits, -self.share * float(counts.sum()))
        for part in self.blocks():
            cells, new = self.cells(part)
            often = np.broadcast_to(counts[part, None, None], cells.shape)[new]
            total += np.bincount(cells[new], weights=often, minlength=len(total))
        return total

    def fit(self, weights: Floats, values: Floats) -> Fit:
        """Return the weighted least squares of `values` on the columns, by normal equations.

        A column that follows from the others has no count: its variance is infinite.
        """
        both = self._both(weights)
        alone = np.diag(both)
        either = alone[:, None] + alone
        normal = both - self.share * either + self.share**2 * float(weights.sum())
        inverse = _inverse(normal)
        variances = np.diag(inverse).copy()
        known = np.einsum("ij,ji->i", inverse, normal)
        variances[known < 1 - _SAME] = np.inf
        return Fit(inverse @ self.times(weights, values)[0], variances)

    def _both(self, weights: Floats) -> Floats:
        """Return the weights of the cells that two candidates both set, (m, m)."""
        parts = [self.cells(part) for part in self.blocks()]
        cells, new = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        total = np.zeros((len(self), len(self)))
        group = max(1, _CELLS * self._bits // (len(self) * self._hashes) ** 2)
        for start in range(0, self._cohorts, group):
            some, there = (array[:, start : start + group] for array in (cells, new))
            total += _met(some[there], np.nonzero(there)[0], weights, len(self))
        return total


def _met(cells: Ids, rows: Ids, weights: Floats, count: int) -> Floats:
    """Add up the weights of cells, for each two rows that stand there at the same cell."""
    order = np.argsort(cells, kind="stable")
    cells, rows = cells[order], rows[order]
    _, firsts, sizes = np.unique(cells, return_index=True, return_counts=True)
    others = np.repeat(sizes, sizes)  # for each entry, how many stand at its cell
    ends = np.cumsum(others)
    one = np.repeat(np.arange(len(cells)), others)
    turn = np.arange(ends[-1]) - np.repeat(ends - others, others)
    other = np.repeat(np.repeat(firsts, sizes), others) + turn
    at = rows[one] * count + rows[other]
    summed = np.bincount(at, weights=weights[cells[one]], minlength=count**2)
    return summed.reshape(count, count).astype(np.float64, copy=False)


def _inverse(normal: Floats) -> Floats:
    """Invert what can be inverted well, which is quick, and the rest as far as it goes."""
    try:
        inverse = np.linalg.inv(normal)
    except np.linalg.LinAlgError:
        inverse = np.full_like(normal, np.inf)
    if np.linalg.norm(normal, 1) * np.linalg.norm(inverse, 1) < _WELL:
        return np.asarray(inverse)
    return np.asarray(np.linalg.pinv(normal, rcond=1e-10, hermitian=True))


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


def _apart(q: float, given: ValidationInfo) -> float:
    if q == given.data.get("p"):
        raise PydanticCustomError("apart", "must differ from 'p', or reports say nothing")
    return q


class RAPPOR(TextOracle):
    r"""Report a noisy Bloom filter of the text under the hash functions of a cohort.

    Permanent: each bit is kept with probability 1 - f, and is else a fair coin. Instantaneous: a
    bit is reported as 1 with probability q where the permanent one is 1, and p where it is 0.

    .. math:: \varepsilon_\infty = 2h \ln\frac{1 - f/2}{f/2}, \qquad
       \varepsilon_1 = h \left|\ln\frac{q^*(1-p^*)}{p^*(1-q^*)}\right|

    with :math:`q^* = f(p+q)/2 + (1-f)q` and :math:`p^* = f(p+q)/2 + (1-f)p`. The first bounds all
    reports of a person together whose permanent bits are memoised, the second one report alone.
    They do not add up: what is reported follows from the permanent bits. Every text of a person
    has permanent bits of its own, which cost again.

    Notes
    -----
    Lecture notes print a sum of the two without the h hash functions, which can be negative. Two
    texts differ in up to 2h bits. q* and p* are drawn at once where nothing is memoised.

    References
    ----------
    Erlingsson, Pihur, Korolova. RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal
    Response. CCS 2014, Theorems 1 and 2, Section 4. doi:10.1145/2660267.2660348
    """

    name: ClassVar[str] = "rappor"
    family: ClassVar[str] = "Hashing"
    memoises: ClassVar[bool] = True
    changes: ClassVar[str] = "That the text changed, and when, can be seen."
    f: Annotated[
        float,
        Field(gt=0, le=1, description="share of permanent bits that are fair coins",
              json_schema_extra=PRIVATE),
    ] = 0.5  # fmt: skip
    p: Annotated[float, Field(ge=0, le=1, description="reported as 1 where the bit is 0")] = 0.5
    q: Annotated[
        float,
        Field(ge=0, le=1, description="reported as 1 where the bit is 1"),
        AfterValidator(_apart),
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
        """Epsilon of one report alone."""
        high, low = self.probabilities
        if high in (0.0, 1.0) or low in (0.0, 1.0):
            return math.inf
        return self.hashes * abs(math.log(high * (1 - low) / (low * (1 - high))))

    @property
    def guarantee(self) -> Guarantee:
        """Local DP of the permanent bits, and so of whatever is reported of them."""
        told = f"The figure is of the permanent bits; one report alone is {self.once:.4g}."
        return local(self.permanent, told)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Packed bits, and cohorts."""
        return packed_part(self.bits), code_part(self.cohorts)

    @property
    def probabilities(self) -> tuple[float, float]:
        """Of a 1 where the Bloom filter has a 1, and where it has a 0: q* and p*."""
        high, low = self._stars()
        return float(high), float(low)

    def _stars(self) -> tuple[Fraction, Fraction]:
        f, p, q = map(Fraction, (self.f, self.p, self.q))
        return f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p

    def bloom(self, x: Words, cohorts: Array) -> Iterator[Ids]:
        """Yield the bits (n,) that a text sets in a cohort, one hash function after the other."""
        for turn in range(self.hashes):
            yield positions(x, cohorts.astype(np.int64) * self.hashes + turn, self.bits)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw all bits as if the filter were empty, then anew those that the text sets."""
        if memo is not None:
            return self._memoised(x, rng, memo)
        cohorts = rng.integers(0, self.cohorts, len(x), dtype=np.int32)
        high, low = self._stars()
        packed = coin(low).packed(len(x), self.bits, rng)
        for places in self.bloom(x, cohorts):
            write_bits(packed, places, coin(high).toss(len(x), rng))
        return packed, cohorts

    def _memoised(self, x: Array, rng: Generator, memo: Memo) -> Drawing:
        """Take the cohort and the permanent bits from the key, and draw the report anew."""
        cohorts = memo.below("cohort", [self.cohorts])[:, 0].astype(np.int32)
        empty = np.zeros((len(x), self.parts[0].shape[0]), dtype=np.uint8)
        for places in self.bloom(x, cohorts):
            write_bits(empty, places, np.ones(len(x), dtype=np.bool_))
        flips = memo.bits("permanent", rational(Fraction(self.f) / 2), self.bits, x)
        permanent = empty ^ np.packbits(flips, axis=1)
        ones = coin(Fraction(self.q)).packed(len(x), self.bits, rng)
        zeros = coin(Fraction(self.p)).packed(len(x), self.bits, rng)
        return (permanent & ones) | (~permanent & zeros), cohorts

    def aggregate(self, targets: Array | None = None) -> Aggregate:
        """Count ones of each bit in each cohort."""
        del targets
        return Cohorts(self, self.bits, self.cohorts, self.hashes, self.probabilities)

    def _codes(self, data: Array, index: Array, one: Array, other: Array) -> Array:
        """Count ones among the bits of each text that the other does not set."""
        sets = [list(self.bloom(x, index)) for x in (one, other)]
        counts = []
        for mine, others in (sets, sets[::-1]):
            ones = np.zeros(len(data), dtype=np.int64)
            for turn, places in enumerate(mine):
                again = [places == before for before in (*mine[:turn], *others)]
                ones += bits_at(data, places) & ~np.logical_or.reduce(again)
            counts.append(ones)
        return counts[0] * (self.hashes + 1) + counts[1]
