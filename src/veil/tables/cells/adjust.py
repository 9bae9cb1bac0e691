"""Changed counts: rounding, adjustment, sampling and rolled-up categories."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Cells, Contributions, full_table, interior
from veil.tables.cells.release import Bounds, CellMechanism, CellRelease, Mask
from veil.tables.cells.rules import Threshold, require_counts
from veil.tables.cells.solver import SECONDS, Lines, is_whole, minimise, scipy_module, solve


class Round(CellMechanism):
    """Publish multiples of a base: the nearest, one drawn, or such that all sums add up.

    `nearest` rounds every cell and every sum on its own, ties to the even multiple. `random` goes
    up with probability r / base, where r is what is above the multiple below: unbiased, each cell
    and sum on its own. `round_controlled` takes for every cell and sum a multiple next to it, so
    that all add up and the whole change is least; multiples stay as they are.

    Notes
    -----
    Sums that are rounded on their own can give cells away: 1 1 | 2 and 1 1 | 2 at base 3 become
    0 0 | 3 and 0 0 | 3, and no other table does (`audit`). With three axes or more controlled
    rounding may be impossible; then nothing is published.

    References
    ----------
    Cox. A constructive procedure for unbiased controlled rounding. Journal of the American
    Statistical Association 82(398), 1987. doi:10.1080/01621459.1987.10478456
    """

    name: ClassVar[str] = "round"
    base: int = Field(
        default=5, ge=2, description="whose multiples are published", json_schema_extra=PRIVATE
    )
    how: Literal["nearest", "random", "controlled"] = Field(
        default="nearest", description="to the nearest, at random, or so that sums add up"
    )

    @property
    def draws(self) -> bool:
        """Only `random` draws."""
        return self.how == "random"

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        """Round the full table."""
        full = cells.margins
        if self.how == "nearest":
            made = np.rint(full / self.base) * self.base
        elif self.how == "random":
            below = np.floor(full / self.base) * self.base
            up = rng.random(full.shape) * self.base < full - below
            made = below + self.base * up
        else:
            made = round_controlled(cells, self.base)
        return CellRelease(
            made,
            cells.axes,
            np.zeros(full.shape, dtype=np.bool_),
            self._bounds(made, whole=cells.whole),
            str(self),
            self.guarantee,
            whole=cells.whole,
            additive=self.how == "controlled",
            maps=cells.maps,
        )

    def _bounds(self, made: Floats, *, whole: bool) -> Bounds:
        """Return what could have been rounded to each: for counts, whole numbers only."""
        if self.how == "nearest":
            reach = np.full(made.shape, self.base / 2)
            odd = np.rint(made / self.base) % 2 == 1
            if whole and self.base % 2 == 0:
                reach[odd] -= 1  # a tie went to the even multiple
            elif whole:
                reach -= 0.5
        else:
            reach = np.full(made.shape, float(self.base - 1 if whole else self.base))
        return Bounds(np.maximum(0.0, made - reach), made + reach)


def round_controlled(cells: Cells, base: int) -> Floats:
    """Round a full table so that it adds up, with the least change."""
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
            "No controlled rounding of this table exists at that base; use another base, or"
            " how='random'."
        )
    below[free] += ups
    return (base * below).reshape(lines.shape)


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Gains p and losses m of counts from the threshold on; small ones become T b + q.

    T is the threshold, b is 0 or 1, q is what is above T, and only where b is 1: q <= M b, where M
    is what the others on its lines can lose. Minimise sum p + m + q + (T - 2 v) b, which is the
    sum of all changes less that of the small counts v, such that A times all changes is 0.
    """

    cells: Cells
    threshold: int
    share: float

    @cached_property
    def small(self) -> Mask:
        """Which counts must go to 0 or up."""
        values = self.cells.values
        return np.asarray((values > 0) & (values < self.threshold))

    def least(self) -> Floats | None:
        """Return the table of least change, or None if there is none."""
        few = np.flatnonzero(self.small)
        rest = np.flatnonzero(self.cells.values.ravel() >= self.threshold)
        values = self.cells.values.ravel()
        gain, loss = (one.ravel() for one in self._room())
        most = np.maximum(0.0, gain[few] + values[few] - self.threshold)
        up = (gain[few] + values[few] >= self.threshold).astype(np.float64)
        cost = [np.ones(2 * len(rest) + len(few)), self.threshold - 2 * values[few]]
        matrix, left, right = self._program(values[few], most, few, rest)
        high = np.concatenate([gain[rest], loss[rest], most, up])
        found = self._solved(np.concatenate(cost), matrix, (left, right), high, len(few))
        if found is None:
            return None
        p, m, q, b = np.split(np.rint(found), np.cumsum([len(rest), len(rest), len(few)]))
        made = values.copy()
        made[rest] += p - m
        made[few] = self.threshold * b + q
        return made.reshape(self.cells.values.shape)

    def _solved(
        self,
        cost: Floats,
        matrix: Any,  # noqa: ANN401 - of SciPy
        sides: tuple[Floats, Floats],
        high: Floats,
        ups: int,
    ) -> Floats | None:
        """Solve it; on two axes all is whole once the choices are."""
        choices = np.zeros(len(cost))
        choices[len(cost) - ups :] = 1.0
        low, every = np.zeros(len(cost)), np.ones(len(cost))
        for whole in [choices, every] if Lines(self.cells.axes).planar else [every]:
            found = minimise(cost, matrix, sides, low, high, whole, SECONDS)
            if found is None or is_whole(found):
                return found
        return None

    def _room(self) -> tuple[Floats, Floats]:
        """Return how much each count can gain and lose."""
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
        one = sparse.eye_array(len(few))
        blocks = [
            [others, -others, small, small * self.threshold],
            [None, None, one, sparse.diags_array(-most)],
        ]
        sums = small @ value
        left = np.concatenate([sums, np.full(len(few), -np.inf)])
        right = np.concatenate([sums, np.zeros(len(few))])
        return sparse.block_array(blocks, format="csc"), left, right


class CTA(CellMechanism):
    """Change counts as little as possible, so that none is below the threshold but zeros.

    Sums stay as they are, counts are whole, a sensitive count becomes 0 or at least `threshold`,
    a zero stays, any other count moves by at most max(1, floor(share v)) and not below
    `threshold`; the sum of all changes is least (or the least that is known after a minute).

    References
    ----------
    Dandekar and Cox. Synthetic tabular data: an alternative to complementary cell suppression.
    Energy Information Administration, 2002.
    """

    name: ClassVar[str] = "cta"
    threshold: int = Field(
        default=5, ge=2, description="least count to publish", json_schema_extra=PRIVATE
    )
    share: float = Field(default=0.2, gt=0, lt=1, description="of a count, that it may move")

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:  # noqa: ARG002 - no draw
        """Find the table of least change, or raise."""
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
                "No table without small counts has these sums; allow a larger share, or roll"
                " categories up."
            )
        made = full_table(values, cells.axes)
        left = (made > 0) & (made < self.threshold)
        if left.any() or not np.array_equal(made[~inner], full[~inner]):
            raise InputError("The solver found no exact table; nothing is published.")
        bounds = self._bounds(made, inner)
        return CellRelease(
            made, cells.axes, small, bounds, str(self), self.guarantee, maps=cells.maps
        )

    def _require_sums(self, small: Mask) -> None:
        if small.any():
            raise InputError(
                f"{int(small.sum()):,} sums are below the threshold, and cta keeps all sums; roll"
                " categories up first."
            )

    def _bounds(self, made: Floats, inner: Mask) -> Bounds:
        """Return what could have become each cell; sums are as they were."""
        none = inner & (made == 0)
        low = np.where(inner, np.where(none, 0.0, 1.0), made)
        high = np.where(none, self.threshold - 1.0, _origin(made, self.share))
        return Bounds(low, np.where(inner, high, made))


def _origin(made: Floats, share: float) -> Floats:
    """Return the largest v that may have moved down to each: v - max(1, floor(share v)) <= it."""
    v = np.floor(made / (1 - share)) + 2.0
    for _ in range(4):
        v = np.where(v - np.maximum(1.0, np.floor(share * v)) > made, v - 1.0, v)
    return np.maximum(v, made)


_MOST = 10**9  # records that can be drawn from


class Sample(CellMechanism):
    """Draw a share of the records without replacement, and count each 1 / rate times.

    A reader knows that a cell has at least the records that were drawn for it.
    """

    name: ClassVar[str] = "sample"
    random: ClassVar[bool] = True
    rate: float = Field(gt=0, lt=1, description="share of records that are drawn", examples=[0.5])

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        """Draw records, and count them."""
        drawn, left = _drawn(cells, self.rate, rng)
        full = full_table(drawn, cells.axes)
        return CellRelease(
            full / self.rate,
            cells.axes,
            np.zeros(full.shape, dtype=np.bool_),
            Bounds(full, full + left),
            str(self),
            self.guarantee,
            whole=cells.whole,
            maps=cells.maps,
        )


def _drawn(cells: Cells, rate: float, rng: Generator) -> tuple[Floats, float]:
    """Return the table of a sample, and the most that can be outside of it."""
    given = cells.contributions
    if given is not None:
        return _of_records(cells, given, rate, rng), np.inf
    if not cells.whole:
        raise InputError("Only counts, or sums of a table's records, can be sampled.")
    total = int(cells.values.sum())
    if total >= _MOST:
        raise InputError(f"A sample is drawn of fewer than {_MOST:,} records; roll the table up.")
    size = round(rate * total)
    counts = cells.values.ravel().astype(np.int64)
    drawn = rng.multivariate_hypergeometric(counts, size, method="marginals")
    most = np.floor((size + 0.5) / rate)  # records, as far as a reader can tell
    return drawn.reshape(cells.values.shape).astype(np.float64), float(most - size)


def _of_records(cells: Cells, given: Contributions, rate: float, rng: Generator) -> Floats:
    count = len(given.amounts)
    rows = rng.choice(count, round(rate * count), replace=False)
    values = np.zeros(cells.values.shape)
    np.add.at(values, tuple(given.places[rows].T), given.amounts[rows])
    return values


class Rollup(CellMechanism):
    """Add categories of an axis up, as named or by a level of its hierarchy.

    ``rollup(groups='Bachelors,Masters=Higher;9th,10th=School')`` names them; the axis is the one
    that has these categories, or `by`. ``rollup(by='education', level=1)`` takes the labels of
    that level. What is left is published as it is: put another method after it for the rest.
    """

    name: ClassVar[str] = "rollup"
    sample: ClassVar[dict[str, object]] = {"by": "district", "level": 1}
    groups: str = Field(
        default="", description="categories=label; more after ';'", examples=["1,2=low"]
    )
    by: str = Field(default="", description="axis to roll up")
    level: int = Field(default=0, ge=0, description="level of its hierarchy")

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:  # noqa: ARG002 - no draw
        """Publish the rolled-up table as it is."""
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

    def prepare(self, cells: Cells) -> Cells:
        """Return the table with fewer categories."""
        if bool(self.groups) == bool(self.level):
            raise ParameterError("rollup needs either groups='a,b=c;...' or by='...', level=1.")
        named = _read(self.groups) if self.groups else {}
        at = self._axis(cells, list(named))
        if not self.groups:
            named = self._labels(cells, at)
        return roll_up(cells, at, named)

    def _axis(self, cells: Cells, categories: list[str]) -> int:
        if self.by:
            if self.by not in cells.by:
                raise InputError(
                    f"There is no axis '{self.by}'; the table has: {', '.join(cells.by)}."
                )
            return cells.by.index(self.by)
        fitting = [i for i, held in enumerate(cells.categories) if set(categories) <= set(held)]
        if len(fitting) != 1 or not categories:
            raise InputError(
                "One axis must have all the categories to roll up; name it: by='...'."
            )
        return fitting[0]

    def _labels(self, cells: Cells, at: int) -> dict[str, str]:
        hierarchy = cells.hierarchies.get(cells.by[at])
        if hierarchy is None:
            raise InputError(f"The axis '{cells.by[at]}' has no hierarchy; name groups='a,b=c'.")
        if self.level > hierarchy.height:
            raise InputError(
                f"The hierarchy of '{cells.by[at]}' has {hierarchy.height} levels; level"
                f" {self.level} is above it."
            )
        codes, labels = hierarchy.codes[self.level], hierarchy.labels[self.level]
        held = (one for one in cells.categories[at] if one in hierarchy.place)
        return {one: labels[int(codes[hierarchy.place[one]])] for one in held}


def _read(groups: str) -> dict[str, str]:
    """Read ``a,b=c;d,e=f``: what each category becomes."""
    made: dict[str, str] = {}
    for part in groups.split(";"):
        left, equals, label = part.rpartition("=")
        categories = [one.strip() for one in left.split(",") if one.strip()]
        if not equals or not label.strip() or not categories or set(categories) & set(made):
            raise ParameterError(
                "The 'groups' parameter of rollup must look like 'a,b=c;d,e=f', each category"
                " once."
            )
        made |= dict.fromkeys(categories, label.strip())
    return made


def roll_up(cells: Cells, at: int, named: dict[str, str]) -> Cells:
    """Give categories of an axis new labels, and add up those that share one."""
    absent = sum(category not in cells.categories[at] for category in named)
    if absent:
        raise InputError(f"The axis '{cells.by[at]}' lacks {absent:,} of the named categories.")
    seen: dict[str, int] = {}
    codes = [seen.setdefault(named.get(one, one), len(seen)) for one in cells.categories[at]]
    place = np.array(codes, dtype=np.int64)
    shape = list(cells.values.shape)
    shape[at] = len(seen)
    values = np.zeros(shape)
    np.add.at(np.moveaxis(values, at, 0), place, np.moveaxis(cells.values, at, 0))
    maps = list(cells.maps or (np.arange(size) for size in cells.values.shape))
    maps[at] = place[maps[at]]
    groups = list(cells.groups or ((),) * len(cells.by))
    groups[at] = ()
    labels = list(cells.categories)
    labels[at] = tuple(seen)
    return replace(
        cells,
        values=values,
        categories=tuple(labels),
        contributions=_placed(cells.contributions, at, place),
        groups=tuple(groups),
        hierarchies={name: one for name, one in cells.hierarchies.items() if name != cells.by[at]},
        maps=tuple(maps),
    )


def _placed(given: Contributions | None, at: int, place: Ids) -> Contributions | None:
    if given is None:
        return None
    places = given.places.copy()
    places[:, at] = place[places[:, at]]
    return replace(given, places=places)
