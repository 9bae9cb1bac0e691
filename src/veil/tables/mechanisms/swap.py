"""Swap values between rows, blank and impute them, or sample rows."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.mechanism import Grid, Kind, Masked, Mechanism, Presets
from veil.tables.table import Table, row_classes


class Swap(Mechanism):
    """Exchange the confidential columns, together, between random pairs of records.

    round(rate n / 2) disjoint pairs. With `within`, such as 'sex,region', the records of a pair
    agree in these columns; there are fewer pairs if no such partners remain.

    References
    ----------
    Dalenius, Reiss. Data-swapping: a technique for disclosure control. Journal of Statistical
    Planning and Inference 6(1), 1982. doi:10.1016/0378-3758(82)90058-1
    """

    name: ClassVar[str] = "swap"
    family: ClassVar[str] = "Swapping"
    kind: ClassVar[Kind] = "confidential"
    rate: Annotated[
        float,
        Field(gt=0, lt=1, description="share of the records", json_schema_extra=PRIVATE),
    ] = 0.1
    within: Annotated[str, Field(description="columns in which the records of a pair agree")] = ""

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        n = len(table)
        strata = np.zeros(n, dtype=np.int64)
        if self.within:
            names = [name.strip() for name in self.within.split(",")]
            strata = row_classes([table.column(name).codes for name in names], n)
        order = rng.permutation(n)
        order = order[np.argsort(strata[order], kind="stable")]
        first = np.searchsorted(strata[order], strata[order], side="left")
        starts = np.flatnonzero((np.arange(n) - first) % 2 == 0)
        starts = starts[starts + 1 < n]
        starts = starts[strata[order[starts]] == strata[order[starts + 1]]]
        selected = starts[rng.permutation(len(starts))[: round(self.rate * n / 2)]]
        source = np.arange(n)
        source[order[selected]], source[order[selected + 1]] = order[selected + 1], order[selected]
        swapped = {name: table.column(name).take(source) for name in columns}
        return Masked(table.changed(swapped), np.arange(n))


class RankSwap(Mechanism):
    """Exchange each value with one whose rank is at most p percent of n higher.

    For each column, ranks come from a stable sort. From the lowest rank on, each rank i without a
    partner draws one uniformly from the free ranks in (i, i + floor(p n / 100)]. If there is no
    free rank, its value stays.

    References
    ----------
    Moore. Controlled data-swapping techniques for masking public use microdata sets. U.S. Bureau
    of the Census, Statistical Research Division Report RR 96-04, 1996.
    """

    name: ClassVar[str] = "rank_swap"
    grid: ClassVar[Grid | None] = Grid("rank_swap", "p", (2, 5, 10, 20, 40))
    presets: ClassVar[Presets | None] = lambda _: [
        f"rank_swap(p={p})" for p in (1, 2, 5, 10, 20, 50, 100)
    ]
    family: ClassVar[str] = "Swapping"
    kind: ClassVar[Kind] = "numeric"
    p: Annotated[
        float,
        Field(gt=0, le=100, description="percent of the ranks", json_schema_extra=PRIVATE),
    ] = 5.0

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        swapped = {}
        for name in columns:
            values = table[name].copy()
            present = np.flatnonzero(~table.column(name).missing)
            order = present[np.argsort(values[present], kind="stable")]
            reach = int(self.p * len(order) / 100)
            values[order] = values[order[partners(len(order), reach, rng)]]
            swapped[name] = Column(values)
        return Masked(table.changed(swapped), np.arange(len(table)))


def partners(n: int, reach: int, rng: Generator) -> Ids:
    """Return the rank whose value each rank gets.

    The candidates of rank i are the free ranks within `reach` above it.
    """
    partner = np.arange(n)
    free = np.ones(n, dtype=np.bool_)
    for i in range(n):
        if not free[i]:
            continue
        open_ranks = np.flatnonzero(free[i + 1 : i + 1 + reach])
        if not len(open_ranks):
            continue
        j = i + 1 + int(open_ranks[rng.integers(len(open_ranks))])
        partner[i], partner[j] = j, i
        free[j] = False
    return partner


_BLOCK = 2**22  # comparisons at a time


class BlankImpute(Mechanism):
    """Blank a random share of each column, and impute it from the other columns.

    Numbers: the least squares fit on the other numeric columns of complete rows, plus a residual
    sampled from those of the fit. Categories: the value of a random row among those that agree in
    most other columns. Nothing is proved.

    References
    ----------
    Griffin, Avila Navarro, Flores-Baez. Disclosure avoidance for the 1990 census. Proceedings of
    the Section on Survey Research Methods, ASA 1989 (blank and impute).
    """

    name: ClassVar[str] = "blank_impute"
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "any"
    share: Annotated[
        float,
        Field(gt=0, lt=1, description="of each column to blank", json_schema_extra=PRIVATE),
    ] = 0.3

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        imputed = {}
        for name in columns:
            present = np.flatnonzero(~table.column(name).missing)
            blank = np.sort(rng.permutation(present)[: round(self.share * len(present))])
            if not len(blank) or len(blank) == len(present):
                imputed[name] = table.column(name)
            elif table.column(name).numeric:
                imputed[name] = _fitted(table, name, blank, rng)
            else:
                imputed[name] = _borrowed(table, name, blank, rng)
        return Masked(table.changed(imputed), np.arange(len(table)))


def _fitted(table: Table, name: str, blank: Ids, rng: Generator) -> Column:
    others = [other for other in table.columns if other != name and table.column(other).numeric]
    matrix = np.stack([np.ones(len(table)), *(table[other] for other in others)], axis=1)
    gaps = np.isnan(matrix)
    middles = np.nanmean(matrix, axis=0, where=~gaps)
    matrix = np.where(gaps, middles, matrix)
    spread = matrix.std(axis=0)
    matrix[:, 1:] = (matrix[:, 1:] - matrix[:, 1:].mean(axis=0)) / np.where(
        spread[1:] > 0, spread[1:], 1.0
    )
    values = table[name].copy()
    observed = np.setdiff1d(np.flatnonzero(~table.column(name).missing), blank)
    complete = observed[~gaps[observed].any(axis=1)]
    used = complete if len(complete) > matrix.shape[1] else observed
    fit, *_ = np.linalg.lstsq(matrix[used], values[used], rcond=None)
    residuals: Floats = values[used] - matrix[used] @ fit
    values[blank] = matrix[blank] @ fit + residuals[rng.integers(0, len(residuals), len(blank))]
    return Column(values)


def _borrowed(table: Table, name: str, blank: Ids, rng: Generator) -> Column:
    others = [other for other in table.columns if other != name]
    column = table.column(name)
    donors = np.setdiff1d(np.flatnonzero(~column.missing), blank)
    codes = [table.column(other).codes for other in others] or [column.codes * 0]
    small = [_small(code) for code in codes]
    values = column.values.copy()
    step = max(1, _BLOCK // len(donors))
    for start in range(0, len(blank), step):
        rows = blank[start : start + step]
        agree = np.zeros((len(rows), len(donors)), dtype=np.uint16)
        for code in small:
            agree += code[rows][:, None] == code[donors][None]
        values[rows] = column.values[donors[_best(agree, rng)]]
    return Column(values)


def _small(codes: Ids) -> NDArray[np.unsignedinteger]:
    """Return codes in as few bytes as possible, because they are compared very often."""
    kind = np.uint8 if codes.max(initial=0) < 255 else np.uint32
    return (codes + 1).astype(kind)


def _best(agree: NDArray[np.uint16], rng: Generator) -> Ids:
    level = agree == agree.max(axis=1, keepdims=True)
    rank = (rng.random(len(level)) * level.sum(axis=1)).astype(np.int64)
    choice: Ids = np.argmax(level.cumsum(axis=1) > rank[:, None], axis=1)
    return choice


class Sample(Mechanism):
    """Release a random sample of the rows, in their order, without replacement.

    Releases round(rate n) rows. Nothing is proved: sampled records are as exposed as before.
    """

    name: ClassVar[str] = "sample"
    presets: ClassVar[Presets | None] = lambda table: [
        f"sample(rate={rate:g})"
        for rate in (0.9, 0.75, 0.5, 0.25, 0.1, 0.05)
        if round(rate * len(table)) > 1
    ]
    family: ClassVar[str] = "Sampling"
    kind: ClassVar[Kind] = "all"
    rate: Annotated[float, Field(gt=0, lt=1, description="share of the rows", examples=[0.1])]

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del columns
        rows = np.sort(rng.permutation(len(table))[: round(self.rate * len(table))])
        return Masked(table.take(rows), rows)
