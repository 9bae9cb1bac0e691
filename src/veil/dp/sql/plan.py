"""Which noisy quantities a query takes, how much noise each gets, and its explanation."""

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
_TIME = "The time that an answer takes is not covered."


@dataclass(frozen=True, slots=True)
class NoisyQuantity:
    """A quantity with its noise: what a unit changes it by, in steps, and the scale of the noise.

    A rank has no noise that is added; its `epsilon` is that of one row.
    """

    quantity: Quantity
    epsilon: Fraction
    sensitivity: int
    scale: Fraction
    levels: Levels | None = None

    @property
    def step(self) -> Fraction:
        """What a step of the noise is worth."""
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
    """What will be computed of the data, and released."""

    query: Query
    max_rows: int
    max_groups: int
    combinations: tuple[tuple[Key, ...], ...] | None  # all groups, if they are public
    measured: tuple[NoisyQuantity, ...]
    places: dict[Quantity, int]  # where a quantity that a function needs is
    threshold: int | None
    cost: Guarantee

    @property
    def bounded(self) -> bool:
        """Whether rows of a unit must be sampled."""
        return self.query.sources.first.unit is not None


def make_plan(query: Query, epsilon: float, delta: float) -> Plan:
    """Split epsilon over the distinct noisy quantities of a query, equally."""
    epsilon, delta = positive("epsilon", epsilon), share("delta", delta, zero=True)
    combinations = _combinations(query.keys)
    rows, groups = query.sources.max_rows, query.sources.max_groups
    if not query.keys:
        groups = 1
    elif combinations is not None:
        groups = min(groups, len(combinations))
    shared = _Shared(query, rows)
    needed = [one for aggregate in query.aggregates for one in aggregate.needs]
    secret = combinations is None and bool(query.keys)
    if secret:
        needed.append(Units())
        if not delta:
            raise ParameterError(
                "The keys of GROUP BY are not all public, so that a delta > 0 is needed:"
                " delta=1e-6, --delta 1e-6; or list the keys in the policy."
            )
    distinct = list(dict.fromkeys(map(shared, needed)))
    if not distinct:
        raise RefusedError("A query must ask for at least one number, as COUNT(*).")
    part = Fraction(epsilon) / len(distinct)
    measured = tuple(_measured(one, part, rows, groups) for one in distinct)
    tau = threshold(below(part), delta, groups) if secret else None
    return Plan(
        query, rows, groups, combinations, measured,
        {one: distinct.index(shared(one)) for one in needed}, tau,
        _cost(query, epsilon, delta if secret else 0.0),
    )  # fmt: skip


def below(value: Fraction) -> float:
    """Return the nearest float that is not larger.

    >>> Fraction(below(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    found = float(value)
    return found if Fraction(found) <= value else math.nextafter(found, 0.0)


class _Shared:
    """Finds quantities that are the same for every data, so that each is released once."""

    def __init__(self, query: Query, rows: int) -> None:
        self._rows, self._present = rows, _present(query)

    def __call__(self, quantity: Quantity) -> Quantity:
        if isinstance(quantity, Units) and self._rows == 1:  # each has one row in a group
            return Count()
        if isinstance(quantity, Count) and quantity.place in self._present:
            return Count()
        return quantity


def _present(query: Query) -> set[Place]:
    """Return the columns that cannot be NULL in a row that counts, whatever the data."""
    present = {key for key in query.keys if key.listed.keys is None or None not in key.listed.keys}
    for one in query.aggregates:
        for quantity in one.needs:
            place = getattr(quantity, "place", None)
            if place is not None and not place.listed.column.nullable:
                present.add(place)
    left = [query.where] if query.where is not None else []
    while left:
        node = strip_brackets(left.pop())
        if node_type(node) == "And":
            left += [node.this, node.expression]
        elif node_type(node) in _REJECTING:
            present |= _columns(query, strip_brackets(node.this))
        elif node_type(node) == "Not" and node_type(strip_brackets(node.this)) == "Is":
            present |= _columns(query, strip_brackets(strip_brackets(node.this).this))
    return present


def _columns(query: Query, node: Any) -> set[Place]:  # noqa: ANN401 - sqlglot's
    return {query.sources.find(node)} if node_type(node) == "Column" else set()


def _combinations(keys: tuple[Place, ...]) -> tuple[tuple[Key, ...], ...] | None:
    """Return all groups in the order of their keys, if every key is public."""
    found: list[tuple[Key, ...]] = [()]
    for place in keys:
        listed = place.listed.keys
        if listed is None:
            return None
        if len(found) * len(listed) > _GROUPS:
            raise RefusedError(f"GROUP BY has more than {_GROUPS:,} groups; take fewer columns.")
        found = [(*one, key) for one in found for key in listed]
    return tuple(found) if keys else None


def _measured(quantity: Quantity, part: Fraction, rows: int, groups: int) -> NoisyQuantity:
    weight = rows * groups
    if isinstance(quantity, Rank):
        cells = cells_of(quantity.place)
        made = NoisyQuantity(quantity, part / weight, weight, weight / part, cells)
        quantile_of(made)  # refused here, and not after the charge
        return made
    levels = None
    if isinstance(quantity, Sum):
        levels = levels_of(quantity, weight, part)
        sensitivity = weight * levels.reach
    elif isinstance(quantity, Units):
        sensitivity = groups
    elif isinstance(quantity, Count | Distinct):
        sensitivity = weight
    scale = sensitivity / part
    laplace_of(scale)  # refused here, and not after the charge; its tables are kept
    return NoisyQuantity(quantity, part, sensitivity, scale, levels)


def quantile_of(one: NoisyQuantity) -> Quantile:
    """Return the mechanism of a rank; each row of a unit has its share of epsilon."""
    if not isinstance(one.quantity, Rank) or one.levels is None:
        raise AssertionError(one)
    return Quantile(epsilon=below(one.epsilon), q=one.quantity.q, low=0, high=one.levels.top)


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
    """A noisy quantity: what a unit changes it by at the most, its epsilon, and its noise.

    `std` is NaN for a quantile, which is drawn and not added to.
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
        Names of the columns of the answer.
    quantities
        The distinct noisy quantities; epsilon is split over them equally.
    max_rows, max_groups
        How many rows of a unit count in a group, and in how many groups it counts.
    groups
        How many groups are told of; None if that depends on the data.
    threshold
        How many units a group must have, in noisy numbers, to be told of; None if all are.
    cost
        What the whole query would cost.
    statements
        What the database would be asked; values are bound to the marks in them.
    bounded
        Whether a unit may have several rows; if not, every row is a unit of its own.
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
                f"Groups are told of where their noisy number of units is {self.threshold:,} or"
                " more."
            )
        elif self.groups is not None and self.groups > 1:
            lines.append(f"All {self.groups:,} groups are told of, also empty ones.")
        lines.append(f"Cost: {self.cost}.")
        return "\n".join(lines)

    def _counted(self) -> str:
        but = ", but for delta" if self.cost.delta else ""
        factor = f"e^{number_of(self.cost.epsilon)}"
        promise = f"with one more or less, no answer is more than {factor} times as likely{but}"
        if not self.bounded:
            return f"A row is a unit: {promise}."
        where = f" in each of at most {count_of(self.max_groups, 'group')}"
        return (
            f"A {self.unit} is a unit: {promise}. Of each, at most"
            f" {count_of(self.max_rows, 'row')} drawn at random{where} count."
        )


def explain(plan: Plan, statements: Sequence[str]) -> Explanation:
    """Say what a plan computes."""
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


def _part(one: NoisyQuantity) -> Part:
    step = 1.0 if math.isnan(one.std) else float(one.step)
    return Part(one.quantity.label, one.sensitivity * step, float(one.epsilon), one.std * step)
