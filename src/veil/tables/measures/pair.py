"""An original and its release: bins, meanings of labels, distances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.formatting import brief
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.labels import Sets, Span, closed_columns, observed_labels, read_spans
from veil.tables.mechanism import Release
from veil.tables.table import Table


@dataclass(frozen=True, eq=False)
class Meaning:
    """The categories ``order[start:stop]`` of a column that a label covers, and its loss.

    `loss` is 0 for a single value, otherwise the share of the domain: of leaves, or of the range
    of numbers; 1 for a star, and for a label that covers no value of the column.
    """

    order: Ids
    start: int
    stop: int
    loss: float

    @property
    def values(self) -> Ids:
        """Codes of the categories."""
        return self.order[self.start : self.stop]

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Meanings:
    """Interprets the released labels of a column.

    A label is a value of the column, a label of its hierarchy, the top, an interval
    ``[a-b]``, ``>a`` or ``<a``, or a set ``{a, b}``.

    >>> ages = Meanings(Column.of([20, 21, 25, 40]))
    >>> [meaning.values.tolist() for meaning in ages.of(["21", "[20-24]", ">24", "*"])]
    [[1], [0, 1], [2, 3], [0, 1, 2, 3]]
    """

    column: Column
    hierarchy: Hierarchy | None = None
    level: int = 0  # of all labels, if it is known
    closed: bool = False  # whether intervals include their upper bound
    _levels: dict[int, tuple[Ids, Ids]] = field(default_factory=dict)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.column.categories)}

    @cached_property
    def _level_codes(self) -> dict[str, int]:
        if self.hierarchy is None or not self.level:
            return {}
        return {label: code for code, label in enumerate(self.hierarchy.labels[self.level])}

    @cached_property
    def _sets(self) -> Sets:
        return Sets(self._place)

    @cached_property
    def _all(self) -> Ids:
        return np.arange(len(self.column.categories))

    @property
    def star(self) -> Meaning:
        """The meaning of a star: every value."""
        return Meaning(self._all, 0, len(self._all), 1.0)

    def of(self, labels: Sequence[str]) -> list[Meaning]:
        """Return the meaning of each label of a released column."""
        spans: Sequence[Span | None] = [None] * len(labels)
        if self.column.numeric:
            spans = read_spans(labels, closed=self.closed)
        return [self._read(label, span) for label, span in zip(labels, spans, strict=True)]

    def _read(self, label: str, span: Span | None) -> Meaning:
        if self.hierarchy is not None and label in self._level_codes:
            return self._node(self.hierarchy, self.level, self._level_codes[label])
        if label in self._place:
            place = self._place[label]
            return Meaning(self._all, place, place + 1, 0.0)
        if self.hierarchy is not None and label in self.hierarchy.label_levels:
            return self._node(self.hierarchy, *self.hierarchy.label_levels[label])
        if label == TOP:
            return self.star
        return self._set(label) if span is None else self._span(span)

    def _node(self, hierarchy: Hierarchy, level: int, code: int) -> Meaning:
        if level not in self._levels:
            labels = hierarchy.codes[level][hierarchy.at(self.column)]
            order = np.argsort(labels, kind="stable")
            self._levels[level] = (order, labels[order])
        order, labels = self._levels[level]
        start, stop = np.searchsorted(labels, [code, code + 1])
        leaves = int((hierarchy.codes[level] == code).sum())
        loss = 0.0 if leaves == 1 else leaves / len(hierarchy.leaves)
        return Meaning(order, int(start), int(stop), loss)

    def _span(self, span: Span) -> Meaning:
        numbers = self.column.numbers
        start = int(np.searchsorted(numbers, span.low, "left" if span.from_low else "right"))
        stop = int(np.searchsorted(numbers, span.high, "right" if span.to_high else "left"))
        if stop <= start:
            return Meaning(self._all, 0, 0, 1.0)
        low, high = float(numbers[0]), float(numbers[-1])
        covered = min(span.high, high) - max(span.low, low)
        loss = covered / (high - low) if high > low else 0.0
        return Meaning(self._all, start, stop, loss)

    def _set(self, label: str) -> Meaning:
        listed, whole = self._sets.of(label) or ([], False)
        codes = np.array(listed, dtype=np.int64)
        if not whole or not len(codes):
            return Meaning(self._all, 0, 0, 1.0)
        loss = 0.0 if len(codes) == 1 else len(codes) / len(self._all)
        return Meaning(codes, 0, len(codes), loss)


FEW = 10  # up to this many distinct numbers, each has its own bin
_NARROW = 32  # up to this many bins, labels are spread by cumulative counts


@dataclass(frozen=True, eq=False)
class Placed:
    """Records in bins: each is spread by the row `codes` (m,) of `weights` (kinds, bins)."""

    codes: Ids
    weights: Any  # a sparse matrix of SciPy, whose rows sum to 1


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of an original column: its values or, for many numbers, its decile intervals.

    Two more bins at the end are for missing values, and for values that the original lacks.
    """

    column: Column
    hierarchy: Hierarchy | None = None
    level: int = 0  # of released labels, if it is known
    closed: bool = False  # whether intervals include their upper bound

    @cached_property
    def cuts(self) -> Floats | None:
        """The distinct deciles, if there are more than ten numbers; x >= cut goes right."""
        if not self.column.numeric or len(self.column.numbers) <= FEW:
            return None
        present = self.column.values[~self.column.missing]
        return np.unique(np.quantile(present, np.arange(1, 10) / 10))

    @cached_property
    def of_category(self) -> Ids:
        """The bin of each category (categories,)."""
        if self.cuts is None:
            return np.arange(len(self.column.categories))
        return np.searchsorted(self.cuts, self.column.numbers, side="right")

    @cached_property
    def value_bins(self) -> int:
        """Number of bins for values of the column."""
        return len(self.column.categories) if self.cuts is None else len(self.cuts) + 1

    @property
    def size(self) -> int:
        """Number of all bins."""
        return self.value_bins + 2

    @property
    def gap(self) -> int:
        """The bin of missing values."""
        return self.value_bins

    @property
    def outside(self) -> int:
        """The bin of values that the original lacks."""
        return self.value_bins + 1

    @cached_property
    def meanings(self) -> Meanings:
        """Interpreter of released labels."""
        return Meanings(self.column, self.hierarchy, self.level, self.closed)

    @cached_property
    def codes(self) -> Ids:
        """The bin of each original record (n,)."""
        return np.append(self.of_category, self.gap)[self.column.codes]

    @cached_property
    def star(self) -> Floats:
        """Shares (bins,) of an unknown record: every value is equally likely."""
        shares = np.bincount(self.of_category, minlength=self.size).astype(np.float64)
        if not shares.any():
            shares[self.gap] = 1.0
        whole: Floats = shares / shares.sum()
        return whole

    def placed(self, released: Column, rows: Ids | None) -> Placed:
        """Return released values in bins; labels are spread evenly over the values below them.

        `rows` maps released to original rows. A newly missing value is a star. Without `rows`, a
        missing value counts as missing in the original, if the original has any.
        """
        gone = released.missing
        if rows is not None:
            was = self.column.missing[rows]
        else:
            was = np.full(len(released), bool(self.column.missing.any()))
        spread: list[Meaning] = []
        if released.numeric and self.column.numeric:
            bins = self._numbers(released)
        else:
            bins, spread = self._labels(released)
        codes = np.where(gone & was, self.gap, np.append(bins, 0)[released.codes])
        codes = np.where(gone & ~was, self.size + len(spread), codes)
        return Placed(codes, self._weights([*spread, self.meanings.star]))

    def _numbers(self, released: Column) -> Ids:
        if self.cuts is not None:
            return np.searchsorted(self.cuts, released.numbers, side="right")
        numbers = self.column.numbers
        at = np.searchsorted(numbers, released.numbers)
        same = np.append(numbers, np.nan)[at] == released.numbers
        return np.where(same, at, self.outside)

    def _labels(self, released: Column) -> tuple[Ids, list[Meaning]]:
        """Return the bin of each released label; codes from `size` on index the spread labels."""
        codes = np.empty(len(released.categories), dtype=np.int64)
        spread: list[Meaning] = []
        for place, meaning in enumerate(self.meanings.of(released.categories)):
            if len(meaning) == 1:
                codes[place] = self.of_category[meaning.values[0]]
            elif len(meaning) == 0:
                codes[place] = self.outside
            else:
                codes[place] = self.size + len(spread)
                spread.append(meaning)
        return codes, spread

    def _weights(self, spread: list[Meaning]) -> Any:  # noqa: ANN401 - a matrix of SciPy
        """Return weights (kinds, bins): one row for each bin, then one for each spread label."""
        matrix = sparse()
        identity = matrix.identity(self.size, format="csr")
        if self.value_bins <= _NARROW:
            return matrix.vstack([identity, matrix.csr_matrix(self._shares(spread))], format="csr")
        sizes = np.array([max(1, len(meaning)) for meaning in spread])
        at = [self.of_category[m.values] if len(m) else np.array([self.gap]) for m in spread]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        shares = np.repeat(1 / sizes, sizes)
        rest = matrix.csr_matrix(
            (shares, np.concatenate(at), ends), shape=(len(spread), self.size)
        )
        return matrix.vstack([identity, rest], format="csr")

    def _shares(self, spread: list[Meaning]) -> Floats:
        """Return the shares of meanings in the bins (m, bins), by cumulative counts."""
        sums: dict[int, Floats] = {}
        shares = np.zeros((len(spread), self.size))
        for place, meaning in enumerate(spread):
            if not len(meaning):
                shares[place, self.gap] = 1.0
                continue
            if len(meaning) == len(meaning.order):
                counts = np.bincount(self.of_category[meaning.order], minlength=self.value_bins)
                shares[place, : self.value_bins] = counts / len(meaning)
                continue
            order = id(meaning.order)  # the same array for all labels of a level
            if order not in sums:
                indicator = np.zeros((len(meaning.order) + 1, self.value_bins))
                indicator[np.arange(1, len(indicator)), self.of_category[meaning.order]] = 1.0
                sums[order] = indicator.cumsum(axis=0)
            counts = sums[order][meaning.stop] - sums[order][meaning.start]
            shares[place, : self.value_bins] = counts / counts.sum()
        return shares


def sparse() -> Any:  # noqa: ANN401 - SciPy has no types
    """Return the module scipy.sparse, or raise an error with how to install it."""
    try:
        from scipy import sparse
    except ImportError:
        raise MissingExtraError(
            "Comparing tables needs scipy: pip install 'veil[tables]'."
        ) from None
    return sparse


Released = Release | Table


def require_tables(original: object, released: object) -> None:
    """Raise unless these are a table, and a release or another table."""
    if not isinstance(original, Table) or not isinstance(released, Release | Table):
        raise InputError("The original must be a table, and the release a Release or a table.")


@brief()
@dataclass(frozen=True, eq=False)
class Pair:
    """An original and a released table.

    Attributes
    ----------
    original, released
        The tables.
    rows
        Original row of each released row (m,), or None if unknown.
    removed
        Number of suppressed rows, without those that a sample left out.
    columns
        Shared columns.
    levels
        By column the level of its hierarchy, if it is generalised.
    closed
        Columns whose intervals include their upper bound, even if they look half-open.
    """

    original: Table
    released: Table
    rows: Ids | None
    removed: int
    columns: tuple[str, ...]
    levels: Mapping[str, int] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, original: Table, released: Released, columns: Sequence[str] | None = None
    ) -> "Pair":
        """Pair a table with a release; tables of equal length are paired row by row."""
        require_tables(original, released)
        if not len(original):
            raise InputError("The original table has no rows.")
        table = released.table if isinstance(released, Release) else released
        rows = released.rows if isinstance(released, Release) else None
        if isinstance(released, Table) and len(released) == len(original):
            rows = np.arange(len(original))
        removed = released.suppressed if isinstance(released, Release) else 0
        removed = max(0, min(removed, len(original) - len(table)))
        if rows is not None and (
            len(rows) != len(table) or (len(rows) and int(rows.max()) >= len(original))
        ):
            raise InputError("The release and the table do not match: their rows differ.")
        shared = tuple(name for name in original.columns if name in table)
        for name in columns or ():
            original.column(name), table.column(name)
        shared = shared if columns is None else tuple(columns)
        if not shared:
            raise InputError("The two tables have no column in common.")
        for table_ in (original, table):
            table_.require_finite(shared)
        table_levels = released.levels if isinstance(released, Release) else {}
        table, levels = observed_labels(table, original, table_levels, rows)
        closed = closed_columns(table, original, rows)
        return cls(original, table, rows, removed, shared, levels, closed)

    @property
    def required_rows(self) -> Ids:
        """Original row of each released row, or an error if unknown."""
        if self.rows is None:
            raise InputError(
                "The original row of each released row is unknown, as in synthetic data or a file"
                " with other rows. Compare distributions (marginals) instead."
            )
        return self.rows

    @property
    def share_removed(self) -> float:
        """Share of the original rows that are not in the release."""
        if self.rows is None and not self.removed:
            return 0.0
        return max(0.0, 1 - len(self.released) / len(self.original))

    @property
    def concerned(self) -> tuple[str, ...]:
        """Columns with a role, and those that changed; all columns if none has a role."""
        declared = {*self.original.qi, *self.original.confidential}
        if not declared.intersection(self.columns) or self.rows is None:
            return self.columns
        return tuple(name for name in self.columns if name in declared or self._changed(name))

    def _changed(self, name: str) -> bool:
        before, after = self.original.column(name), self.released.column(name)
        if before.numeric != after.numeric:
            return True
        was = before.values[self.rows]
        same = (was == after.values) | (before.missing[self.rows] & after.missing)
        return not bool(same.all())

    @cached_property
    def _bins(self) -> dict[str, Bins]:
        return {}

    def bins(self, name: str) -> Bins:
        """Return the bins of an original column."""
        if name not in self._bins:
            self._bins[name] = Bins(
                self.original.column(name),
                self.original.hierarchies.get(name),
                self.levels.get(name, 0),
                closed=name in self.closed,
            )
        return self._bins[name]

    @cached_property
    def _placed(self) -> dict[str, Placed]:
        return {}

    def placed(self, name: str) -> Placed:
        """Return the released column in the bins of the original."""
        if name not in self._placed:
            column = self.released.column(name)
            self._placed[name] = self.bins(name).placed(column, self.rows)
        return self._placed[name]


_DENSE = 2**22  # kinds of pairs to count in a dense table
_AT_ONCE = 2**22  # cells to compare at once


def distance(pair: Pair, names: Sequence[str], *, released_only: bool = False) -> float:
    """Return half the sum of |differences| of shares, in one or two columns together.

    Suppressed rows count as stars, and shares are those of the whole original; with
    `released_only`, both are those of the released rows only.
    """
    rows = pair.rows if released_only else None
    removed = 0 if released_only else pair.removed
    if len(names) == 1:
        return _column_distance(pair.bins(names[0]), pair.placed(names[0]), rows, removed)
    first, second = names
    return _pair_distance(
        (pair.bins(first), pair.bins(second)),
        (pair.placed(first), pair.placed(second)),
        rows,
        removed,
    )


def shares(bins: Bins, placed: Placed, removed: int = 0) -> Floats:
    """Return the share of each bin in a release (bins,)."""
    kinds = np.bincount(placed.codes, minlength=placed.weights.shape[0])
    sums = placed.weights.T @ kinds + removed * bins.star
    whole: Floats = sums / max(1.0, float(len(placed.codes) + removed))
    return whole


def _column_distance(bins: Bins, placed: Placed, rows: Ids | None, removed: int) -> float:
    codes = bins.codes if rows is None else bins.codes[rows]
    true = np.bincount(codes, minlength=bins.size) / max(1, len(codes))
    return 0.5 * float(np.abs(true - shares(bins, placed, removed)).sum())


def _pair_distance(
    bins: tuple[Bins, Bins], placed: tuple[Placed, Placed], rows: Ids | None, removed: int
) -> float:
    first, second = bins
    across, along = first.codes, second.codes
    if rows is not None:
        across, along = across[rows], along[rows]
    true = contingency(across, along, (first.size, second.size))
    counts = contingency(
        placed[0].codes, placed[1].codes, tuple(p.weights.shape[0] for p in placed)
    )
    before, after = max(1, len(across)), max(1, len(placed[0].codes) + removed)
    weights, step, total = placed[0].weights.T.tocsr(), max(1, _AT_ONCE // second.size), 0.0
    for start in range(0, first.size, step):
        block = slice(start, min(start + step, first.size))
        released = (weights[block] @ counts @ placed[1].weights).toarray()
        if removed:
            released += removed * np.outer(first.star[block], second.star)
        total += float(np.abs(true[block].toarray() / before - released / after).sum())
    return 0.5 * total


def contingency(first: Ids, second: Ids, shape: Sequence[int]) -> Any:  # noqa: ANN401 - of SciPy
    """Return the counts of each combination of two kinds, as a sparse matrix."""
    matrix = sparse()
    if shape[0] * shape[1] <= _DENSE:
        flat = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
        return matrix.csr_matrix(flat.reshape(shape[0], shape[1]).astype(np.float64))
    counts = np.ones(len(first))
    return matrix.coo_matrix((counts, (first, second)), shape=tuple(shape)).tocsr()
