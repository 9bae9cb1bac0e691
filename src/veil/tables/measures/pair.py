"""An original and what was released of it, put side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.tables.measures.bins import Bins, Placed
from veil.tables.release import Release
from veil.tables.standing import closed_columns, standing
from veil.tables.table import Table

Released = Release | Table


def require_tables(original: object, released: object) -> None:
    """Raise unless these are a table, and a release or another table."""
    if not isinstance(original, Table) or not isinstance(released, Release | Table):
        raise InputError("Compared are a table, and a release or another table.")


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
        table, levels = standing(table, original, told, rows)
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
