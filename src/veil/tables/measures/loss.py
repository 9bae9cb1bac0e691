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
    """Return what a column of numbers loses row by row, in standard deviations of the original.

    `mean_variation` is over values that are not 0; `left_out` counts those that are. `blanked` is
    the share of values that are missing now and were not: they are in no mean.
    """
    rows = pair.required_rows
    before, after = pair.original[name][rows], pair.released[name]
    sd = spread(pair.original.column(name))
    there, both = ~np.isnan(before), ~(np.isnan(before) | np.isnan(after))
    away, from_ = np.abs(before - after)[both], np.abs(before[both])
    varied = from_ > 0
    gone = float((there & np.isnan(after)).sum())
    return {
        "il1s": _mean(away) / (math.sqrt(2) * sd),
        "mse": _mean(away**2) / sd**2,
        "mae": _mean(away) / sd,
        "mean_variation": _mean(away[varied] / from_[varied]),
        "left_out": float((~varied).sum()),
        "blanked": gone / max(1.0, float(there.sum())),
    }


def moments(pair: Pair, name: str) -> Figures:
    """Return the change of a column's mean, in standard deviations, and of its variance."""
    before, after = pair.original.column(name), pair.released.column(name)
    sd, seen = spread(before), after.values[~after.missing]
    if not len(seen):
        return {"means": math.nan, "variances": math.nan}
    mean = float(before.values[~before.missing].mean())
    change = spread(after) ** 2 / sd**2 - 1 if len(seen) > 1 else math.nan
    return {"means": (float(seen.mean()) - mean) / sd, "variances": change}


def together(pair: Pair, names: Sequence[str]) -> Figures:
    """Return the mean |change| of the correlations, and of covariances over both deviations.

    `singular` counts the dimensions that the columns of the original lack, as totals of others do:
    no matrix is inverted. A correlation with a column that the release made constant counts as 0.
    """
    if len(names) < 2:
        return {}
    before, after = (_complete(one, names) for one in (pair.original, pair.released))
    if min(len(before), len(after)) < 2:
        return {}
    sd = before.std(axis=0, ddof=1)
    if not (sd > 0).all():
        return {}
    true, seen = np.cov(before, rowvar=False), np.cov(after, rowvar=False)
    rank = int(np.linalg.matrix_rank(true / np.outer(sd, sd), hermitian=True))
    places = np.array(list(combinations(range(len(names)), 2))).T
    at = (places[0], places[1])
    return {
        "correlations": float(np.abs(_correlations(true) - _correlations(seen))[at].mean()),
        "covariances": float(np.abs((true - seen) / np.outer(sd, sd))[at].mean()),
        "singular": float(len(names) - rank),
    }


def _correlations(covariances: Floats) -> Floats:
    sd = np.sqrt(np.diag(covariances))
    scale = np.outer(sd, sd)
    found: Floats = np.divide(covariances, scale, out=np.zeros_like(covariances), where=scale > 0)
    return found


def _complete(table: Mapping[str, Floats] | object, names: Sequence[str]) -> Floats:
    """Return the rows without a missing value (m, columns)."""
    matrix = np.stack([table[name] for name in names], axis=1)  # type: ignore[index]
    whole: Floats = matrix[~np.isnan(matrix).any(axis=1)]
    return whole


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def direct(pair: Pair, name: str) -> float:
    """Return the share of values that changed; a generalised one counts as much as it covers."""
    lost = label_losses(pair, name)
    return float(lost.mean()) if len(lost) else 0.0


def contingency(pair: Pair, names: Sequence[str], order: int) -> float:
    """Return the mean, over all tables of up to `order` columns, of sum |differences| / 2n.

    Compared are the rows that were released; a generalised label is spread over what it covers.
    """
    tables = [one for size in range(1, order + 1) for one in combinations(names, size)]
    return float(np.mean([distance(pair, one, kept=True) for one in tables]))


def entropy(pair: Pair, name: str) -> float:
    """Return H(V | V') in bits: how uncertain the original value is for who sees the released."""
    before = pair.original.column(name).codes[pair.required_rows]
    after = pair.released.column(name).codes
    if not len(after):
        return 0.0
    both = row_classes([before, after], len(after))
    return _bits(np.bincount(both)) - _bits(np.bincount(after + 1))


def _bits(counts: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> float:
    shares: Floats = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


@dataclass(frozen=True)
class LossSums:
    """Sums over the cells of a column; None where some label is no generalisation of its value.

    Attributes
    ----------
    level
        Of levels over heights; also None where a label is on no level.
    bits
        Of log2(f(label) / f(value)), by frequencies in the original.
    width
        Of shares of the domain.
    """

    level: float | None = None
    bits: float | None = None
    width: float | None = None


def sum_losses(pair: Pair, name: str, gone: Ids, level: int | None = None) -> LossSums:
    """Add up over the released cells of a column, and those of the rows that are gone.

    `level` is that of the whole column, where it is known.
    """
    column, released = pair.original.column(name), pair.released.column(name)
    n, width = len(column), released.different + 1
    key = (column.codes[pair.required_rows] + 1) * width + released.codes + 1
    pairs, counts = _counted(key, (column.different + 1) * width)
    value, label = pairs // width - 1, pairs % width - 1
    hierarchy = pair.original.hierarchies.get(name)
    meanings = pair.bins(name).meanings
    meant = [*meanings.of(released.categories), meanings.star]  # the last: what is missing
    mass = np.bincount(column.codes + 1, minlength=column.different + 1).astype(np.float64)
    rows, holds = _covered(meant, label, value, mass)
    star = np.array([*(text == TOP for text in released.categories), True])[label]
    kept = (value == MISSING) & (label == MISSING)
    if not (holds | star | kept).all():
        return LossSums()
    rows = np.where(kept, mass[0], np.where(star, n, rows))
    wide = np.where(kept, 0.0, np.array([one.loss for one in meant])[label])
    levels = _levels(released.categories, meanings, hierarchy, level)
    own = 0.0 if level is None or hierarchy is None else level / max(1, hierarchy.height)
    high = np.where(kept, own, levels[label])
    away = float(np.log2(n / mass[column.codes[gone] + 1]).sum())
    return LossSums(
        None if np.isnan(high).any() else float(counts @ high) + len(gone),
        float(counts @ np.log2(rows / mass[value + 1])) + away,
        float(counts @ wide) + len(gone),
    )


def _counted(key: Ids, top: int) -> tuple[Ids, Ids]:
    """Return the different keys below `top`, and how often each occurs."""
    if top > 4 * len(key):
        return np.unique(key, return_counts=True)
    counts = np.bincount(key)
    pairs = np.flatnonzero(counts)
    return pairs, counts[pairs]


def _covered(
    meant: Sequence[Meaning], label: Ids, value: Ids, mass: Floats
) -> tuple[Floats, Bools]:
    """Return how many rows each label stands for, and whether its value is one of them (m,)."""
    rows, holds = np.zeros(len(label)), np.zeros(len(label), dtype=np.bool_)
    orders = {id(one.order): one.order for one in meant}
    which = np.array([id(one.order) for one in meant])
    start = np.array([one.start for one in meant])
    stop = np.array([one.stop for one in meant])
    for number, order in orders.items():
        here = np.flatnonzero(which[label] == number)
        sums = np.append(0.0, np.cumsum(mass[order + 1]))
        place = np.full(len(mass), -1)
        place[order] = np.arange(len(order))
        first, last = start[label[here]], stop[label[here]]
        rows[here] = sums[last] - sums[first]
        at = place[value[here]]  # the last place, of what is missing, is in no order
        holds[here] = (first <= at) & (at < last)
    return rows, holds


def _levels(
    labels: Sequence[str], meanings: Meanings, hierarchy: Hierarchy | None, level: int | None
) -> Floats:
    """Return the level over the height of each label and of what is missing; nan for none."""
    made = np.full(len(labels) + 1, np.nan)
    made[-1] = 1.0
    if level is not None and hierarchy is not None:
        made[:-1] = level / max(1, hierarchy.height)
        return made
    found = {} if hierarchy is None else hierarchy.label_levels
    height = 1 if hierarchy is None else max(1, hierarchy.height)
    values = set(meanings.column.categories)
    for at, label in enumerate(labels):
        if label in values:
            made[at] = 0.0
        elif label in found:
            made[at] = found[label][0] / height
        elif label == TOP:
            made[at] = 1.0
    return made


_ABSOLUTE = ("means", "variances")  # signed by column, absolute overall
_COUNTS = ("left_out",)  # summed overall


@dataclass(frozen=True, eq=False)
class Loss:
    """What a release lost.

    Attributes
    ----------
    overall
        Means over the columns: of numbers il1s, mse, mae, mean_variation, means, variances (of
        these the absolute changes), correlations, covariances; of categories direct, contingency,
        entropy; and share_removed, of the rows. `constant` counts columns of numbers without any
        variation, which are left out, `singular` what the columns of numbers lack of full rank.
    columns
        The same by column.

    What does not apply is not there: row by row nothing is known of synthetic data.
    """

    overall: Mapping[str, float]
    columns: Mapping[str, Mapping[str, float]]
    pair: Pair = field(repr=False)

    def ml(self, target: str = "", estimator: Any = None) -> Learnt:  # noqa: ANN401 - sklearn
        """Return how often a classifier that learnt from the release is right."""
        return train_and_test(self.pair, target, estimator)


def loss(t: Table, r: Released, *, order: int = 2, columns: Sequence[str] | None = None) -> Loss:
    """Return what a release lost of its original.

    Parameters
    ----------
    t, r
        The original, and its release; also a plain table, whose row i is row i.
    order
        Up to how many columns contingency tables have: 1 or 2.
    columns
        Compared; by default all that both have. Then a column that is neither known to an attacker
        nor confidential, and that nothing changed, does not count overall, unless no column has a
        role.
    """
    if order not in (1, 2):
        raise ParameterError("The 'order' of contingency tables must be 1 or 2.")
    pair = Pair.of(t, r, columns)
    if isinstance(r, Table) and pair.rows is None:
        raise InputError(
            f"Row i of a released table must be row i of the original, and there are"
            f" {len(r):,} and {len(t):,} rows; hand in the Release, which knows them, or compare"
            " distributions by tables.utility(t, r, 'marginals')."
        )
    return loss_of(pair, pair.columns if columns is not None else pair.concerned, order)


def loss_of(pair: Pair, counted: Sequence[str], order: int = 2) -> Loss:
    """Return what a release lost, overall in the columns that are counted."""
    every = [one for one in pair.columns if _numeric(pair, one)]
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
    found = {} if pair.rows is None else row_losses(pair, name)
    return found | moments(pair, name)


def _label(pair: Pair, name: str) -> dict[str, float]:
    found = {"contingency": contingency(pair, [name], 1)}
    if pair.rows is not None:
        found |= {
            "direct": direct(pair, name),
            "entropy": entropy(pair, name),
        }
    return found


def _means(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each figure over the columns that have it."""
    names = dict.fromkeys(name for one in found for name in one)
    overall = {}
    for name in names:
        values = np.array([one[name] for one in found if name in one])
        known = np.abs(values) if name in _ABSOLUTE else values
        known = known[~np.isnan(known)]
        total = float(known.sum())
        overall[name] = (
            total if name in _COUNTS else total / len(known) if len(known) else math.nan
        )
    return overall


@dataclass(frozen=True)
class Quality:
    """What is left to be told; None where a release has labels that are not generalisations.

    Attributes
    ----------
    discernibility
        The sum of squared class sizes, and n for each row that was removed: the higher, the less
        rows can be told apart. That is less utility; it is no measure of privacy.
    c_avg
        The mean class size over k.
    precision
        1 - mean of level/height over all cells; a suppressed one counts as its top.
    entropy_bits
        The bits that labels tell less than values did, summed over all cells.
    ncp
        The mean over cells of the share of the domain that a label covers; 1 if suppressed.
    """

    discernibility: int
    c_avg: float
    precision: float | None
    entropy_bits: float | None
    ncp: float | None


def quality(original: Table, release: Release | Table, k: int | None = None) -> Quality:
    """Measure how much a release tells of the quasi-identifiers of the original.

    Parameters
    ----------
    original, release
        A release, or a table whose row i is row i of the original.
    k
        What classes are compared with in `c_avg`; by default the k of the guarantee, else that of
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
    left = np.ones(len(original), dtype=np.bool_)
    left[rows] = False
    gone = np.flatnonzero(left)[: pair.removed]
    sizes = np.bincount(row_classes([table.column(name).codes for name in names], len(table)))
    if k is None:
        told = release.guarantee.k if isinstance(release, Release) else 1
        k = told if told > 1 else int(sizes.min())
    levels = {**(release.levels if isinstance(release, Release) else {}), **pair.levels}
    parts = [sum_losses(pair, name, gone, levels.get(name)) for name in names]
    cells = (len(table) + len(gone)) * len(names)
    level, bits, width = (
        _sum([getattr(part, name) for part in parts]) for name in ("level", "bits", "width")
    )
    sure = len(original) == len(table) + len(gone)  # else which rows were suppressed is unknown
    return Quality(
        int(np.dot(sizes, sizes)) + len(gone) * len(original),
        len(table) / (len(sizes) * k),
        None if level is None else 1 - level / cells,
        bits if sure or not len(gone) else None,
        None if width is None else width / cells,
    )


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return float(sum(known)) if len(known) == len(parts) else None
