"""Columns as codes of a finite domain, and back: what a synthesiser works on."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.domains import declared
from veil.tables.table import Table, unknown_column


@dataclass(frozen=True, eq=False)
class Domain:
    """What a column can hold: `labels`, or bins between `cuts`.

    `public` says that it was declared, and not read off the data; `gaps` that a value may be
    missing, for which there is one more code, the last.
    """

    labels: tuple[str, ...]
    cuts: Floats | None
    public: bool
    numeric: bool
    gaps: bool = False

    @property
    def size(self) -> int:
        """Number of codes, that of a missing value included."""
        return (len(self.labels) if self.cuts is None else len(self.cuts) - 1) + self.gaps

    def codes(self, column: Column) -> Ids:
        """Return the code of each value; beyond the outer cuts is in the outer bins."""
        if column.missing.any() and not self.gaps:
            raise InputError("A column has missing values: say that it may, by missing=true.")
        if self.cuts is not None:
            filled = np.where(column.missing, self.cuts[0], column.values)
            codes = np.searchsorted(self.cuts[1:-1], filled, side="right")
        else:
            place = {label: i for i, label in enumerate(self.labels)}
            at = np.array([*(place[label] for label in column.categories), 0], dtype=np.int64)
            codes = at[column.codes]
        return np.where(column.missing, self.size - 1, codes).astype(np.int64)

    def column(self, codes: Ids, rng: Generator) -> Column:
        """Return values of codes; within a bin they are drawn uniformly."""
        gap = (codes == self.size - 1) & self.gaps
        if self.cuts is None:
            labels = np.empty(len(self.labels) + 1, dtype=object)
            labels[:] = [*self.labels, None]
            texts = labels[codes]
            return Column.of_texts(texts, missing=()) if self.numeric else Column(texts)
        at = np.where(gap, 0, codes)
        low, high = self.cuts[at], self.cuts[at + 1]
        values = low + rng.random(len(codes)) * (high - low)
        if (self.cuts == np.round(self.cuts)).all():
            values = np.floor(values)
        return Column(np.where(gap, np.nan, values))


def domain_of(table: Table, name: str, bins: str, domain: str, *, gaps: bool) -> Domain:
    """Return the domain of a column: its bins, or its categories."""
    column = table.column(name)
    cuts = _cuts(bins, table).get(name)
    if cuts is not None:
        if not column.numeric:
            raise InputError(f"The column '{name}' has texts, and no bins.")
        return Domain((), cuts, public=True, numeric=True, gaps=gaps)
    labels, public = declared(table, name, domain)
    return Domain(tuple(labels), None, public=public, numeric=column.numeric, gaps=gaps)


def _cuts(bins: str, table: Table) -> dict[str, Floats]:
    """Read 'age=0|20|40|60;pay=...'."""
    made = {}
    for part in filter(None, (one.strip() for one in bins.split(";"))):
        name, _, listed = part.partition("=")
        if name not in table:
            raise unknown_column(name, table.columns)
        try:
            cuts = [float(cut) for cut in listed.split("|")]
        except ValueError:
            cuts = []
        rising = all(low < high for low, high in pairwise(cuts))
        if len(cuts) < 2 or not rising or not all(map(math.isfinite, cuts)):
            raise ParameterError("Bins are rising numbers, as in 'age=0|20|40|60|80'.")
        made[name] = np.array(cuts)
    return made
