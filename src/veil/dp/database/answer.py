"""An answer: columns, rows, what it cost, and how much noise is in it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veil.core.guarantee import Guarantee
from veil.dp.database.after import Value
from veil.dp.database.makers import MAKERS, Cell
from veil.dp.database.noise import Released
from veil.dp.database.plan import Plan


class Std(tuple[float, ...]):
    """Standard deviations of the noise by column: by its number, or by its name."""

    names: tuple[str, ...] = ()

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - a number, a slice or a name
        return super().__getitem__(self.names.index(at) if isinstance(at, str) else at)


@dataclass(frozen=True, eq=False)
class Table:
    """A noisy answer.

    Attributes
    ----------
    columns, rows
        Names of the columns, and rows of plain values: keys, and noisy numbers.
    cost
        What the whole query cost.
    std
        Standard deviation of the noise in each column; 0 for keys, NaN for quantiles. Of averages
        and variances, whose noise depends on the noisy count, it is that of the row with the most.
    errors
        The same for each number of each row, nearly.
    threshold
        How many units a group must have, in noisy numbers, to be told of; None if all are.
    seeded
        Whether who knows the seed can repeat the draws: **not private**.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    cost: Guarantee
    std: Std
    errors: list[tuple[float, ...]]
    threshold: int | None
    seeded: bool


def answer(plan: Plan, released: Released, *, seeded: bool) -> Table:
    """Put noisy numbers together as the query asks for them; HAVING and ORDER BY come now."""
    query = plan.query
    rows: list[tuple[tuple[Value, ...], tuple[float, ...]]] = []
    for group, noisy in zip(released.groups, released.noisy, strict=True):
        cells = [
            MAKERS[one.name]([noisy[plan.places[need]] for need in one.needs])
            for one in query.aggregates
        ]
        values = (*group, *(cell.value for cell in cells))
        rows.append((values, (*[0.0] * len(group), *(cell.std for cell in cells))))
    if query.having is not None:
        having = query.having
        rows = [row for row in rows if having(row[0])]
    for by in reversed(query.orders):
        rows = _sorted(rows, by.step, descending=by.descending, nulls_first=by.nulls_first)
    end = None if query.limit is None else query.offset + query.limit
    rows = rows[query.offset : end]
    at = [output.at for output in query.outputs]
    names = tuple(output.label for output in query.outputs)
    errors = [tuple(stds[i] for i in at) for _, stds in rows]
    return Table(
        names,
        [tuple(values[i] for i in at) for values, _ in rows],
        plan.cost,
        _stds(plan, names, at, errors),
        errors,
        plan.threshold,
        seeded,
    )


def _sorted(
    rows: list[tuple[tuple[Value, ...], tuple[float, ...]]],
    step: Any,  # noqa: ANN401 - a step of the query
    *,
    descending: bool,
    nulls_first: bool,
) -> list[tuple[tuple[Value, ...], tuple[float, ...]]]:
    """Sort rows by one value; rows that are equal stay in the order of their keys."""
    nulls = [row for row in rows if step(row[0]) is None]
    others = [row for row in rows if step(row[0]) is not None]
    others.sort(key=lambda row: step(row[0]), reverse=descending)
    return nulls + others if nulls_first else others + nulls


def _stds(
    plan: Plan, names: tuple[str, ...], at: Sequence[int], errors: list[tuple[float, ...]]
) -> Std:
    """Return one number a column: where rows differ, the largest."""
    keys = len(plan.query.keys)
    found = []
    for i, place in enumerate(at):
        known = _known(plan, place - keys)
        column = [row[i] for row in errors if not math.isnan(row[i])]
        found.append(known if known is not None else max(column, default=math.nan))
    made = Std(found)
    made.names = names
    return made


def _known(plan: Plan, number: int) -> float | None:
    """Return the noise of a column that is the same in every row, also where there is none."""
    if number < 0:
        return 0.0
    aggregate = plan.query.aggregates[number]
    if aggregate.name not in ("COUNT", "SUM"):
        return None
    one = plan.measured[plan.places[aggregate.needs[0]]]
    return one.std * float(one.step)


__all__ = ["Cell", "Std", "Table", "answer"]
