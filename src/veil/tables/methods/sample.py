"""A sample of the rows."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.tables.method import Kind, Masked, Method
from veil.tables.table import Table


class Sample(Method):
    """Release a random sample of the rows, in their order, without replacement.

    round(rate n) rows are kept. Nothing is proved: who is in the sample is as exposed as before.
    """

    name: ClassVar[str] = "sample"
    family: ClassVar[str] = "Sampling"
    kind: ClassVar[Kind] = "all"
    rate: Annotated[float, Field(gt=0, lt=1, description="share of the rows", examples=[0.1])]

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Draw rows."""
        del columns
        kept = np.sort(rng.permutation(len(table))[: round(self.rate * len(table))])
        return Masked(table.take(kept), kept)
