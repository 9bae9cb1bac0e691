"""Information loss, by column and overall."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.tables.column import MISSING
from veil.tables.criteria import Bools
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.measures.pair import Meaning, Meanings, Pair, Released, distance, require_tables
from veil.tables.measures.utility import Learnt, label_losses, spread, train_and_test
from veil.tables.mechanism import Release
from veil.tables.table import Table, row_classes

Figures = dict[str, float]


def row_losses(pair: Pair, name: str) -> Figures:
    """Return the loss of a numeric column row by row, in standard deviations of the original.

    `mean_variation` is over nonzero values; `left_out` counts zeros. `blanked` is the share of
    values that are only missing in the release; they enter no mean.
    """
    rows = pair.required_rows
    before, after = pair.original[name][rows], pair.released[name]
    sd = spread(pair.original.column(name))
    present, paired = ~np.isnan(before), ~(np.isnan(before) | np.isnan(after))
    difference, size = np.abs(before - after)[paired], np.abs(before[paired])
    varied = size > 0
    blanked = float((present & np.isnan(after)).sum())
    return {
        "il1s": _mean(difference) / (math.sqrt(2) * sd),
        "mse": _mean(difference**2) / sd**2,
        "mae": _mean(difference) / sd,
        "mean_variation": _mean(difference[varied] / size[varied]),
        "left_out": float((~varied).sum()),
        "blanked": blanked / max(1.0, float(present.sum())),
    }


def moments(pair: Pair, name: str) -> Figures:
    """Return the change of a column's mean, in standard deviations, and of its variance."""
    before, after = pair.original.column(name), pair.released.column(name)
    sd, values = spread(before), after.values[~after.missing]
    if not len(values):
        return {"means": math.nan, "variances": math.nan}
    mean = float(before.values[~before.missing].mean())
    change = spread(after) ** 2 / sd**2 - 1 if len(values) > 1 else math.nan
    return {"means": (float(values.mean()) - mean) / sd, "variances": change}


def together(pair: Pair, names: Sequence[str]) -> Figures:
    """Return the mean |change| of correlations, and of covariances over both deviations.

    `singular` counts the dimensions that the columns of the original lack, for example because one
    is the sum of others. No matrix is inverted. A correlation with a column that the release made
    constant counts as 0.
    """
    if len(names) < 2:
        return {}
    before, after = (_complete(table, names) for table in (pair.original, pair.released))
    if min(len(before), len(after)) < 2:
        return {}
    sd = before.std(axis=0, ddof=1)
    if not (sd > 0).all():
        return {}
    true, observed = np.cov(before, rowvar=False), np.cov(after, rowvar=False)
    rank = int(np.linalg.matrix_rank(true / np.outer(sd, sd), hermitian=True))
    places = np.array(list(combinations(range(len(names)), 2))).T
    at = (places[0], places[1])
    return {
        "correlations": float(np.abs(_correlations(true) - _correlations(observed))[at].mean()),
        "covariances": float(np.abs((true - observed) / np.outer(sd, sd))[at].mean()),
        "singular": float(len(names) - rank),
    }


def _correlations(covariances: Floats) -> Floats:
    sd = np.sqrt(np.diag(covariances))
    scale = np.outer(sd, sd)
    correlations: Floats = np.divide(
        covariances, scale, out=np.zeros_like(covariances), where=scale > 0
    )
    return correlations


def _complete(table: Mapping[str, Floats] | object, names: Sequence[str]) -> Floats:
    matrix = np.stack([table[name] for name in names], axis=1)  # type: ignore[index]
    whole: Floats = matrix[~np.isnan(matrix).any(axis=1)]
    return whole


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def direct(pair: Pair, name: str) -> float:
    """Return the share of changed values; a generalised one counts by what it covers."""
    lost = label_losses(pair, name)
    return float(lost.mean()) if len(lost) else 0.0


def contingency(pair: Pair, names: Sequence[str], order: int) -> float:
    """Return the mean, over all tables of up to `order` columns, of sum |differences| / 2n.

    Only released rows are compared; a generalised label is spread over the values it covers.
    """
    tables = [columns for size in range(1, order + 1) for columns in combinations(names, size)]
    return float(np.mean([distance(pair, columns, released_only=True) for columns in tables]))


def entropy(pair: Pair, name: str) -> float:
    """Return H(V | V') in bits, the uncertainty of the original value given the released one."""
    before = pair.original.column(name).codes[pair.required_rows]
    after = pair.released.column(name).codes
    if not len(after):
        return 0.0
    pairs = row_classes([before, after], len(after))
    return _bits(np.bincount(pairs)) - _bits(np.bincount(after + 1))


def _bits(counts: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> float:
    shares: Floats = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


@dataclass(frozen=True)
class LossSums:
    """Sums over the cells of a column; None if a label does not generalise its value.

    Attributes
    ----------
    level
        Sum of levels over heights; also None if a label is on no level.
    bits
        Sum of log2(f(label) / f(value)), by frequencies in the original.
    width
        Sum of shares of the domain.
    """

    level: float | None = None
    bits: float | None = None
    width: float | None = None


def sum_losses(pair: Pair, name: str, gone: Ids, level: int | None = None) -> LossSums:
    """Return the sums over the released cells of a column, and those of removed rows (`gone`).

    `level` is that of the whole column, if it is known.
    """
    column, released = pair.original.column(name), pair.released.column(name)
    n, width = len(column), released.different + 1
    key = (column.codes[pair.required_rows] + 1) * width + released.codes + 1
    pairs, counts = _counted(key, (column.different + 1) * width)
    value, label = pairs // width - 1, pairs % width - 1
    hierarchy = pair.original.hierarchies.get(name)
    meanings = pair.bins(name).meanings
    meanings_of_labels = [*meanings.of(released.categories), meanings.star]  # the last: missing
    mass = np.bincount(column.codes + 1, minlength=column.different + 1).astype(np.float64)
    rows, holds = _covered(meanings_of_labels, label, value, mass)
    star = np.array([*(text == TOP for text in released.categories), True])[label]
    still_missing = (value == MISSING) & (label == MISSING)
    if not (holds | star | still_missing).all():
        return LossSums()
    rows = np.where(still_missing, mass[0], np.where(star, n, rows))
    wide = np.where(
        still_missing, 0.0, np.array([meaning.loss for meaning in meanings_of_labels])[label]
    )
    levels = _levels(released.categories, meanings, hierarchy, level)
    own = 0.0 if level is None or hierarchy is None else level / max(1, hierarchy.height)
    high = np.where(still_missing, own, levels[label])
    removed_bits = float(np.log2(n / mass[column.codes[gone] + 1]).sum())
    return LossSums(
        None if np.isnan(high).any() else float(counts @ high) + len(gone),
        float(counts @ np.log2(rows / mass[value + 1])) + removed_bits,
        float(counts @ wide) + len(gone),
    )


def _counted(key: Ids, top: int) -> tuple[Ids, Ids]:
    if top > 4 * len(key):
        return np.unique(key, return_counts=True)
    counts = np.bincount(key)
    pairs = np.flatnonzero(counts)
    return pairs, counts[pairs]


def _covered(
    meanings: Sequence[Meaning], label: Ids, value: Ids, mass: Floats
) -> tuple[Floats, Bools]:
    rows, holds = np.zeros(len(label)), np.zeros(len(label), dtype=np.bool_)
    orders = {id(meaning.order): meaning.order for meaning in meanings}
    which = np.array([id(meaning.order) for meaning in meanings])
    start = np.array([meaning.start for meaning in meanings])
    stop = np.array([meaning.stop for meaning in meanings])
    for number, order in orders.items():
        here = np.flatnonzero(which[label] == number)
        sums = np.append(0.0, np.cumsum(mass[order + 1]))
        place = np.full(len(mass), -1)
        place[order] = np.arange(len(order))
        first, last = start[label[here]], stop[label[here]]
        rows[here] = sums[last] - sums[first]
        at = place[value[here]]  # the last one, missing, is in no order
        holds[here] = (first <= at) & (at < last)
    return rows, holds


def _levels(
    labels: Sequence[str], meanings: Meanings, hierarchy: Hierarchy | None, level: int | None
) -> Floats:
    """Return level / height of each label, then of a missing value; nan without a level."""
    shares = np.full(len(labels) + 1, np.nan)
    shares[-1] = 1.0
    if level is not None and hierarchy is not None:
        shares[:-1] = level / max(1, hierarchy.height)
        return shares
    label_levels = {} if hierarchy is None else hierarchy.label_levels
    height = 1 if hierarchy is None else max(1, hierarchy.height)
    values = set(meanings.column.categories)
    for at, label in enumerate(labels):
        if label in values:
            shares[at] = 0.0
        elif label in label_levels:
            shares[at] = label_levels[label][0] / height
        elif label == TOP:
            shares[at] = 1.0
    return shares


_ABSOLUTE = ("means", "variances")  # signed by column, absolute overall
_COUNTS = ("left_out",)  # summed overall


@dataclass(frozen=True, eq=False)
class Loss:
    """The information loss of a release.

    Attributes
    ----------
    overall
        Means over the columns. For numbers: il1s, mse, mae, mean_variation, means, variances (the
        absolute changes of these two), correlations, covariances. For categories: direct,
        contingency, entropy. And share_removed, of the rows. `constant` counts numeric columns
        without variation, which are left out; `singular` is what numeric columns lack of full
        rank.
    columns
        The same by column.

    Figures that do not apply are absent, such as those by row for synthetic data.
    """

    overall: Mapping[str, float]
    columns: Mapping[str, Mapping[str, float]]
    pair: Pair = field(repr=False)

    def ml(self, target: str = "", estimator: Any = None) -> Learnt:  # noqa: ANN401 - sklearn
        """Return the accuracy of a classifier that is trained on the release."""
        return train_and_test(self.pair, target, estimator)


def loss(t: Table, r: Released, *, order: int = 2, columns: Sequence[str] | None = None) -> Loss:
    """Return the information loss of a release.

    Parameters
    ----------
    t, r
        The original, and its release, or a table whose row i is row i of the original.
    order
        Maximal number of columns of contingency tables: 1 or 2.
    columns
        Columns to compare; by default all shared ones. Then an unchanged column that is neither a
        quasi-identifier nor confidential does not count overall, unless no column has a role.
    """
    if order not in (1, 2):
        raise ParameterError("The 'order' of contingency tables must be 1 or 2.")
    pair = Pair.of(t, r, columns)
    if isinstance(r, Table) and pair.rows is None:
        raise InputError(
            f"Row i of a released table must be row i of the original. Got {len(r):,} and"
            f" {len(t):,} rows instead. Try the Release, which knows its rows, or compare"
            " distributions by tables.utility(t, r, 'marginals')."
        )
    return loss_of(pair, pair.columns if columns is not None else pair.concerned, order)


def loss_of(pair: Pair, counted: Sequence[str], order: int = 2) -> Loss:
    """Return the information loss of a release, overall in the `counted` columns."""
    every = [name for name in pair.columns if _numeric(pair, name)]
    by_column = {
        name: _number(pair, name) if name in every else _label(pair, name)
        for name in pair.columns
        if name not in every or _varied(pair, name)
    }
    figures = [name for name in every if name in counted]
    varied = [name for name in figures if name in by_column]
    labels = [name for name in by_column if name not in every and name in counted]
    overall = _means([by_column[name] for name in (*varied, *labels)])
    overall |= together(pair, varied)
    if figures:
        overall["constant"] = float(len(figures) - len(varied))
    if labels:
        overall["contingency"] = contingency(pair, labels, order)
    overall["share_removed"] = pair.share_removed
    return Loss(overall, by_column, pair)


def _varied(pair: Pair, name: str) -> bool:
    return spread(pair.original.column(name)) > 0


def _numeric(pair: Pair, name: str) -> bool:
    return pair.original.column(name).numeric and pair.released.column(name).numeric


def _number(pair: Pair, name: str) -> dict[str, float]:
    figures = {} if pair.rows is None else row_losses(pair, name)
    return figures | moments(pair, name)


def _label(pair: Pair, name: str) -> dict[str, float]:
    figures = {"contingency": contingency(pair, [name], 1)}
    if pair.rows is not None:
        figures |= {
            "direct": direct(pair, name),
            "entropy": entropy(pair, name),
        }
    return figures


def _means(by_column: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for figures in by_column for name in figures)
    overall = {}
    for name in names:
        values = np.array([figures[name] for figures in by_column if name in figures])
        present = np.abs(values) if name in _ABSOLUTE else values
        present = present[~np.isnan(present)]
        total = float(present.sum())
        overall[name] = (
            total if name in _COUNTS else total / len(present) if len(present) else math.nan
        )
    return overall


@dataclass(frozen=True)
class Quality:
    """The information that remains; None if a release has labels that are not generalisations.

    Attributes
    ----------
    discernibility
        The sum of squared class sizes, plus n for each removed row. Larger values mean that fewer
        rows can be told apart: less utility. It does not measure privacy.
    c_avg
        Mean class size over k.
    precision
        1 - mean of level/height over all cells; a suppressed cell counts as the top.
    entropy_bits
        Bits of information that generalisation removed, summed over all cells.
    ncp
        Mean over cells of the share of the domain that a label covers; 1 if suppressed.
    """

    discernibility: int
    c_avg: float
    precision: float | None
    entropy_bits: float | None
    ncp: float | None


def quality(original: Table, release: Release | Table, k: int | None = None) -> Quality:
    """Measure how much a release preserves of the quasi-identifiers.

    Parameters
    ----------
    original, release
        A release, or a table whose row i is row i of the original.
    k
        Class size to compare with in `c_avg`; by default the k of the guarantee, or the size of
        the smallest class.

    References
    ----------
    Bayardo, Agrawal. Data privacy through optimal k-anonymization. ICDE 2005 (discernibility).
    LeFevre, DeWitt, Ramakrishnan. Mondrian multidimensional k-anonymity. ICDE 2006 (c_avg).
    Sweeney. Achieving k-anonymity privacy protection using generalization and suppression. IJUFKS
    10(5), 2002 (precision). Gionis, Tassa. k-anonymization with minimal loss of information. IEEE
    TKDE 21(2), 2009 (entropy). Xu et al. Utility-based anonymization using local recoding. KDD
    2006 (ncp).
    """
    require_tables(original, release)
    names = original.require_qi()
    pair = Pair.of(original, release, names)
    table, rows = pair.released, pair.required_rows
    if not len(table):
        raise InputError("The release has no rows.")
    removed = np.ones(len(original), dtype=np.bool_)
    removed[rows] = False
    gone = np.flatnonzero(removed)[: pair.removed]
    sizes = np.bincount(row_classes([table.column(name).codes for name in names], len(table)))
    if k is None:
        claimed = release.guarantee.k if isinstance(release, Release) else 1
        k = claimed if claimed > 1 else int(sizes.min())
    levels = {**(release.levels if isinstance(release, Release) else {}), **pair.levels}
    parts = [sum_losses(pair, name, gone, levels.get(name)) for name in names]
    cells = (len(table) + len(gone)) * len(names)
    level, bits, width = (
        _sum([getattr(part, name) for part in parts]) for name in ("level", "bits", "width")
    )
    sure = len(original) == len(table) + len(
        gone
    )  # otherwise it is unknown which rows were suppressed
    return Quality(
        int(np.dot(sizes, sizes)) + len(gone) * len(original),
        len(table) / (len(sizes) * k),
        None if level is None else 1 - level / cells,
        bits if sure or not len(gone) else None,
        None if width is None else width / cells,
    )


def _sum(parts: Sequence[float | None]) -> float | None:
    present = [part for part in parts if part is not None]
    return float(sum(present)) if len(present) == len(parts) else None
