"""An original next to its release: bins, meanings of labels, distances."""

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
    """Some categories of a column: ``order[start:stop]``, and how much is lost by naming them all.

    `loss` is 0 for a single value, else the share of the domain: of leaves, or of the range of
    numbers; 1 for a star, and for a label that stands for nothing that the column has.
    """

    order: Ids
    start: int
    stop: int
    loss: float

    @property
    def values(self) -> Ids:
        """The categories, by their numbers."""
        return self.order[self.start : self.stop]

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Meanings:
    """Reads the labels that releases have for one column.

    A label is a value of the column itself, a label of its hierarchy, the top, an interval
    ``[a-b]``, ``>a`` or ``<a``, or a set ``{a, b}``.

    >>> ages = Meanings(Column.of([20, 21, 25, 40]))
    >>> [one.values.tolist() for one in ages.of(["21", "[20-24]", ">24", "*"])]
    [[1], [0, 1], [2, 3], [0, 1, 2, 3]]
    """

    column: Column
    hierarchy: Hierarchy | None = None
    level: int = 0  # at which all labels stand, if it is known
    closed: bool = False  # whether intervals have both their ends
    _levels: dict[int, tuple[Ids, Ids]] = field(default_factory=dict)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.column.categories)}

    @cached_property
    def _standing(self) -> dict[str, int]:
        """The labels of the level at which all stand."""
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
        """Every value."""
        return Meaning(self._all, 0, len(self._all), 1.0)

    def of(self, labels: Sequence[str]) -> list[Meaning]:
        """Return what each label of a released column stands for."""
        spans: Sequence[Span | None] = [None] * len(labels)
        if self.column.numeric:
            spans = read_spans(labels, closed=self.closed)
        return [self._one(label, span) for label, span in zip(labels, spans, strict=True)]

    def _one(self, label: str, span: Span | None) -> Meaning:
        if self.hierarchy is not None and label in self._standing:
            return self._node(self.hierarchy, self.level, self._standing[label])
        if label in self._place:
            place = self._place[label]
            return Meaning(self._all, place, place + 1, 0.0)
        if self.hierarchy is not None and label in self.hierarchy.label_levels:
            return self._node(self.hierarchy, *self.hierarchy.label_levels[label])
        if label == TOP:
            return self.star
        return self._set(label) if span is None else self._span(span)

    def _node(self, hierarchy: Hierarchy, level: int, code: int) -> Meaning:
        """Return the values below a label of the hierarchy."""
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
        known = np.array(listed, dtype=np.int64)
        if not whole or not len(known):
            return Meaning(self._all, 0, 0, 1.0)
        loss = 0.0 if len(known) == 1 else len(known) / len(self._all)
        return Meaning(known, 0, len(known), loss)


FEW = 10  # different numbers up to which each is a bin of its own
_NARROW = 32  # bins up to which labels are spread by cumulative counts


@dataclass(frozen=True, eq=False)
class Placed:
    """Records in bins: `codes` (m,) say which row of `weights` (kinds, bins) each is spread by."""

    codes: Ids
    weights: Any  # a sparse matrix of SciPy, whose rows sum to 1


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of an original column: its values, or, of numbers, what its deciles cut.

    Behind them come a bin for what is missing, and one for values that the original lacks.
    """

    column: Column
    hierarchy: Hierarchy | None = None
    level: int = 0  # at which released labels stand, if it is known
    closed: bool = False  # whether intervals have both their ends

    @cached_property
    def cuts(self) -> Floats | None:
        """The deciles, each once, where there are more than ten numbers; x >= cut is right."""
        if not self.column.numeric or len(self.column.numbers) <= FEW:
            return None
        there = self.column.values[~self.column.missing]
        return np.unique(np.quantile(there, np.arange(1, 10) / 10))

    @cached_property
    def of_category(self) -> Ids:
        """The bin of each category (categories,)."""
        if self.cuts is None:
            return np.arange(len(self.column.categories))
        return np.searchsorted(self.cuts, self.column.numbers, side="right")

    @cached_property
    def named(self) -> int:
        """Number of bins for values of the column."""
        return len(self.column.categories) if self.cuts is None else len(self.cuts) + 1

    @property
    def size(self) -> int:
        """Number of all bins."""
        return self.named + 2

    @property
    def gap(self) -> int:
        """The bin of what is missing."""
        return self.named

    @property
    def outside(self) -> int:
        """The bin of values that the original lacks."""
        return self.named + 1

    @cached_property
    def meanings(self) -> Meanings:
        """What released labels stand for."""
        return Meanings(self.column, self.hierarchy, self.level, self.closed)

    @cached_property
    def codes(self) -> Ids:
        """The bin of each original record (n,)."""
        return np.append(self.of_category, self.gap)[self.column.codes]

    @cached_property
    def star(self) -> Floats:
        """Shares (bins,) of a record of which nothing is known: every value alike."""
        shares = np.bincount(self.of_category, minlength=self.size).astype(np.float64)
        if not shares.any():
            shares[self.gap] = 1.0
        whole: Floats = shares / shares.sum()
        return whole

    def placed(self, released: Column, rows: Ids | None) -> Placed:
        """Put released values into bins; labels are spread evenly over the values below them.

        `rows` says which original each is. A value that is missing, and was not, is a star; where
        it is not known whether it was, it is taken to have been, if any was.
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
        """Return the bin of each released number."""
        if self.cuts is not None:
            return np.searchsorted(self.cuts, released.numbers, side="right")
        known = self.column.numbers
        at = np.searchsorted(known, released.numbers)
        same = np.append(known, np.nan)[at] == released.numbers
        return np.where(same, at, self.outside)

    def _labels(self, released: Column) -> tuple[Ids, list[Meaning]]:
        """Return the bin of each released label, or beyond `size` which of the spread ones."""
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
        """Return rows (kinds, bins): each bin by itself, then what is spread."""
        matrix = sparse()
        one = matrix.identity(self.size, format="csr")
        if self.named <= _NARROW:
            return matrix.vstack([one, matrix.csr_matrix(self._shares(spread))], format="csr")
        sizes = np.array([max(1, len(meaning)) for meaning in spread])
        at = [self.of_category[m.values] if len(m) else np.array([self.gap]) for m in spread]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        shares = np.repeat(1 / sizes, sizes)
        rest = matrix.csr_matrix(
            (shares, np.concatenate(at), ends), shape=(len(spread), self.size)
        )
        return matrix.vstack([one, rest], format="csr")

    def _shares(self, spread: list[Meaning]) -> Floats:
        """Return how meanings (m,) are spread over the bins (m, bins), by cumulative counts."""
        sums: dict[int, Floats] = {}
        shares = np.zeros((len(spread), self.size))
        for place, meaning in enumerate(spread):
            if not len(meaning):
                shares[place, self.gap] = 1.0
                continue
            if len(meaning) == len(meaning.order):
                counts = np.bincount(self.of_category[meaning.order], minlength=self.named)
                shares[place, : self.named] = counts / len(meaning)
                continue
            order = id(meaning.order)  # the same array for all labels of a level
            if order not in sums:
                one = np.zeros((len(meaning.order) + 1, self.named))
                one[np.arange(1, len(one)), self.of_category[meaning.order]] = 1.0
                sums[order] = one.cumsum(axis=0)
            counts = sums[order][meaning.stop] - sums[order][meaning.start]
            shares[place, : self.named] = counts / counts.sum()
        return shares


def sparse() -> Any:  # noqa: ANN401 - SciPy has no types
    """Return the module scipy.sparse, or say how to get it."""
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
        raise InputError("Compared are a table, and a release or another table.")


@brief()
@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables.

    Attributes
    ----------
    original, released
        As they are.
    rows
        Which original each released row is (m,), None where that is not known.
    removed
        How many rows were suppressed; what a sample left out does not count.
    columns
        What both have.
    levels
        By column the level of its hierarchy, where it stands above the values.
    closed
        Columns whose intervals have both their ends, though they may look as if they had not.
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
        """Put them side by side; of a plain table row i is row i, if there are as many."""
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
            raise InputError("The release is not one of this table: their rows do not fit.")
        shared = tuple(name for name in original.columns if name in table)
        for name in columns or ():
            original.column(name), table.column(name)
        shared = shared if columns is None else tuple(columns)
        if not shared:
            raise InputError("The two tables have no column in common.")
        for held in (original, table):
            held.require_finite(shared)
        told = released.levels if isinstance(released, Release) else {}
        table, levels = observed_labels(table, original, told, rows)
        closed = closed_columns(table, original, rows)
        return cls(original, table, rows, removed, shared, levels, closed)

    @property
    def required_rows(self) -> Ids:
        """Which original each released row is, or say that it is not known."""
        if self.rows is None:
            raise InputError(
                "Which released row is of which original is not known, as of synthetic data or a"
                " file with other rows; compare distributions (marginals) instead."
            )
        return self.rows

    @property
    def share_removed(self) -> float:
        """The share of the original rows that are not in the release."""
        if self.rows is None and not self.removed:
            return 0.0
        return max(0.0, 1 - len(self.released) / len(self.original))

    @property
    def concerned(self) -> tuple[str, ...]:
        """The columns with a role, and those that changed; all where no column has a role."""
        declared = {*self.original.qi, *self.original.confidential}
        if not declared.intersection(self.columns) or self.rows is None:
            return self.columns
        return tuple(one for one in self.columns if one in declared or self._changed(one))

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
        """Return the released column in those bins."""
        if name not in self._placed:
            column = self.released.column(name)
            self._placed[name] = self.bins(name).placed(column, self.rows)
        return self._placed[name]


_DENSE = 2**22  # kinds of pairs that are counted in a dense table
_AT_ONCE = 2**22  # cells that are compared at a time


def distance(pair: Pair, names: Sequence[str], *, kept: bool = False) -> float:
    """Return half the sum of |differences| of shares, of one column or of two together.

    Suppressed rows count as stars, and shares are those of the whole original; with `kept` both
    are of the released rows alone.
    """
    rows = pair.rows if kept else None
    removed = 0 if kept else pair.removed
    if len(names) == 1:
        return _one(pair.bins(names[0]), pair.placed(names[0]), rows, removed)
    first, second = names
    return _two(
        (pair.bins(first), pair.bins(second)),
        (pair.placed(first), pair.placed(second)),
        rows,
        removed,
    )


def shares(bins: Bins, placed: Placed, removed: int = 0) -> Floats:
    """Return the share of each bin in a release (bins,)."""
    kinds = np.bincount(placed.codes, minlength=placed.weights.shape[0])
    found = placed.weights.T @ kinds + removed * bins.star
    whole: Floats = found / max(1.0, float(len(placed.codes) + removed))
    return whole


def _one(bins: Bins, placed: Placed, rows: Ids | None, removed: int) -> float:
    codes = bins.codes if rows is None else bins.codes[rows]
    true = np.bincount(codes, minlength=bins.size) / max(1, len(codes))
    return 0.5 * float(np.abs(true - shares(bins, placed, removed)).sum())


def _two(
    bins: tuple[Bins, Bins], placed: tuple[Placed, Placed], rows: Ids | None, removed: int
) -> float:
    one, other = bins
    across, along = one.codes, other.codes
    if rows is not None:
        across, along = across[rows], along[rows]
    true = contingency(across, along, (one.size, other.size))
    seen = contingency(placed[0].codes, placed[1].codes, tuple(p.weights.shape[0] for p in placed))
    before, after = max(1, len(across)), max(1, len(placed[0].codes) + removed)
    left, step, total = placed[0].weights.T.tocsr(), max(1, _AT_ONCE // other.size), 0.0
    for start in range(0, one.size, step):
        block = slice(start, min(start + step, one.size))
        made = (left[block] @ seen @ placed[1].weights).toarray()
        if removed:
            made += removed * np.outer(one.star[block], other.star)
        total += float(np.abs(true[block].toarray() / before - made / after).sum())
    return 0.5 * total


def contingency(first: Ids, second: Ids, shape: Sequence[int]) -> Any:  # noqa: ANN401 - of SciPy
    """Return how often each kind of one meets each of another, as a sparse matrix."""
    matrix = sparse()
    if shape[0] * shape[1] <= _DENSE:
        flat = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
        return matrix.csr_matrix(flat.reshape(shape[0], shape[1]).astype(np.float64))
    ones = np.ones(len(first))
    return matrix.coo_matrix((ones, (first, second)), shape=tuple(shape)).tocsr()
