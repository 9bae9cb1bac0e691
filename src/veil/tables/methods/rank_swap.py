"""Values are exchanged with others of a near rank."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.types import Ids
from veil.tables.column import Column
from veil.tables.method import Kind, Masked, Method
from veil.tables.table import Table


class RankSwap(Method):
    """Exchange each value with one whose rank is at most p percent of n higher.

    Column by column: ranks by a stable sort; from the lowest on, each rank i that was not yet
    exchanged draws its partner uniformly among those in (i, i + floor(p n / 100)] that were not;
    where none is left it stays.

    References
    ----------
    Moore. Controlled data-swapping techniques for masking public use microdata sets. U.S. Bureau
    of the Census, Statistical Research Division Report RR 96-04, 1996.
    """

    name: ClassVar[str] = "rank_swap"
    family: ClassVar[str] = "Swapping"
    kind: ClassVar[Kind] = "numeric"
    p: Annotated[
        float,
        Field(gt=0, le=100, description="percent of the ranks", json_schema_extra=PRIVATE),
    ] = 5.0

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Exchange within each column."""
        made = {}
        for name in columns:
            values = table[name].copy()
            there = np.flatnonzero(~table.column(name).missing)
            order = there[np.argsort(values[there], kind="stable")]
            reach = int(self.p * len(order) / 100)
            values[order] = values[order[partners(len(order), reach, rng)]]
            made[name] = Column(values)
        return Masked(table.changed(made), np.arange(len(table)))


def partners(n: int, reach: int, rng: Generator) -> Ids:
    """Return whose value each rank gets.

    The free ranks above i, up to the reach, are a run of a list that only loses members.
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
