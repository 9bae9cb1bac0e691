"""Local suppression: single values are blanked until nobody is rare."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.types import Ids
from veil.tables.column import MISSING, Column
from veil.tables.matching import Matching
from veil.tables.method import Kind, Masked, Method, nothing
from veil.tables.table import Table, unknown_column

CAVEAT = (
    "k holds only if a missing value is taken to match every value, for whoever reads the table."
)


class Suppress(Method):
    """Blank single quasi-identifiers until every row has k rows that match it.

    A missing value matches every value, on both sides. Rows with fewer than k matches are taken
    by their number of matches, then by row; of such a row the cell is blanked whose blanking gives
    most matches, of equal ones that of the column with the fewest blanks so far, then of the first
    column (or the first of `importance`, as 'sex,age': least important first), until it has k.

    References
    ----------
    Willenborg, de Waal. Statistical Disclosure Control in Practice. Springer 1996, chapter 5.
    """

    name: ClassVar[str] = "suppress"
    family: ClassVar[str] = "Suppression"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})
    kind: ClassVar[Kind] = "any"
    random: ClassVar[bool] = False
    k: Annotated[int, Field(ge=2, description="rows that match", json_schema_extra=PRIVATE)] = 2
    importance: Annotated[str, Field(description="columns to blank first, by commas")] = ""

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Blank cells."""
        del rng
        if self.k > len(table):
            raise InputError(f"k = {self.k} is more than the table has rows.")
        order = self._order(table, columns)
        codes = np.stack([table.column(name).codes for name in columns], axis=1).copy()
        matching = Matching(codes)
        counts = matching.counts()
        blanks = np.zeros(len(columns), dtype=np.int64)
        todo = np.lexsort((np.arange(len(codes)), counts))
        for row in todo[counts[todo] < self.k]:
            while matching.count(codes[row]) < self.k:
                at = _choice(matching, codes[row], blanks, order)
                matching.change(int(row), at, MISSING)
                blanks[at] += 1
        made = {}
        for i, name in enumerate(columns):
            column = table.column(name)
            gone = (codes[:, i] == MISSING) & ~column.missing
            made[name] = blanked(column, np.flatnonzero(gone)) if gone.any() else column
        told = nothing(CAVEAT)
        return Masked(
            table.changed(made), np.arange(len(table)), told, kept={"blanked": int(blanks.sum())}
        )

    def _order(self, table: Table, columns: Sequence[str]) -> Ids:
        """Return the place of each column among those that are to be blanked first."""
        named = [name.strip() for name in self.importance.split(",") if name.strip()]
        for name in named:
            if name not in columns:
                raise unknown_column(name, table.columns)
        ranked = [*named, *(name for name in columns if name not in named)]
        return np.array([ranked.index(name) for name in columns], dtype=np.int64)


def _choice(matching: Matching, row: Ids, blanks: Ids, order: Ids) -> int:
    """Return the column whose blanking gives the row most matches."""
    best: tuple[float, int, int, int] | None = None
    for at in np.flatnonzero(row != MISSING):
        tried = row.copy()
        tried[at] = MISSING
        rank = (-matching.count(tried), int(blanks[at]), int(order[at]), int(at))
        best = rank if best is None or rank < best else best
    if best is None:
        raise InputError("A row cannot be matched by k rows, however much is blanked.")
    return best[3]


def blanked(column: Column, rows: Ids) -> Column:
    """Return a column with some values missing."""
    if column.numeric:
        values = column.values.copy()
        values[rows] = np.nan
        written = column.texts.copy()
        written[rows] = None
        return Column(values, written)
    values = column.values.copy()
    values[rows] = None
    return Column(values)
