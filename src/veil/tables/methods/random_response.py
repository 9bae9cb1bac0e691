"""Randomised response for each category."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.dp.exact.samplers import finite
from veil.tables.domains import declared
from veil.tables.method import UNIT, Alone, Kind, Masked, Method, nothing
from veil.tables.methods.pram import NEIGHBOURS, READ_OFF, answered, rest
from veil.tables.table import Table


class RandomResponse(Method):
    """Answer truly with probability e^eps/(e^eps + K - 1), else by one of the other categories.

    Every chosen column is randomised by itself, with exact coins. Local DP of epsilon for each
    column, summed over the columns, where the K categories are declared (a hierarchy, or `domain`
    as 'sex=Female|Male') and nothing is missing: that a value is missing stays visible.

    References
    ----------
    Warner. Randomized response: a survey technique for eliminating evasive answer bias. JASA
    60(309), 1965. doi:10.1080/01621459.1965.10480775
    """

    name: ClassVar[str] = "random_response"
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "categorical"
    epsilon: Annotated[
        float, Field(gt=0, description="budget of a record and column", examples=[1.0])
    ]
    domain: Annotated[str, Field(description="categories, as 'sex=Female|Male;...'")] = ""

    @property
    def alone(self) -> Alone:
        """Each row draws by itself."""
        return "row"

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Randomise each column."""
        made, matrices, public, n = {}, {}, True, len(table)
        for name in columns:
            column = table.column(name)
            categories, said = declared(table, name, self.domain)
            public &= said and not bool(column.missing.any())
            made[name] = answered(column, categories, self._lies(len(categories), n, rng), rng)
            k, stay = len(categories), 1 / (1 + (len(categories) - 1) * np.exp(-self.epsilon))
            matrix = np.full((k, k), (1 - stay) / max(1, k - 1))
            np.fill_diagonal(matrix, stay)
            matrices[name] = (categories, matrix)
        proved = nothing(READ_OFF)
        if public:
            proved = Guarantee(
                "local-dp",
                self.epsilon * len(columns),
                unit=UNIT,
                caveat=rest(table, columns),
                neighbours=NEIGHBOURS,
            )
        return Masked(table.changed(made), np.arange(len(table)), proved, kept={"pram": matrices})

    def _lies(self, k: int, n: int, rng: Generator) -> NDArray[np.bool_]:
        """Toss the coin of every record, exactly."""
        drawn: NDArray[np.bool_] = (
            finite([(1, 0), (k - 1, Fraction(self.epsilon))]).draw(n, rng) == 1
        )
        return drawn
