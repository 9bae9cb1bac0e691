"""Randomise categories: PRAM and randomised response."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.coins import coins
from veil.dp.exact.samplers import finite
from veil.tables.column import Column
from veil.tables.mechanism import UNIT, Alone, Grid, Kind, Masked, Mechanism, nothing
from veil.tables.table import Table, declared

READ_OFF = (
    "The categories were read from the data, so a category that only one person has reveals that"
    " it"
    " exists. Declare them with a hierarchy that lists them, or with domain=."
)

NEIGHBOURS = "any two values of a record"
_REST = "Only the randomised columns are covered; other columns are unchanged."


class PRAM(Mechanism):
    """Change categories at random by a known matrix (post-randomisation).

    A category stays with probability p; otherwise it becomes one of the others, each with equal
    probability. `invariant`: a second step reverses the first by Bayes' rule with the observed
    shares, so that shares are preserved in expectation. `domain`, such as 'sex=Female|Male',
    declares categories.

    Local DP with epsilon = ln(p (K - 1)/(1 - p)) for each column, summed over the columns, if p is
    at least 1/K, nothing is missing, and the K categories are declared and not read from the data.
    Nothing is proved for the invariant form: its second step depends on everybody's values.

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg, de Wolf. Post randomisation for statistical disclosure
    control: theory and implementation. Journal of Official Statistics 14(4), 1998.
    """

    name: ClassVar[str] = "pram"
    grid: ClassVar[Grid | None] = Grid("pram", "p", (0.5, 0.7, 0.8, 0.9, 0.95))
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "categorical"
    p: Annotated[float, Field(gt=0, le=1, description="probability to keep a category")] = 0.8
    invariant: Annotated[bool, Field(description="preserve shares in expectation")] = False
    domain: Annotated[str, Field(description="categories, such as 'sex=Female|Male;...'")] = ""

    @property
    @override
    def alone(self) -> Alone:
        return "" if self.invariant else "row"

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        randomised, matrices, epsilon, public = {}, {}, 0.0, True
        for name in columns:
            column = table.column(name)
            categories, is_public = declared(table, name, self.domain)
            public &= is_public and not bool(column.missing.any())
            matrix = _matrix(len(categories), self.p)
            first = randomise_column(
                column, categories, coins(1 - Fraction(self.p), len(table), rng), rng
            )
            if self.invariant:
                shares = _shares(column, categories)
                back = _reversed(matrix, shares)
                first = _transformed(first, categories, back, rng)
                matrix = matrix @ back
            randomised[name], matrices[name] = first, (categories, matrix)
            epsilon += _epsilon(self.p, len(categories))
        facts = {"pram": matrices}
        return Masked(
            table.changed(randomised),
            np.arange(len(table)),
            self._proved(epsilon, rest(table, columns), public=public),
            kept=facts,
        )

    def _proved(self, epsilon: float, caveat: str, *, public: bool) -> Guarantee:
        if self.invariant:
            return nothing("The second step depends on the values of all records.")
        if not math.isfinite(epsilon):
            return nothing("A category that always stays, or is the only one, is not hidden.")
        if not public:
            return nothing(READ_OFF)
        return Guarantee("local-dp", epsilon, unit=UNIT, caveat=caveat, neighbours=NEIGHBOURS)


def rest(table: Table, columns: Sequence[str]) -> str:
    """Return the caveat if some columns of the table are not randomised, otherwise ""."""
    return "" if set(table.columns) <= set(columns) else _REST


def _epsilon(p: float, k: int) -> float:
    if k < 2 or p >= 1 or p < 1 / k:
        return math.inf
    return math.log(p * (k - 1) / (1 - p))


def _matrix(k: int, p: float) -> Floats:
    matrix = np.full((k, k), (1 - p) / max(1, k - 1))
    np.fill_diagonal(matrix, p if k > 1 else 1.0)
    return matrix


def _shares(column: Column, categories: Sequence[str]) -> Floats:
    place = {label: i for i, label in enumerate(categories)}
    at = np.array([place[label] for label in column.categories], dtype=np.int64)
    codes = column.codes[column.codes >= 0]
    counts = np.bincount(at[codes], minlength=len(categories)).astype(np.float64)
    shares: Floats = counts / max(1.0, counts.sum())
    return shares


def _reversed(matrix: Floats, shares: Floats) -> Floats:
    """Return Q_jk = P_kj t_k / sum_l P_lj t_l, the posterior of k after seeing j."""
    joint = matrix * shares[:, None]
    total = joint.sum(axis=0)
    back: Floats = np.where(total > 0, joint / np.where(total > 0, total, 1.0), 0.0).T
    empty = total == 0
    back[empty] = np.eye(len(shares))[empty]
    return back


def randomise_column(
    column: Column, categories: Sequence[str], lies: NDArray[np.bool_], rng: Generator
) -> Column:
    """Replace the values marked in `lies` by a uniformly random other category."""
    k, at = len(categories), _places(column, categories)
    shifts = np.zeros(len(column), dtype=np.int64)
    if k > 1:
        shifts[lies] = 1 + rng.integers(0, k - 1, int(lies.sum()))
    return _relabelled(column, categories, (at[column.codes] + shifts) % k)


def _transformed(
    column: Column, categories: Sequence[str], matrix: Floats, rng: Generator
) -> Column:
    rows = _places(column, categories)[column.codes]
    cumulative = matrix.cumsum(axis=1)
    cumulative[:, -1] = 1.0
    uniform = rng.random(len(column))
    new = np.empty(len(column), dtype=np.int64)
    for i in range(len(categories)):
        mine = rows == i
        new[mine] = np.searchsorted(cumulative[i], uniform[mine], side="right")
    return _relabelled(column, categories, new)


def _places(column: Column, categories: Sequence[str]) -> Ids:
    """Return the index of each category of a column, with a last entry for missing values."""
    place = {label: i for i, label in enumerate(categories)}
    return np.array([*(place[label] for label in column.categories), 0], dtype=np.int64)


def _relabelled(column: Column, categories: Sequence[str], codes: Ids) -> Column:
    labels = np.empty(len(categories), dtype=object)
    labels[:] = list(categories)
    values = labels[codes]
    values[column.missing] = None
    return Column.of_texts(values, missing=()) if column.numeric else Column(values)


class RandomResponse(Mechanism):
    """Keep each value with probability e^eps/(e^eps + K - 1), otherwise replace it at random.

    The replacement is uniform over the other categories. Every chosen column is randomised
    separately, with exact coins. Local DP with epsilon for each column, summed over the columns,
    if the K categories are declared (a hierarchy, or `domain` such as 'sex=Female|Male') and
    nothing is missing: missing values stay visible.

    References
    ----------
    Warner. Randomized response: a survey technique for eliminating evasive answer bias. JASA
    60(309), 1965. doi:10.1080/01621459.1965.10480775
    """

    name: ClassVar[str] = "random_response"
    family: ClassVar[str] = "Perturbation"
    kind: ClassVar[Kind] = "categorical"
    epsilon: Annotated[
        float, Field(gt=0, description="budget per record and column", examples=[1.0])
    ]
    domain: Annotated[str, Field(description="categories, such as 'sex=Female|Male;...'")] = ""

    @property
    @override
    def alone(self) -> Alone:
        return "row"

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        randomised, matrices, public, n = {}, {}, True, len(table)
        for name in columns:
            column = table.column(name)
            categories, is_public = declared(table, name, self.domain)
            public &= is_public and not bool(column.missing.any())
            randomised[name] = randomise_column(
                column, categories, self._lies(len(categories), n, rng), rng
            )
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
        return Masked(
            table.changed(randomised), np.arange(len(table)), proved, kept={"pram": matrices}
        )

    def _lies(self, k: int, n: int, rng: Generator) -> NDArray[np.bool_]:
        coin: NDArray[np.bool_] = (
            finite([(1, 0), (k - 1, Fraction(self.epsilon))]).draw(n, rng) == 1
        )
        return coin
