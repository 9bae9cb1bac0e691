"""What a query would compute, in words and numbers; nothing is read for it, and nothing spent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veil.core.formatting import count_of, number_of
from veil.core.guarantee import Guarantee
from veil.dp.database.plan import Measured, Plan


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


def _part(one: Measured) -> Part:
    step = 1.0 if math.isnan(one.std) else float(one.step)
    return Part(one.quantity.label, one.sensitivity * step, float(one.epsilon), one.std * step)
