"""Mondrian: parts of the table, cut in two as long as both sides satisfy."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.tables.anonymise.parameters import Anonymiser
from veil.tables.anonymise.partition import Items, partitioned
from veil.tables.anonymise.scale import Scale
from veil.tables.anonymise.spans import published
from veil.tables.criteria.classes import valued
from veil.tables.criteria.criterion import passing
from veil.tables.method import Masked
from veil.tables.table import Table, row_classes


class Mondrian(Anonymiser):
    """Cut the table in two again and again, and publish of each part what its rows share.

    A part is cut in the column in which it is widest (its range over that of the table; of equal
    ones the first) at the median m: x < m goes to the left or, where that is empty or one side
    does not satisfy, x <= m. If no cut in it satisfies, the next widest column is tried. Of a part
    numbers are published as [smallest-largest], others as their lowest common ancestor, or without
    a hierarchy as the set of values. No row is suppressed.

    References
    ----------
    LeFevre, DeWitt, Ramakrishnan. Mondrian multidimensional k-anonymity. ICDE 2006, Figure 3
    (strict partitioning). doi:10.1109/ICDE.2006.101
    """

    name: ClassVar[str] = "mondrian"

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Partition and publish."""
        del rng
        self.checked(table)
        rows = len(table)
        groups = self.groups(table, columns)
        made = {
            name: published(table.column(name), table.hierarchies.get(name), groups)
            for name in columns
        }
        return Masked(
            table.changed(made), np.arange(rows), self.proved(table, columns), groups=groups
        )

    def groups(self, table: Table, columns: Sequence[str]) -> Ids:
        """Return the part of each row (n,)."""
        scales = [Scale.of(table.column(one), table.hierarchies.get(one), one) for one in columns]
        values = [valued(table.column(name)) for name in self.asked.columns(table)]
        item = row_classes(
            [scale.ranks for scale in scales] + [value for value, _ in values], len(table)
        )
        weight = np.bincount(item)
        first = np.empty(len(weight), dtype=np.int64)
        first[item[::-1]] = np.arange(len(table))[::-1]
        items = Items(
            np.stack([scale.ranks[first] for scale in scales]),
            weight,
            tuple((value[first], count) for value, count in values),
        )
        criteria = self.asked.criteria(table)
        everything = np.arange(len(weight))
        whole = items.classes(everything, np.zeros_like(everything), 1)
        if not passing(criteria, whole).all():
            raise InputError(
                "The table as a whole does not satisfy what is asked, so that no part of it can;"
                " lower k or l, or raise t or c."
            )
        return partitioned(items, scales, criteria)[item]
