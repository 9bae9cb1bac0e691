"""Changed counts: rounding, adjustment, sampling and rolled-up categories."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Cells, Contributions, full_table, interior
from veil.tables.cells.release import Bounds, CellMechanism, CellRelease, Mask
from veil.tables.cells.rules import Threshold, require_counts
from veil.tables.cells.solver import SECONDS, Lines, is_whole, minimise, scipy_module, solve


class Round(CellMechanism):
    """Publish multiples of a base: the nearest, a random one, or such that all sums add up.

    `nearest` rounds every cell and every sum separately, ties to the even multiple. `random`
    rounds up with probability r / base, where r is the remainder: unbiased, each cell and sum
    separately. `round_controlled` picks an adjacent multiple for every cell and sum, so that all
    add up with the least total change; multiples stay unchanged.

    Notes
    -----
    Sums that are rounded separately can reveal cells: 1 1 | 2 and 1 1 | 2 at base 3 become
    0 0 | 3 and 0 0 | 3, and no other table does (`audit`). With three axes or more controlled
    rounding may be impossible; then nothing is published.

    References
    ----------
    Cox. A constructive procedure for unbiased controlled rounding. Journal of the American
    Statistical Association 82(398), 1987. doi:10.1080/01621459.1987.10478456
    """

    name: ClassVar[str] = "round"
    base: int = Field(
        default=5,
        ge=2,
        description="published numbers are its multiples",
        json_schema_extra=PRIVATE,
    )
    how: Literal["nearest", "random", "controlled"] = Field(
        default="nearest", description="to the nearest, at random, or with sums that add up"
    )

    @property
    @override
    def draws(self) -> bool:
        return self.how == "random"

    @override
    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        full = cells.margins
        if self.how == "nearest":
            rounded = np.rint(full / self.base) * self.base
        elif self.how == "random":
            below = np.floor(full / self.base) * self.base
            up = rng.random(full.shape) * self.base < full - below
            rounded = below + self.base * up
        else:
            rounded = round_controlled(cells, self.base)
        return CellRelease(
            rounded,
            cells.axes,
            np.zeros(full.shape, dtype=np.bool_),
            self._bounds(rounded, whole=cells.whole),
            str(self),
            self.guarantee,
            whole=cells.whole,
            additive=self.how == "controlled",
            maps=cells.maps,
        )

    def _bounds(self, rounded: Floats, *, whole: bool) -> Bounds:
        """Return the range of values that could have been rounded to each cell."""
        if self.how == "nearest":
            reach = np.full(rounded.shape, self.base / 2)
            odd = np.rint(rounded / self.base) % 2 == 1
            if whole and self.base % 2 == 0:
                reach[odd] -= 1  # ties go to the even multiple
            elif whole:
                reach -= 0.5
        else:
            reach = np.full(rounded.shape, float(self.base - 1 if whole else self.base))
        return Bounds(np.maximum(0.0, rounded - reach), rounded + reach)


def round_controlled(cells: Cells, base: int) -> Floats:
    """Return a rounded full table that adds up, with the least change."""
    full = cells.margins.ravel()
    below = np.floor(full / base)
    rest = full - base * below
    free = np.flatnonzero(rest > 0)
    if not len(free):
        return cells.margins
    lines = Lines(cells.axes)
    matrix, used = lines.of(free)
    right = np.rint(-(lines.matrix[used] @ below))
    ends = np.zeros(len(free)), np.ones(len(free))
    ups = solve(base - 2 * rest[free], matrix, right, *ends, whole=True)
    if ups is None:
        raise InputError(
            "No controlled rounding of this table exists at this base. Use another base, or"
            " how='random'."
        )
    below[free] += ups
    return (base * below).reshape(lines.shape)


@dataclass(frozen=True, eq=False)
class Adjustment:
    """A linear program for the least change.

    Variables: gains p and losses m of counts from the threshold on; small ones become T b + q.
    T is the threshold, b is 0 or 1, and q is the excess over T if b is 1: q <= M b, where M is
    what the others on its lines can lose. Minimise sum p + m + q + (T - 2 v) b, which is the sum
    of all changes minus that of the small counts v, with A times all changes equal to 0.
    """

    cells: Cells
    threshold: int
    share: float

    @cached_property
    def small(self) -> Mask:
        """Which counts must become 0 or rise to the threshold."""
        values = self.cells.values
        return np.asarray((values > 0) & (values < self.threshold))

    def least(self) -> Floats | None:
        """Return the table of least change, or None if there is none."""
        few = np.flatnonzero(self.small)
        rest = np.flatnonzero(self.cells.values.ravel() >= self.threshold)
        values = self.cells.values.ravel()
        gain, loss = (bound.ravel() for bound in self._room())
        most = np.maximum(0.0, gain[few] + values[few] - self.threshold)
        up = (gain[few] + values[few] >= self.threshold).astype(np.float64)
        cost = [np.ones(2 * len(rest) + len(few)), self.threshold - 2 * values[few]]
        matrix, below, right = self._program(values[few], most, few, rest)
        high = np.concatenate([gain[rest], loss[rest], most, up])
        solution = self._solved(np.concatenate(cost), matrix, (below, right), high, len(few))
        if solution is None:
            return None
        p, m, q, b = np.split(np.rint(solution), np.cumsum([len(rest), len(rest), len(few)]))
        adjusted = values.copy()
        adjusted[rest] += p - m
        adjusted[few] = self.threshold * b + q
        return adjusted.reshape(self.cells.values.shape)

    def _solved(
        self,
        cost: Floats,
        matrix: Any,  # noqa: ANN401 - of SciPy
        sides: tuple[Floats, Floats],
        high: Floats,
        ups: int,
    ) -> Floats | None:
        choices = np.zeros(len(cost))
        choices[len(cost) - ups :] = 1.0
        low, every = np.zeros(len(cost)), np.ones(len(cost))
        for whole in [choices, every] if Lines(self.cells.axes).planar else [every]:
            solution = minimise(cost, matrix, sides, low, high, whole, SECONDS)
            if solution is None or is_whole(solution):
                return solution
        return None

    def _room(self) -> tuple[Floats, Floats]:
        values = self.cells.values
        room = np.maximum(1.0, np.floor(self.share * values))
        loss = np.minimum(room, np.maximum(values - self.threshold, 0.0))
        loss = np.where(self.small, values, loss)
        others = [loss.sum(axis, keepdims=True) - loss for axis in range(values.ndim)]
        return np.where(self.small, np.minimum.reduce(others), room), loss

    def _program(
        self, value: Floats, most: Floats, few: Ids, rest: Ids
    ) -> tuple[Any, Floats, Floats]:
        sparse = scipy_module("sparse")
        places = np.arange(self.cells.margins.size).reshape(self.cells.margins.shape)
        flat = places[interior(self.cells.axes)].ravel()
        every, _ = Lines(self.cells.axes).of(flat[np.concatenate([rest, few])])
        others, small = every[:, : len(rest)], every[:, len(rest) :]
        identity = sparse.eye_array(len(few))
        blocks = [
            [others, -others, small, small * self.threshold],
            [None, None, identity, sparse.diags_array(-most)],
        ]
        sums = small @ value
        below = np.concatenate([sums, np.full(len(few), -np.inf)])
        right = np.concatenate([sums, np.zeros(len(few))])
        return sparse.block_array(blocks, format="csc"), below, right


class CTA(CellMechanism):
    """Change counts as little as possible, so that all are 0 or at least the threshold.

    Sums are preserved and counts are integers. A sensitive count becomes 0 or at least
    `threshold`, a zero stays, any other count moves by at most max(1, floor(share v)) and not
    below `threshold`. The sum of all changes is minimal (or the best found within a minute).

    References
    ----------
    Dandekar and Cox. Synthetic tabular data: an alternative to complementary cell suppression.
    Energy Information Administration, 2002.
    """

    name: ClassVar[str] = "cta"
    threshold: int = Field(
        default=5, ge=2, description="smallest count to publish", json_schema_extra=PRIVATE
    )
    share: float = Field(
        default=0.2, gt=0, lt=1, description="largest change of a count, as a share"
    )

    @override
    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        full = require_counts(cells)
        small = Threshold(threshold=self.threshold).sensitive(cells).cells
        inner = np.zeros(full.shape, dtype=np.bool_)
        inner[interior(cells.axes)] = True
        self._require_sums(small & ~inner)
        values = (
            Adjustment(cells, self.threshold, self.share).least()
            if small.any()
            else full[interior(cells.axes)]
        )
        if values is None:
            raise InputError(
                "No table without small counts has these sums. Allow a larger share, or roll"
                " categories up."
            )
        adjusted = full_table(values, cells.axes)
        below_threshold = (adjusted > 0) & (adjusted < self.threshold)
        if below_threshold.any() or not np.array_equal(adjusted[~inner], full[~inner]):
            raise InputError("The solver found no exact table, so nothing is published.")
        bounds = self._bounds(adjusted, inner)
        return CellRelease(
            adjusted, cells.axes, small, bounds, str(self), self.guarantee, maps=cells.maps
        )

    def _require_sums(self, small: Mask) -> None:
        if small.any():
            raise InputError(
                f"{int(small.sum()):,} sums are below the threshold, and cta preserves all sums."
                " Roll categories up first."
            )

    def _bounds(self, adjusted: Floats, inner: Mask) -> Bounds:
        """Return the range of values that could have become each cell; sums are exact."""
        none = inner & (adjusted == 0)
        low = np.where(inner, np.where(none, 0.0, 1.0), adjusted)
        high = np.where(none, self.threshold - 1.0, _origin(adjusted, self.share))
        return Bounds(low, np.where(inner, high, adjusted))


def _origin(adjusted: Floats, share: float) -> Floats:
    """Return the largest v that may have moved down to each: v - max(1, floor(share v)) <= it."""
    v = np.floor(adjusted / (1 - share)) + 2.0
    for _ in range(4):
        v = np.where(v - np.maximum(1.0, np.floor(share * v)) > adjusted, v - 1.0, v)
    return np.maximum(v, adjusted)


_MOST = 10**9  # largest number of records to sample from


class Sample(CellMechanism):
    """Sample a share of the records without replacement, and count each 1 / rate times.

    A reader knows that a cell has at least the records in its sample.
    """

    name: ClassVar[str] = "sample"
    random: ClassVar[bool] = True
    rate: float = Field(gt=0, lt=1, description="share of records to sample", examples=[0.5])

    @override
    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        sampled, rest = _sampled(cells, self.rate, rng)
        full = full_table(sampled, cells.axes)
        return CellRelease(
            full / self.rate,
            cells.axes,
            np.zeros(full.shape, dtype=np.bool_),
            Bounds(full, full + rest),
            str(self),
            self.guarantee,
            whole=cells.whole,
            maps=cells.maps,
        )


def _sampled(cells: Cells, rate: float, rng: Generator) -> tuple[Floats, float]:
    contributions = cells.contributions
    if contributions is not None:
        return _of_records(cells, contributions, rate, rng), np.inf
    if not cells.whole:
        raise InputError("Only counts, or sums over records of a table, can be sampled.")
    total = int(cells.values.sum())
    if total >= _MOST:
        raise InputError(f"Sampling needs fewer than {_MOST:,} records. Got {total:,} instead.")
    size = round(rate * total)
    counts = cells.values.ravel().astype(np.int64)
    sampled = rng.multivariate_hypergeometric(counts, size, method="marginals")
    most = np.floor((size + 0.5) / rate)  # records, as far as a reader can infer
    return sampled.reshape(cells.values.shape).astype(np.float64), float(most - size)


def _of_records(cells: Cells, contributions: Contributions, rate: float, rng: Generator) -> Floats:
    count = len(contributions.amounts)
    rows = rng.choice(count, round(rate * count), replace=False)
    values = np.zeros(cells.values.shape)
    np.add.at(values, tuple(contributions.places[rows].T), contributions.amounts[rows])
    return values


class Rollup(CellMechanism):
    """Merge categories of an axis, by name or by a level of its hierarchy.

    ``rollup(groups='Bachelors,Masters=Higher;9th,10th=School')`` names them; the axis is the one
    with these categories, or `by`. ``rollup(by='education', level=1)`` uses the labels of that
    level. The rest is published unchanged: follow it with another mechanism to protect it.
    """

    name: ClassVar[str] = "rollup"
    sample: ClassVar[dict[str, object]] = {"by": "district", "level": 1}
    groups: str = Field(
        default="", description="categories=label; more after ';'", examples=["1,2=low"]
    )
    by: str = Field(default="", description="axis to roll up")
    level: int = Field(default=0, ge=0, description="level of its hierarchy")

    @override
    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        rolled = self.prepare(cells)
        full = rolled.margins
        return CellRelease(
            full,
            rolled.axes,
            np.zeros(full.shape, dtype=np.bool_),
            Bounds(full, full),
            str(self),
            self.guarantee,
            whole=rolled.whole,
            maps=rolled.maps,
        )

    @override
    def prepare(self, cells: Cells) -> Cells:
        if bool(self.groups) == bool(self.level):
            raise ParameterError("rollup needs either groups='a,b=c;...' or by='...', level=1.")
        labels = _read(self.groups) if self.groups else {}
        at = self._axis(cells, list(labels))
        if not self.groups:
            labels = self._labels(cells, at)
        return roll_up(cells, at, labels)

    def _axis(self, cells: Cells, categories: list[str]) -> int:
        if self.by:
            if self.by not in cells.by:
                raise InputError(
                    f"There is no axis '{self.by}'. The table has: {', '.join(cells.by)}."
                )
            return cells.by.index(self.by)
        fitting = [
            i for i, labels in enumerate(cells.categories) if set(categories) <= set(labels)
        ]
        if len(fitting) != 1 or not categories:
            raise InputError(
                "One axis must have all the categories to roll up. Name it with by='...'."
            )
        return fitting[0]

    def _labels(self, cells: Cells, at: int) -> dict[str, str]:
        hierarchy = cells.hierarchies.get(cells.by[at])
        if hierarchy is None:
            raise InputError(f"The axis '{cells.by[at]}' has no hierarchy. Try groups='a,b=c'.")
        if self.level > hierarchy.height:
            raise InputError(
                f"The hierarchy of '{cells.by[at]}' has levels 0 to {hierarchy.height}. Got"
                f" {self.level} instead."
            )
        codes, labels = hierarchy.codes[self.level], hierarchy.labels[self.level]
        listed = (label for label in cells.categories[at] if label in hierarchy.place)
        return {label: labels[int(codes[hierarchy.place[label]])] for label in listed}


def _read(groups: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    for part in groups.split(";"):
        listed, equals, label = part.rpartition("=")
        categories = [category.strip() for category in listed.split(",") if category.strip()]
        if not equals or not label.strip() or not categories or set(categories) & set(labels):
            raise ParameterError(
                "The 'groups' parameter of rollup must look like 'a,b=c;d,e=f', each category"
                " once."
            )
        labels |= dict.fromkeys(categories, label.strip())
    return labels


def roll_up(cells: Cells, at: int, labels: dict[str, str]) -> Cells:
    """Return the cells with new labels for categories of an axis, adding up equal ones."""
    absent = sum(category not in cells.categories[at] for category in labels)
    if absent:
        raise InputError(
            f"The axis '{cells.by[at]}' lacks {absent:,} of the categories to roll up."
        )
    numbers: dict[str, int] = {}
    codes = [
        numbers.setdefault(labels.get(category, category), len(numbers))
        for category in cells.categories[at]
    ]
    place = np.array(codes, dtype=np.int64)
    shape = list(cells.values.shape)
    shape[at] = len(numbers)
    values = np.zeros(shape)
    np.add.at(np.moveaxis(values, at, 0), place, np.moveaxis(cells.values, at, 0))
    maps = list(cells.maps or (np.arange(size) for size in cells.values.shape))
    maps[at] = place[maps[at]]
    groups = list(cells.groups or ((),) * len(cells.by))
    groups[at] = ()
    categories = list(cells.categories)
    categories[at] = tuple(numbers)
    return replace(
        cells,
        values=values,
        categories=tuple(categories),
        contributions=_placed(cells.contributions, at, place),
        groups=tuple(groups),
        hierarchies={
            name: hierarchy
            for name, hierarchy in cells.hierarchies.items()
            if name != cells.by[at]
        },
        maps=tuple(maps),
    )


def _placed(contributions: Contributions | None, at: int, place: Ids) -> Contributions | None:
    if contributions is None:
        return None
    places = contributions.places.copy()
    places[:, at] = place[places[:, at]]
    return replace(contributions, places=places)
