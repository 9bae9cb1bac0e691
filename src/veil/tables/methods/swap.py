"""Records exchange their confidential values."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.tables.method import Kind, Masked, Method
from veil.tables.table import Table, row_classes


class Swap(Method):
    """Exchange the confidential columns, together, between random pairs of records.

    round(rate n / 2) disjoint pairs; with `within`, as 'sex,region', both of a pair are equal in
    these columns, and there are fewer pairs where such partners run out.

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
    within: Annotated[str, Field(description="columns in which a pair is equal")] = ""

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Draw pairs, and exchange."""
        n = len(table)
        strata = np.zeros(n, dtype=np.int64)
        if self.within:
            names = [name.strip() for name in self.within.split(",")]
            strata = row_classes([table.column(name).codes for name in names], n)
        order = rng.permutation(n)
        order = order[np.argsort(strata[order], kind="stable")]
        first = np.searchsorted(strata[order], strata[order], side="left")
        left = np.flatnonzero((np.arange(n) - first) % 2 == 0)
        left = left[left + 1 < n]
        left = left[strata[order[left]] == strata[order[left + 1]]]
        chosen = left[rng.permutation(len(left))[: round(self.rate * n / 2)]]
        source = np.arange(n)
        source[order[chosen]], source[order[chosen + 1]] = order[chosen + 1], order[chosen]
        made = {name: table.column(name).take(source) for name in columns}
        return Masked(table.changed(made), np.arange(n))
