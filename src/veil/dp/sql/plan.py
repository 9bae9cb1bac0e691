"""Plan a query: its noisy quantities, the noise of each, and an explanation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from veil.core.errors import ParameterError, RefusedError
from veil.core.formatting import count_of, number_of
from veil.core.guarantee import Guarantee
from veil.dp.calibration import threshold
from veil.dp.exact.samplers import laplace_of
from veil.dp.inputs import positive, share
from veil.dp.mechanism import ADD_REMOVE, REPLACED
from veil.dp.mechanisms.quantile import Quantile
from veil.dp.sql.parsing import Place, node_type, strip_brackets
from veil.dp.sql.quantities import (
    Count,
    Distinct,
    Levels,
    Quantity,
    Rank,
    Sum,
    Units,
    cells_of,
    levels_of,
)
from veil.dp.sql.query import Query
from veil.dp.sql.schema import Key

_GROUPS = 1_000_000  # of public keys
_REJECTING = ("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "Between", "In", "Like")  # NULL is not true
_TIME = "Response time is not covered."


@dataclass(frozen=True, slots=True)
class NoisyQuantity:
    """A quantity with its sensitivity and the scale of its noise, in steps.

    A rank has no additive noise; its `epsilon` is that of one row.
    """

    quantity: Quantity
    epsilon: Fraction
    sensitivity: int
    scale: Fraction
    levels: Levels | None = None

    @property
    def step(self) -> Fraction:
        """The value of one step of the noise."""
        return Fraction(1) if self.levels is None else self.levels.step

    @property
    def std(self) -> float:
        """Standard deviation of the noise in steps: sqrt(2q)/(1-q), q = e^(-1/scale)."""
        if isinstance(self.quantity, Rank):
            return math.nan
        slope = 1 / self.scale
        if slope > 700:
            return 0.0
        return math.sqrt(2 * math.exp(-slope)) / -math.expm1(-slope)


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be computed from the data and released."""

    query: Query
    max_rows: int
    max_groups: int
    combinations: tuple[tuple[Key, ...], ...] | None  # all groups, if they are public
    measured: tuple[NoisyQuantity, ...]
    places: dict[Quantity, int]  # index in `measured` of each quantity that an aggregate needs
    threshold: int | None
    cost: Guarantee

    @property
    def bounded(self) -> bool:
        """Whether the rows of each unit must be sampled."""
        return self.query.sources.first.unit is not None


def make_plan(query: Query, epsilon: float, delta: float) -> Plan:
    """Return the plan of a query; epsilon is split equally over its distinct quantities."""
    epsilon, delta = positive("epsilon", epsilon), share("delta", delta, zero=True)
    combinations = _combinations(query.keys)
    rows, groups = query.sources.max_rows, query.sources.max_groups
    if not query.keys:
        groups = 1
    elif combinations is not None:
        groups = min(groups, len(combinations))
    shared = _Shared(query, rows)
    needed = [quantity for aggregate in query.aggregates for quantity in aggregate.needs]
    secret = combinations is None and bool(query.keys)
    if secret:
        needed.append(Units())
        if not delta:
            raise ParameterError(
                "A query with secret keys in GROUP BY needs a delta > 0, for example delta=1e-6"
                " or --delta 1e-6. Otherwise list the keys in the policy."
            )
    distinct = list(dict.fromkeys(map(shared, needed)))
    if not distinct:
        raise RefusedError("A query must SELECT at least one number, such as COUNT(*).")
    part = Fraction(epsilon) / len(distinct)
    measured = tuple(_measured(quantity, part, rows, groups) for quantity in distinct)
    tau = threshold(below(part), delta, groups) if secret else None
    return Plan(
        query, rows, groups, combinations, measured,
        {quantity: distinct.index(shared(quantity)) for quantity in needed}, tau,
        _cost(query, epsilon, delta if secret else 0.0),
    )  # fmt: skip


def below(value: Fraction) -> float:
    """Return the largest float that is at most `value`.

    >>> Fraction(below(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, 0.0)


class _Shared:
    """Maps quantities that are equal for any data to one, so that it is released once."""

    def __init__(self, query: Query, rows: int) -> None:
        self._rows, self._present = rows, _present(query)

    def __call__(self, quantity: Quantity) -> Quantity:
        if isinstance(quantity, Units) and self._rows == 1:  # every unit has one row in a group
            return Count()
        if isinstance(quantity, Count) and quantity.place in self._present:
            return Count()
        return quantity


def _present(query: Query) -> set[Place]:
    """Return the columns that cannot be NULL in a row that counts, for any data."""
    present = {key for key in query.keys if key.listed.keys is None or None not in key.listed.keys}
    for aggregate in query.aggregates:
        for quantity in aggregate.needs:
            place = getattr(quantity, "place", None)
            if place is not None and not place.listed.column.nullable:
                present.add(place)
    pending = [query.where] if query.where is not None else []
    while pending:
        node = strip_brackets(pending.pop())
        if node_type(node) == "And":
            pending += [node.this, node.expression]
        elif node_type(node) in _REJECTING:
            present |= _columns(query, strip_brackets(node.this))
        elif node_type(node) == "Not" and node_type(strip_brackets(node.this)) == "Is":
            present |= _columns(query, strip_brackets(strip_brackets(node.this).this))
    return present


def _columns(query: Query, node: Any) -> set[Place]:  # noqa: ANN401 - sqlglot's
    return {query.sources.find(node)} if node_type(node) == "Column" else set()


def _combinations(keys: tuple[Place, ...]) -> tuple[tuple[Key, ...], ...] | None:
    """Return all groups in the order of their keys, or None if some keys are secret."""
    combinations: list[tuple[Key, ...]] = [()]
    for place in keys:
        listed = place.listed.keys
        if listed is None:
            return None
        if len(combinations) * len(listed) > _GROUPS:
            raise RefusedError(f"GROUP BY has more than {_GROUPS:,} groups. Use fewer columns.")
        combinations = [(*prefix, key) for prefix in combinations for key in listed]
    return tuple(combinations) if keys else None


def _measured(quantity: Quantity, part: Fraction, rows: int, groups: int) -> NoisyQuantity:
    weight = rows * groups
    if isinstance(quantity, Rank):
        cells = cells_of(quantity.place)
        noisy = NoisyQuantity(quantity, part / weight, weight, weight / part, cells)
        quantile_of(noisy)  # raises errors now, not after the charge
        return noisy
    levels = None
    if isinstance(quantity, Sum):
        levels = levels_of(quantity, weight, part)
        sensitivity = weight * levels.reach
    elif isinstance(quantity, Units):
        sensitivity = groups
    elif isinstance(quantity, Count | Distinct):
        sensitivity = weight
    scale = sensitivity / part
    laplace_of(scale)  # raises errors now, not after the charge; its tables are cached
    return NoisyQuantity(quantity, part, sensitivity, scale, levels)


def quantile_of(measured: NoisyQuantity) -> Quantile:
    """Return the mechanism of a rank; each row of a unit gets its share of epsilon."""
    if not isinstance(measured.quantity, Rank) or measured.levels is None:
        raise AssertionError(measured)
    return Quantile(
        epsilon=below(measured.epsilon), q=measured.quantity.q, low=0, high=measured.levels.top
    )


def _cost(query: Query, epsilon: float, delta: float) -> Guarantee:
    unit = query.sources.first.unit
    return Guarantee(
        "dp",
        float(epsilon),
        unit="record" if unit is None else unit.name,
        delta=float(delta),
        neighbours=ADD_REMOVE if unit is None else f"add or remove one {unit.name} with all rows",
        caveat=f"{_TIME} {REPLACED}",
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A noisy quantity, with its sensitivity to one unit, its epsilon and its noise.

    `std` is NaN for a quantile, which has no additive noise.
    """

    label: str
    sensitivity: float
    epsilon: float
    std: float

    def __str__(self) -> str:
        noise = "drawn by the exponential mechanism"
        if not math.isnan(self.std):
            noise = f"noise of standard deviation {number_of(self.std)}"
        return (
            f"{self.label}: one unit changes it by at most {number_of(self.sensitivity)};"
            f" {noise}, for epsilon {number_of(self.epsilon)}"
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a query would compute.

    Attributes
    ----------
    columns
        Column names of the answer.
    quantities
        The distinct noisy quantities; epsilon is split over them equally.
    max_rows, max_groups
        Maximum number of rows of a unit that count in a group, and of groups it counts in.
    groups
        Number of released groups; None if it depends on the data.
    threshold
        Noisy number of units that a group needs to be released; None if all groups are.
    cost
        Cost of the whole query.
    statements
        Statements for the database, with marks for bound values.
    bounded
        Whether a unit may have several rows. If not, every row is a separate unit.
    """

    columns: tuple[str, ...]
    quantities: tuple[Part, ...]
    unit: str
    max_rows: int
    max_groups: int
    groups: int | None
    threshold: int | None
    cost: Guarantee
    statements: tuple[str, ...]
    bounded: bool = True

    def __str__(self) -> str:
        lines = [f"Columns: {', '.join(self.columns)}.", self._counted()]
        lines += [f"- {part}." for part in self.quantities]
        if self.threshold is not None:
            lines.append(
                f"Only groups with a noisy count of {self.threshold:,} units or more are released."
            )
        elif self.groups is not None and self.groups > 1:
            lines.append(f"All {self.groups:,} groups are released, including empty ones.")
        lines.append(f"Cost: {self.cost}.")
        return "\n".join(lines)

    def _counted(self) -> str:
        but = ", up to an additive delta" if self.cost.delta else ""
        factor = f"e^{number_of(self.cost.epsilon)}"
        promise = f"adding or removing one makes no answer more than {factor} times as likely{but}"
        if not self.bounded:
            return f"Each row is a unit: {promise}."
        where = f" in each of at most {count_of(self.max_groups, 'group')}"
        return (
            f"Each {self.unit} is a unit: {promise}. A sample of at most"
            f" {count_of(self.max_rows, 'row')} of each, drawn at random, counts{where}."
        )


def explain(plan: Plan, statements: Sequence[str]) -> Explanation:
    """Return the explanation of a plan."""
    groups = None if plan.threshold is not None else len(plan.combinations or ((),))
    return Explanation(
        tuple(output.label for output in plan.query.outputs),
        tuple(map(_part, plan.measured)),
        plan.cost.unit,
        plan.max_rows,
        plan.max_groups,
        groups,
        plan.threshold,
        plan.cost,
        tuple(statements),
        plan.bounded,
    )


def _part(measured: NoisyQuantity) -> Part:
    step = 1.0 if math.isnan(measured.std) else float(measured.step)
    return Part(
        measured.quantity.label,
        measured.sensitivity * step,
        float(measured.epsilon),
        measured.std * step,
    )
